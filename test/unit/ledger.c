/* SPDX-License-Identifier: BSD-3-Clause */
/* A ledger: what is written is what is read, whatever is cut off or changed of it; and
 * whoever is out writes and tells nothing. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ledger/carry.h"
#include "ledger/ledger_in.h"
#include "tap/files.h"
#include "tap/fs_fault.h"
#include "tap/tap.h"

static const struct vel_ledger_self self = {"n1", "unix:/a b", 4711};
static struct vel_err err;

/* --- lines --- */

static bool reads_int(const char *text, int64_t want, bool is_right)
{
    struct vel_fields fields = {text, text + strlen(text)};
    int64_t got = vel_fields_int(&fields);

    return got == want && vel_fields_are_right(&fields) == is_right;
}

static bool refuses_text(const char *text)
{
    struct vel_fields fields = {text, text + strlen(text)};
    struct vel_buf got;

    vel_buf_init(&got);
    vel_fields_text(&fields, &got);
    bool refuses = !vel_fields_are_right(&fields) && got.len == 0;
    vel_buf_fini(&got);
    return refuses;
}

static void fields(void)
{
    static const int64_t numbers[] = {0, 1, -1, 10, INT64_MAX, INT64_MIN};
    static const char *const no_texts[] = {"",     " ",      " %4",   " %41", " %2",
                                           " %0a", " a%zzb", " \x7f", " a\tb"};
    struct vel_fields at;
    struct vel_buf text, got;
    char all[256];
    bool is_same = true, refuses = true;

    vel_buf_init(&text);
    vel_buf_init(&got);
    for (int i = 0; i < 256; i++)
        all[i] = (char)i;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        vel_line_put_int(&text, numbers[i]);
    vel_line_put_text(&text, all, sizeof all);
    vel_line_put_text(&text, "", 0);
    vel_line_put_text(&text, "a", 1);
    at = (struct vel_fields){text.data, text.data + text.len};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        is_same = is_same && vel_fields_int(&at) == numbers[i];
    ok(is_same && vel_fields_are_right(&at), "numbers are read as they were written");
    vel_fields_text(&at, &got);
    ok(got.len == sizeof all && memcmp(got.data, all, sizeof all) == 0,
       "so is a text of any bytes");
    vel_fields_text(&at, &got);
    ok(got.len == sizeof all && vel_fields_have(&at), "an empty one");
    vel_fields_text(&at, &got);
    ok(vel_fields_are_right(&at) && !vel_fields_have(&at), "and a last one");
    vel_fields_text(&at, &got);
    ok(!vel_fields_are_right(&at), "there is none behind it");
    for (size_t i = 0; i < sizeof no_texts / sizeof *no_texts; i++)
        refuses = refuses && refuses_text(no_texts[i]);
    ok(refuses, "a text that nobody writes so is none");
    ok(reads_int(" 7", 7, true) && reads_int(" 07", 0, false) &&
           reads_int(" +7", 0, false) && reads_int(" -0", 0, false) &&
           reads_int(" 7x", 0, false) && reads_int(" 9223372036854775808", 0, false) &&
           reads_int(" 123456789012345678901234567890", 0, false) &&
           reads_int("", 0, false),
       "nor is a number");
    vel_buf_fini(&text);
    vel_buf_fini(&got);
}

static void lines(void)
{
    static const char bytes[] = "0000000";
    struct vel_lines at = {.bytes = bytes, .len = strlen(bytes)};
    struct vel_fields in;
    struct vel_buf both;
    struct vel_line line;

    ok(!vel_lines_next(&at, &line), "what has no line feed is no line");
    vel_buf_init(&both);
    vel_line_add(&both, 7, 100, "seal 1", 6);
    vel_line_add(&both, 7, 100, "sealed 2", 8);
    at = (struct vel_lines){both.data, both.len, 100, 7};
    ok(vel_lines_next(&at, &line) && vel_line_is(&line, "seal", &in) &&
           vel_fields_int(&in) == 1,
       "a line has a kind");
    ok(vel_lines_next(&at, &line) && !vel_line_is(&line, "seal", &in) &&
           !vel_line_is(&line, "sealed2", &in) && vel_line_is(&line, "sealed", &in),
       "which is the whole word");
    at = (struct vel_lines){both.data, both.len, 101, 7};
    ok(vel_lines_next(&at, &line) && !line.text, "it is none in another place");
    at = (struct vel_lines){both.data, both.len, 100, 8};
    ok(vel_lines_next(&at, &line) && !line.text, "nor in another ledger");
    vel_buf_fini(&both);
}

