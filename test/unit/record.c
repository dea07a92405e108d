/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc.h"
#include "tap/rng.h"
#include "record/record.h"
#include "tap/sweep.h"
#include "tap/tap.h"

/* a record with one number, as a caller would map it */
static int encode_number(int64_t number, struct vel_buf *ret)
{
    struct vel_node *body = vel_node_object();
    int rc = !body || vel_node_set_int(body, "number", number) < 0
                 ? VEL_ENOMEM
                 : vel_record_encode("sample", 1, body, ret, NULL);

    vel_node_destroy(body);
    return rc;
}

static int decode_number(const void *bytes, size_t len, int64_t *ret,
                         struct vel_err *err)
{
    struct vel_node *body;
    int version;
    int rc = vel_record_decode(bytes, len, "sample", 1, &version, &body, err);

    if (rc < 0)
        return rc;
    rc = vel_node_get_int(body, "number", INT64_MIN, INT64_MAX, ret, err);
    vel_node_destroy(body);
    return rc;
}

static void bytes_on_disk(void)
{
    struct vel_buf buf;
    char want[160], head[80];
    const char *rest = "\"body\":{\"number\":-5}}\n";

    vel_buf_init(&buf);
    encode_number(-5, &buf);
    snprintf(head, sizeof head, "{\"h5veloc\":\"sample\",\"version\":1,\"length\":%zu,",
             strlen(rest));
    snprintf(want, sizeof want, "%s\"crc32c\":\"%08x\",\n%s", head,
             vel_crc32c(vel_crc32c(0, head, strlen(head)), rest, strlen(rest)), rest);
    is_str(vel_buf_text(&buf), want, "the bytes are those of doc/format-record.txt");
    vel_buf_fini(&buf);
}

static void damage(void)
{
    struct vel_buf buf;
    int64_t number;
    int accepted = 0, silent = 0;

    vel_buf_init(&buf);
    encode_number(1234567890123, &buf);
    is_int(decode_number(buf.data, buf.len, &number, NULL), 0, "a record is read back");
    is_int(number, 1234567890123, "its value is the one written");
    for (size_t i = 0; i < buf.len; i++)
        for (int bit = 0; bit < 8; bit++) {
            struct vel_err err = {0};

            buf.data[i] ^= (char)(1 << bit);
            int rc = decode_number(buf.data, buf.len, &number, &err);
            accepted += rc == 0;
            silent += rc < 0 && !err.text[0];
            buf.data[i] ^= (char)(1 << bit);
        }
    is_int(accepted, 0, "any single bit that flips is noticed");
    is_int(silent, 0, "and told in a sentence");
    accepted = 0;
    for (size_t len = 0; len < buf.len; len++)
        accepted += decode_number(buf.data, len, &number, NULL) == 0;
    is_int(accepted, 0, "a record cut short anywhere is refused");
    vel_buf_putc(&buf, '\n');
    is_int(decode_number(buf.data, buf.len, &number, NULL), VEL_ECORRUPT,
           "bytes behind the end are refused");
    vel_buf_fini(&buf);
}

/* bytes with a right checksum around any body: what a program with a fault could have
 * written */
static int decode_raw(const char *type, const char *version, const char *rest,
                      struct vel_err *err)
{
    char all[512], head[128];
    struct vel_node *body;
    int got;

    snprintf(head, sizeof head, "{\"h5veloc\":\"%s\",\"version\":%s,\"length\":%zu,",
             type, version, strlen(rest));
    snprintf(all, sizeof all, "%s\"crc32c\":\"%08x\",\n%s", head,
             vel_crc32c(vel_crc32c(0, head, strlen(head)), rest, strlen(rest)), rest);
    int rc = vel_record_decode(all, strlen(all), "sample", 2, &got, &body, err);
    if (rc == 0)
        vel_node_destroy(body);
    return rc;
}