/* --- a ledger --- */

static struct vel_ledger_dir fresh(const char *name)
{
    const struct vel_ledger_dir dir = {vel_fs_posix(), tap_path(name), false};

    tap_fresh_dir(dir.path);
    return dir;
}

static struct vel_ledger *claim(const struct vel_ledger_dir *dir, int64_t launch,
                                int64_t term)
{
    struct vel_ledger *ledger = NULL;

    if (vel_ledger_claim(dir, (struct vel_ledger_name){launch, term}, &self, &ledger,
                         &err) < 0)
        bail_out("%s", err.text);
    return ledger;
}

static int begin(struct vel_ledger *ledger, const struct vel_ledger_dir *dir,
                 const char *facts)
{
    struct vel_carry carry;
    int rc;

    vel_carry_init(&carry, dir, vel_ledger_name(ledger));
    rc = vel_ledger_begin(ledger, &carry, facts, strlen(facts), &err);
    vel_carry_fini(&carry);
    return rc;
}

static int tell(struct vel_ledger *ledger, const char *facts)
{
    return vel_ledger_tell(ledger, facts, strlen(facts), &err);
}

/* All facts, with a line feed behind each; "" when it has no begin. A string that the
 * next call changes. */
static const char *facts_of(const struct vel_ledger_text *text)
{
    static char ret[4096];

    ret[0] = '\0';
    for (size_t i = 0; i < text->facts.n; i++) {
        const struct vel_ledger_fact *fact = vel_vec_at(&text->facts, i);

        snprintf(ret + strlen(ret), sizeof ret - strlen(ret), "%.*s\n",
                 (int)fact->line.len, fact->line.text);
    }
    return ret;
}

static struct vel_ledger_text load(const struct vel_ledger_dir *dir, int64_t launch,
                                   int64_t term)
{
    struct vel_ledger_text text = {0};

    if (vel_ledger_load(dir, (struct vel_ledger_name){launch, term}, &text, &err) < 0)
        note("%s", err.text);
    return text;
}

static void written(void)
{
    struct vel_ledger_dir dir = fresh("written");
    struct vel_ledger *ledger = claim(&dir, 1, 0), *other = NULL;
    struct vel_ledger_text text = load(&dir, 1, 0);

    ok(text.node && !text.has_begin && text.heir == 0, "a claim has no begin");
    is_str(text.node, "n1", "its title says who writes it");
    ok(strcmp(text.address, "unix:/a b") == 0 && text.process == 4711, "and where");
    vel_ledger_text_fini(&text);
    is_int(vel_ledger_claim(&dir, (struct vel_ledger_name){1, 0}, &self, &other, &err),
           VEL_EEXIST, "nobody else can have the name: %s", err.text);
    is_int(begin(ledger, &dir, "a 1\nb 2\n"), 0, "it begins");
    is_int(tell(ledger, "c 3\n"), 0, "a fact is told");
    is_int(vel_ledger_append(ledger, "d 4\ne 5\n", 8, &err), 0, "two are appended");
    text = load(&dir, 1, 0);
    ok(text.has_begin && text.wrong == 0, "whoever reads it finds no fault");
    is_str(facts_of(&text), "a 1\nb 2\nc 3\nd 4\ne 5\n", "and all facts in order");
    is_int(vel_ledger_trust(&dir, &text, &err), 0, "and can act on them");
    vel_ledger_text_fini(&text);
    ok(!vel_ledger_is_long(ledger), "it is not long");
    vel_ledger_close(ledger);
    is_int(vel_ledger_load(&dir, (struct vel_ledger_name){1, 1}, &text, &err),
           VEL_ENOENT, "one that nobody has made is not there: %s", err.text);
}