static void what_is_no_record(void)
{
    struct vel_err err = {0};

    is_int(decode_raw("sample", "2", "\"body\":{}}\n", &err), 0,
           "the newest version is read");
    is_int(decode_raw("sample", "3", "\"body\":{}}\n", &err), VEL_EUNSUP,
           "a newer version is told apart from damage");
    ok(strstr(err.text, "newer h5veloc") != NULL, "its sentence names the cause: %s",
       err.text);
    is_int(decode_raw("sample", "0", "\"body\":{}}\n", &err), VEL_ECORRUPT,
           "version 0 is none");
    is_int(decode_raw("sample", "01", "\"body\":{}}\n", &err), VEL_ECORRUPT,
           "leading zeros are refused");
    is_int(decode_raw("other", "1", "\"body\":{}}\n", &err), VEL_ECORRUPT,
           "another type is refused");
    is_int(decode_raw("sample", "1", "\"body\":[]}\n", &err), VEL_ECORRUPT,
           "a body that is no object is refused");
    is_int(decode_raw("sample", "1", "\"body\":{\"a\":1,\"a\":2}}\n", &err),
           VEL_ECORRUPT, "a key that comes twice is refused");
    is_int(decode_raw("sample", "1", "\"body\":{},\"x\":1}\n", &err), VEL_ECORRUPT,
           "a second member is refused");
    is_int(decode_raw("sample", "1", "\"tail\":{}}\n", &err), VEL_ECORRUPT,
           "a body under another name is refused");
}

static void reals_and_lines(void)
{
    struct vel_node *object = vel_node_object(), *again = NULL;
    struct vel_err err = {0};
    struct vel_buf line;
    double value = 0;

    vel_buf_init(&line);
    ok(vel_node_set_real(object, "r", 0.1) == 0 &&
           vel_node_set_real(object, "t", 1718000000.125) == 0 &&
           vel_node_set_int(object, "n", 3) == 0 &&
           vel_node_set_text(object, "x", "a\nb") == 0,
       "an object takes numbers with a fraction");
    is_int(vel_node_set_real(object, "r", 1.0 / 0.0), VEL_EINVAL,
           "infinity is no number of a record");
    vel_node_print(object, &line);
    is_str(vel_buf_text(&line),
           "{\"r\":0.1,\"t\":1718000000.125,\"n\":3,\"x\":\"a\\nb\"}",
           "an object is printed on one line, numbers as people write them");
    is_int(vel_node_parse(line.data, line.len, &again, &err), 0, "and parsed again");
    ok(vel_node_get_real(again, "t", 0, 1e12, &value, &err) == 0 &&
           value == 1718000000.125,
       "with its numbers");
    ok(vel_node_get_real(again, "n", 0, 9, &value, &err) == 0 && value == 3,
       "an integer will do for a number");
    is_int(vel_node_get_real(again, "r", 1, 2, &value, &err), VEL_ECORRUPT,
           "a number out of range is refused");
    is_str(err.text, "key 'r': expected a number from 1 to 2", "with key and range");
    is_int(vel_node_get_real(again, "x", 0, 1, &value, &err), VEL_ECORRUPT,
           "a text is no number");
    vel_node_destroy(again);
    is_int(vel_node_parse(line.data, line.len - 1, &again, &err), VEL_ECORRUPT,
           "half a line is no object");
    is_int(vel_node_parse("[1]", 3, &again, &err), VEL_ECORRUPT,
           "a list is no object either");
    vel_node_destroy(object);
    vel_buf_fini(&line);
}

static void typed_values(void)
{
    struct vel_node *object = vel_node_object(), *list = vel_node_list();
    const struct vel_node *child;
    struct vel_err err = {0};
    const char *text;
    int64_t number;
    bool flag;

    vel_node_append_int(list, 7);
    vel_node_append_text(list, "seven");
    ok(vel_node_set_int(object, "n", 41) == 0 &&
           vel_node_set_text(object, "t", "x") == 0 &&
           vel_node_set_bool(object, "b", true) == 0 &&
           vel_node_adopt(object, "list", list) == 0,
       "an object takes values of every type");
    is_int(vel_node_get_int(object, "n", 0, 40, &number, &err), VEL_ECORRUPT,
           "a number out of range is refused");
    is_str(err.text, "key 'n': expected an integer from 0 to 40", "with key and range");
    is_int(vel_node_get_int(object, "t", 0, 40, &number, &err), VEL_ECORRUPT,
           "a text where a number should be is refused");
    is_int(vel_node_get_text(object, "none", &text, &err), VEL_ECORRUPT,
           "a missing key is refused");
    is_str(err.text, "key 'none': expected a text", "by name");
    ok(vel_node_get_bool(object, "b", &flag, &err) == 0 && flag,
       "a boolean is read back");
    ok(vel_node_get_list(object, "list", &child, &err) == 0 &&
           vel_node_count(child) == 2,
       "a list is read back");
    ok(vel_node_int_at(child, 0, 0, 9, &number, &err) == 0 && number == 7,
       "with its items in order");
    is_int(vel_node_int_at(child, 2, 0, 9, &number, &err), VEL_ECORRUPT,
           "an item behind the end is refused");
    is_int(vel_node_get_object(object, "list", &child, &err), VEL_ECORRUPT,
           "a list is no object");
    is_int(vel_node_set_text(object, "t", "\xff"), VEL_EINVAL, "a text is UTF-8");
    is_int(vel_node_adopt(object, "x", NULL), VEL_ENOMEM,
           "a child that is none is refused");
    vel_node_destroy(object);
}