static void grown(void)
{
    enum { MIB = 1 << 20 };
    struct vel_ledger_dir dir = fresh("grown");
    struct vel_ledger *ledger = claim(&dir, 1, 0);
    char *fact = malloc(MIB);

    memset(fact, 'a', MIB);
    fact[MIB - 1] = '\n';
    begin(ledger, &dir, "a 1\n");
    for (int i = 0; i < 3; i++)
        vel_ledger_append(ledger, fact, MIB, &err);
    ok(!vel_ledger_is_long(ledger), "3 MiB are not long");
    vel_ledger_append(ledger, fact, MIB, &err);
    ok(vel_ledger_is_long(ledger), "more than 4 MiB are");
    vel_ledger_close(ledger);
    free(fact);
}

static void numbers(void)
{
    struct vel_ledger_dir dir = fresh("numbers");
    struct vel_ledger *ledger = NULL;
    struct vel_vec list;
    const char *none[] = {"x",    "1",   "1.",    "1.x", "01.0",
                          "1.00", "0.1", "1.0.0", "-1.0"};
    char path[600];

    is_int(vel_ledger_list(&dir, &list, &err), 0, "no ledgers are a list");
    vel_vec_fini(&list);
    is_int(vel_ledger_number(&dir, &self, &ledger, &err), 0, "a launch has a number");
    is_int(vel_ledger_name(ledger).launch, 1, "the first one 1");
    vel_ledger_close(ledger);
    vel_ledger_close(claim(&dir, 7, 3));
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        snprintf(path, sizeof path, "%s/%s", dir.path, none[i]);
        tap_put_file(path, "");
    }
    is_int(vel_ledger_number(&dir, &self, &ledger, &err), 0, "and another one");
    is_int(vel_ledger_name(ledger).launch, 8, "one more than the highest");
    vel_ledger_close(ledger);
    vel_ledger_list(&dir, &list, &err);
    is_int((long long)list.n, 3, "what is no name of a ledger is none");
    ok(vel_ledger_highest(&list, 7) == 3 && vel_ledger_highest(&list, 2) == -1,
       "each launch has a highest term");
    vel_vec_fini(&list);
    dir.path = tap_path("nowhere");
    ok(vel_ledger_list(&dir, &list, &err) == 0 && list.n == 0,
       "where there is no directory there is no ledger");
    vel_vec_fini(&list);
}

/* --- out --- */

static void out(void)
{
    struct vel_ledger_dir dir = fresh("out");
    struct vel_ledger *ledger = claim(&dir, 1, 0), *next;
    struct vel_ledger_text text;
    char path[600];

    begin(ledger, &dir, "a 1\n");
    text = load(&dir, 1, 0);
    next = claim(&dir, 1, 1);
    is_int(tell(ledger, "b 2\n"), VEL_ECANCEL, "who has been passed by is out: %s",
           err.text);
    ok(vel_ledger_append(ledger, "c 3\n", 4, &err) == VEL_ECANCEL &&
           vel_ledger_sync(ledger, &err) == VEL_ECANCEL,
       "and writes nothing any more");
    is_int(vel_ledger_trust(&dir, &text, &err), VEL_ECANCEL,
           "who has read it does not act on it: %s", err.text);
    snprintf(path, sizeof path, "%s/1.1", dir.path);
    unlink(path);
    is_int(vel_ledger_look(ledger, &err), VEL_ECANCEL, "it stays so");
    ok(begin(next, &dir, "") == VEL_ECANCEL && vel_ledger_look(next, &err) < 0,
       "whose name is gone is out");
    vel_ledger_close(next);
    vel_ledger_close(ledger);
    vel_ledger_text_fini(&text);

    ledger = claim(&dir, 2, 0);
    snprintf(path, sizeof path, "%s/2.0", dir.path);
    unlink(path);
    next = claim(&dir, 2, 0);
    is_int(begin(ledger, &dir, "a 1\n"), VEL_ECANCEL, "and whose name is another's: %s",
           err.text);
    is_int(begin(next, &dir, "b 1\n"), 0, "who is not");
    text = load(&dir, 2, 0);
    is_str(facts_of(&text), "b 1\n", "and has written what is read");
    vel_ledger_text_fini(&text);
    vel_ledger_close(next);
    vel_ledger_close(ledger);
}

/* The n-th operation of a kind fails, once. */
static void fail(struct vel_fs_fault *fault, unsigned kinds, uint64_t at)
{
    const struct vel_fs_fault_plan plan = {
        .mode = VEL_FS_FAULT_ONCE, .kinds = kinds, .at = at};

    vel_fs_fault_arm(fault, &plan);
}

static void failures(void)
{
    struct vel_ledger_dir dir = fresh("failures");
    struct vel_fs_fault *fault;
    struct vel_ledger *ledger;

    if (vel_fs_fault_create(vel_fs_posix(), NULL, &fault, &err) < 0)
        bail_out("%s", err.text);
    dir.fs = vel_fs_fault_fs(fault);
    dir.is_shared = true;
    ledger = claim(&dir, 1, 0);
    begin(ledger, &dir, "");
    fail(fault, VEL_FS_KIND_OPEN, 2);
    is_int(vel_ledger_look(ledger, &err), VEL_EIO, "who cannot look knows nothing: %s",
           err.text);
    is_int(vel_ledger_look(ledger, &err), 0, "and looks again");
    fail(fault, VEL_FS_KIND_WRITE, 1);
    is_int(tell(ledger, "a 1\n"), VEL_EIO, "a write that fails: %s", err.text);
    ok(tell(ledger, "b 1\n") == VEL_ESTATE &&
           vel_ledger_sync(ledger, &err) == VEL_ESTATE,
       "nothing is written behind it: %s", err.text);
    vel_ledger_close(ledger);
    ledger = claim(&dir, 1, 1);
    begin(ledger, &dir, "");
    fail(fault, VEL_FS_KIND_SYNC, 1);
    is_int(tell(ledger, "a 1\n"), VEL_EIO, "a sync that fails: %s", err.text);
    is_int(tell(ledger, "b 1\n"), VEL_ESTATE, "nor behind that");
    vel_ledger_close(ledger);
    vel_fs_fault_destroy(fault);
}

/* --- damage --- */

static const char *const in_begin[] = {"a 1\n", "bb 22\n", "c 3\n"};
static const char *const behind[] = {"dd 44\n", "e 5\n"};

/* A chain whose second term comes from the first: its bytes. */
static char *make_chain(const struct vel_ledger_dir *dir, size_t *ret_len)
{
    struct vel_ledger *first = claim(dir, 3, 0), *second;
    struct vel_carry carry;
    char facts[100] = "";

    begin(first, dir, "old 1\n");
    vel_ledger_close(first);
    second = claim(dir, 3, 1);
    vel_carry_init(&carry, dir, vel_ledger_name(second));
    for (size_t i = 0; i < 3; i++)
        strcat(facts, in_begin[i]);
    if (vel_carry_own(&carry, &err) < 0 ||
        vel_ledger_begin(second, &carry, facts, strlen(facts), &err) < 0)
        bail_out("%s", err.text);
    vel_carry_fini(&carry);
    tell(second, behind[0]);
    tell(second, behind[1]);
    vel_ledger_close(second);
    return tap_get_file(tap_path("damage/3.1"), ret_len);
}

static struct vel_ledger_text decode(const struct vel_ledger_dir *dir,
                                     const char *bytes, size_t len, int *ret_rc)
{
    struct vel_ledger_text text = {0};
    struct vel_buf buf;

    vel_buf_init(&buf);
    vel_buf_append(&buf, bytes, len);
    *ret_rc = vel_ledger_decode(dir, (struct vel_ledger_name){3, 1}, &buf, &text, NULL);
    vel_buf_fini(&buf);
    return text;
}