static void names_of_files(void)
{
    static const char *const names[] = {
        "plain.h5",    "50%.h5",       "new\nline", "\xff\xfe",
        "caf\xc3\xa9", "\xed\xa0\x80", "\xe2\x82",
    };
    struct vel_rng rng;
    char *back;
    int wrong = 0;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct vel_node *object = vel_node_object();

        ok(vel_node_set_name(object, "file", names[i]) == 0 &&
               vel_node_get_name(object, "file", &back, NULL) == 0 &&
               strcmp(back, names[i]) == 0,
           "name %zu comes back byte for byte", i);
        free(back);
        vel_node_destroy(object);
    }
    vel_rng_init(&rng, 1);
    for (int i = 0; i < 2000; i++) {
        char name[40];
        struct vel_node *object = vel_node_object();

        vel_rng_fill(&rng, name, sizeof name);
        name[vel_rng_below(&rng, sizeof name)] = '\0';
        if (vel_node_set_name(object, "file", name) < 0 ||
            vel_node_get_name(object, "file", &back, NULL) < 0 ||
            strcmp(back, name) != 0)
            wrong++;
        else
            free(back);
        vel_node_destroy(object);
    }
    is_int(wrong, 0, "2000 random names (seed 1) come back byte for byte");
    static const char *const bad[] = {"%", "%4", "%zz", "%00", "%4a", "a%"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct vel_node *object = vel_node_object();

        vel_node_set_text(object, "file", bad[i]);
        is_int(vel_node_get_name(object, "file", &back, NULL), VEL_ECORRUPT,
               "'%s' is no encoded name", bad[i]);
        vel_node_destroy(object);
    }
}

static void path_in(const char *dir, char path[1024])
{
    snprintf(path, 1024, "%s/number.rec", dir);
}

static int save_number(struct vel_fs *fs, const char *dir, int64_t number,
                       struct vel_err *err)
{
    struct vel_node *body = vel_node_object();
    char path[1024];

    path_in(dir, path);
    int rc = !body || vel_node_set_int(body, "number", number) < 0
                 ? VEL_ENOMEM
                 : vel_record_save(fs, path, "sample", 1, body, err);
    vel_node_destroy(body);
    return rc;
}

static int64_t load_number(const char *dir)
{
    struct vel_node *body;
    int64_t number = -1;
    char path[1024];
    int version;

    path_in(dir, path);
    if (vel_record_load(vel_fs_posix(), path, "sample", 1, &version, &body, NULL) < 0)
        return -1;
    vel_node_get_int(body, "number", 0, INT64_MAX, &number, NULL);
    vel_node_destroy(body);
    return number;
}

static void prepare_seven(const char *dir, void *arg)
{
    (void)arg;
    save_number(vel_fs_posix(), dir, 7, NULL);
}

static int save_eight(struct vel_fs *fs, const char *dir, void *arg,
                      struct vel_err *err)
{
    (void)arg;
    return save_number(fs, dir, 8, err);
}

static enum sweep_state seven_or_eight(const char *dir, void *arg)
{
    int64_t number = load_number(dir);

    (void)arg;
    return number == 7 ? SWEEP_OLD : number == 8 ? SWEEP_NEW : SWEEP_BROKEN;
}

static void on_disk(void)
{
    const struct sweep sweep = {.name = "a record",
                                .prepare = prepare_seven,
                                .action = save_eight,
                                .check = seven_or_eight};
    struct vel_err err = {0};
    struct vel_node *body;
    int version;

    sweep_run(&sweep);
    is_int(vel_record_load(vel_fs_posix(), tap_path("none.rec"), "sample", 1, &version,
                           &body, &err),
           VEL_ENOENT, "a record that is not there is told apart from a damaged one");
}

int main(void)
{
    on_disk();
    bytes_on_disk();
    damage();
    what_is_no_record();
    typed_values();
    reals_and_lines();
    names_of_files();
    return done_testing();
}