/* Cut off anywhere it has what is whole, and no begin before that is. */
static void cut(const struct vel_ledger_dir *dir, const char *bytes, size_t len)
{
    size_t begun = len + 1, wrong = 0;

    for (size_t n = 0; n <= len; n++) {
        int rc;
        struct vel_ledger_text text = decode(dir, bytes, n, &rc);
        const char *facts = facts_of(&text), *all = "a 1\nbb 22\nc 3\ndd 44\ne 5\n";

        if (text.has_begin && begun > len)
            begun = n;
        wrong += rc < 0 || text.wrong || text.has_begin != (n >= begun) ||
                 strncmp(facts, all, strlen(facts)) != 0 ||
                 (text.has_begin && strncmp(facts, "a 1\nbb 22\nc 3\n", 14) != 0);
        vel_ledger_text_fini(&text);
    }
    is_int((long long)wrong, 0, "cut off anywhere a ledger has what is whole of it");
    ok(bytes[begun - 1] == '\n' && strncmp(bytes + begun + 9, "dd 44\n", 6) == 0,
       "and begins with its tail");
}

/* Is each fact one that was written, and none of these missing but `lost`? */
static bool has_all_but(const char *facts, size_t lost_in_begin, size_t lost_behind,
                        bool with_old)
{
    size_t missing = 0, missing_behind = 0;

    for (size_t i = 0; i < 3; i++)
        missing += strstr(facts, in_begin[i]) == NULL;
    for (size_t i = 0; i < 2; i++)
        missing_behind += strstr(facts, behind[i]) == NULL;
    return missing <= lost_in_begin && missing_behind <= lost_behind &&
           (strstr(facts, "old 1\n") != NULL) == (with_old && missing > 0);
}

/* One byte is another: at most the facts of two lines are missing, and if they are of
 * the begin what that came from is there. */
static void changed(const struct vel_ledger_dir *dir, char *bytes, size_t len)
{
    static const char values[] = {'\n', ' ', '0', '\0', '\xff'};
    size_t title = (size_t)(strchr(bytes, '\n') - bytes) + 1, wrong = 0, blind = 0;
    size_t last = (size_t)(strstr(bytes, behind[1]) - bytes) - VEL_LINE_MORE;

    for (size_t i = 0; i < len; i++) {
        for (size_t k = 0; k < sizeof values; k++) {
            char was = bytes[i];
            struct vel_ledger_text text;
            int rc;

            if (was == values[k])
                continue;
            bytes[i] = values[k];
            text = decode(dir, bytes, len, &rc);
            bytes[i] = was;
            if (i < title) {
                wrong += rc != VEL_ECORRUPT;
                continue;
            }
            blind += text.wrong == 0 && i + 1 < last;
            wrong += rc < 0 || !text.has_begin || text.is_lossy ||
                     !has_all_but(facts_of(&text), 2, 2, true);
            vel_ledger_text_fini(&text);
        }
    }
    is_int((long long)wrong, 0,
           "a byte that changes costs the facts of its lines, and "
           "in the begin what that comes from is read");
    is_int((long long)blind, 0, "and is told, but in the last line");
}

static void damaged(void)
{
    struct vel_ledger_dir dir = fresh("damage");
    size_t len;
    char *bytes = make_chain(&dir, &len), *fact;
    struct vel_ledger_text text;
    int rc;

    cut(&dir, bytes, len);
    changed(&dir, bytes, len);
    unlink(tap_path("damage/3.0"));
    fact = strstr(bytes, "bb 22");
    *fact = 'x';
    text = decode(&dir, bytes, len, &rc);
    ok(rc == 0 && text.is_lossy && text.wrong == 1,
       "what a begin comes from is gone: it is told that a fact is lost");
    is_str(facts_of(&text), "a 1\nc 3\ndd 44\ne 5\n", "the others are there");
    vel_ledger_text_fini(&text);
    free(bytes);
    tap_put_file(tap_path("damage/3.2"), "");
    text = load(&dir, 3, 2);
    ok(!text.has_begin && !text.node, "an empty file is a ledger without a begin");
    vel_ledger_text_fini(&text);
}

int main(void)
{
    int fds = tap_open_fds();

    fields();
    lines();
    written();
    grown();
    numbers();
    out();
    failures();
    damaged();
    is_int(tap_open_fds(), fds, "no descriptor is left open");
    return done_testing();
}
