/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/crc.h"
#include "base/le.h"
#include "brain/messages.h"
#include "tap/tap.h"

/* What the fields of a message are filled with. */
enum fill { LEAST, MOST, BELOW, ABOVE };

static char *text_of(size_t len)
{
    char *text = malloc(len + 1);

    if (!text)
        bail_out("out of memory");
    memset(text, 'x', len);
    text[len] = '\0';
    return text;
}

static uint64_t value_of(const struct vel_msg_field *f, enum fill fill)
{
    return fill == LEAST   ? f->least
           : fill == MOST  ? f->most
           : fill == BELOW ? f->least - 1
                           : f->most + 1;
}

static void *at(struct vel_msg *msg, const struct vel_msg_field *field)
{
    return (char *)&msg->u + field->offset;
}

static void fill_field(struct vel_msg *msg, const struct vel_msg_field *field,
                       enum fill fill)
{
    uint64_t value = value_of(field, fill);

    if (field->type == VEL_MSG_NUMBER)
        memcpy(at(msg, field), &value, sizeof value);
    else if (field->type == VEL_MSG_TEXT)
        memcpy(at(msg, field), &(char *){text_of(value)}, sizeof(char *));
    else
        memcpy(at(msg, field), &(struct vel_msg_bytes){text_of(value), value},
               sizeof(struct vel_msg_bytes));
}

static void *bytes_at(struct vel_msg *msg, const struct vel_msg_field *field)
{
    void *bytes = NULL;

    if (field->type != VEL_MSG_NUMBER) /* the pointer comes first in both */
        memcpy(&bytes, at(msg, field), sizeof bytes);
    return bytes;
}

static void fill(struct vel_msg *msg, const struct vel_msg_row *row, enum fill fill)
{
    size_t n;
    const struct vel_msg_field *field = vel_msg_fields(row->kind, &n);

    *msg = (struct vel_msg){.kind = row->kind, .seq = 0x1122334455667788};
    for (size_t i = 0; i < n; i++)
        fill_field(msg, &field[i], fill);
}

static void empty(struct vel_msg *msg)
{
    size_t n;
    const struct vel_msg_field *field = vel_msg_fields(msg->kind, &n);

    for (size_t i = 0; i < n; i++)
        free(bytes_at(msg, &field[i]));
}

static bool same_field(struct vel_msg *a, struct vel_msg *b,
                       const struct vel_msg_field *field)
{
    const char *text_a = bytes_at(a, field), *text_b = bytes_at(b, field);
    struct vel_msg_bytes bytes_a, bytes_b;

    if (field->type == VEL_MSG_NUMBER)
        return memcmp(at(a, field), at(b, field), sizeof(uint64_t)) == 0;
    if (field->type == VEL_MSG_TEXT)
        return strcmp(text_a, text_b) == 0;
    memcpy(&bytes_a, at(a, field), sizeof bytes_a);
    memcpy(&bytes_b, at(b, field), sizeof bytes_b);
    return bytes_a.len == bytes_b.len &&
           (bytes_a.len == 0 || memcmp(bytes_a.at, bytes_b.at, bytes_a.len) == 0);
}

static bool same(struct vel_msg *a, struct vel_msg *b)
{
    size_t n;
    const struct vel_msg_field *field = vel_msg_fields(a->kind, &n);
    bool is_same = a->kind == b->kind && a->seq == b->seq;

    for (size_t i = 0; is_same && i < n; i++)
        is_same = same_field(a, b, &field[i]);
    return is_same;
}

/* --- the table --- */

static void table(void)
{
    const struct vel_msg_row *row, *other;
    bool is_unique = true, is_answered = true, is_bounded = true, has_fields = true;
    size_t n;

    for (size_t i = 0; (row = vel_msg_row_at(i)); i++) {
        for (size_t j = 0; j < i && (other = vel_msg_row_at(j)); j++)
            is_unique &= other->kind != row->kind;
        bool asks = row->way == VEL_MSG_WAY_ASK || row->way == VEL_MSG_WAY_UP ||
                    row->way == VEL_MSG_WAY_PEER || row->way == VEL_MSG_WAY_ANY;
        is_answered &=
            (row->reply != VEL_MSG_NONE) == (asks || row->kind == VEL_MSG_GREET);
        is_answered &=
            (row->reply != VEL_MSG_NONE) == (row->limit != VEL_MSG_LIMIT_NONE);
        is_bounded &= vel_msg_most(row->kind) < 9U << 20;
        vel_msg_fields(row->kind, &n);
        has_fields &= n > 0;
    }
    ok(is_unique, "no two messages have the same number");
    ok(is_answered, "whatever is asked is answered within a limit");
    ok(is_bounded && has_fields, "no message is longer than 9 MiB");
    ok(!vel_msg_row(0) && !vel_msg_row(65535), "other numbers are no messages");
}

/* --- there and back --- */

static void round_trip(enum fill how, const char *text)
{
    const struct vel_msg_row *row;
    const char *wrong = "";

    for (size_t i = 0; (row = vel_msg_row_at(i)); i++) {
        struct vel_msg msg, back;
        struct vel_buf buf;
        struct vel_msg_head head;

        vel_buf_init(&buf);
        vel_buf_puts(&buf, "before");
        fill(&msg, row, how);
        if (vel_msg_encode(&msg, &buf, NULL) < 0 ||
            vel_msg_head((uint8_t *)buf.data + 6, &head, NULL) < 0 ||
            head.kind != row->kind || head.len != buf.len - 6 - VEL_MSG_HEAD ||
            (how == MOST && head.len != vel_msg_most(row->kind)) ||
            vel_msg_decode(buf.data + 6, buf.len - 6, &back, NULL) < 0 ||
            !same(&msg, &back))
            wrong = row->name;
        empty(&msg);
        vel_buf_fini(&buf);
    }
    is_str(wrong, "", "%s", text);
}

static void out_of_range(enum fill how, const char *text)
{
    const struct vel_msg_row *row;
    const char *wrong = "";
    size_t n, tried = 0;

    for (size_t i = 0; (row = vel_msg_row_at(i)); i++) {
        const struct vel_msg_field *field = vel_msg_fields(row->kind, &n);

        for (size_t k = 0; k < n; k++) {
            struct vel_err err = {0};
            struct vel_buf buf;
            struct vel_msg msg;

            if (how == BELOW && field[k].least == 0)
                continue;
            vel_buf_init(&buf);
            fill(&msg, row, LEAST);
            free(bytes_at(&msg, &field[k]));
            fill_field(&msg, &field[k], how);
            if (vel_msg_encode(&msg, &buf, &err) != VEL_EINVAL || buf.len > 0 ||
                !strstr(err.text, field[k].name))
                wrong = row->name;
            tried++;
            empty(&msg);
            vel_buf_fini(&buf);
        }
    }
    ok(tried > 20 && !*wrong, "%s", text);
}

/* --- hostile bytes --- */

/* The bytes with a checksum that fits. */
static void sign(struct vel_buf *buf)
{
    struct vel_le_writer w;
    uint32_t crc = vel_crc32c(0, buf->data, VEL_MSG_HEAD - 4);

    crc = vel_crc32c(crc, buf->data + VEL_MSG_HEAD, buf->len - VEL_MSG_HEAD);
    vel_le_write_init(&w, buf->data + VEL_MSG_HEAD - 4, 4);
    vel_le_put32(&w, crc);
}

static void create(struct vel_buf *buf)
{
    struct vel_msg msg = {
        .kind = VEL_MSG_CREATE, .seq = 7, .u.create = {.how = 1, .name = "out/ck.h5"}};

    vel_buf_init(buf);
    if (vel_msg_encode(&msg, buf, NULL) < 0)
        bail_out("cannot encode");
}

static int decode(const struct vel_buf *buf, struct vel_err *err)
{
    struct vel_msg msg;

    *err = (struct vel_err){0};
    return vel_msg_decode(buf->data, buf->len, &msg, err);
}

static void any_change(void)
{
    struct vel_buf buf;
    struct vel_err err;
    bool is_seen = true;

    create(&buf);
    for (size_t i = 0; i < buf.len; i++) {
        buf.data[i] ^= 4;
        is_seen &= decode(&buf, &err) < 0 && *err.text;
        buf.data[i] ^= 4;
    }
    ok(is_seen && decode(&buf, &err) == 0, "a change of any byte is seen");
    for (size_t len = 0; len < buf.len; len++) {
        struct vel_msg msg;
        is_seen &= vel_msg_decode(buf.data, len, &msg, NULL) == VEL_ECORRUPT;
    }
    ok(is_seen, "and so is an end that is missing");
    vel_buf_fini(&buf);
}

/* A create in which one thing is wrong, signed well. */
static int with(size_t where, uint8_t value, struct vel_err *err)
{
    struct vel_buf buf;

    create(&buf);
    buf.data[where] = (char)value;
    sign(&buf);
    int rc = decode(&buf, err);
    vel_buf_fini(&buf);
    return rc;
}

static void lies(void)
{
    enum { HOW = VEL_MSG_HEAD, LEN = HOW + 16, NAME = LEN + 4 };
    struct vel_err err;
    struct vel_buf buf;

    is_int(with(4, 2, &err), VEL_EUNSUP, "another version is told from damage");
    is_int(with(6, 99, &err), VEL_ECORRUPT, "there is no message 99");
    is_int(with(HOW, 3, &err), VEL_ECORRUPT, "a number out of its range is refused");
    is_int(with(LEN, 0, &err), VEL_ECORRUPT, "a name of no bytes is none");
    is_int(with(LEN, 8, &err), VEL_ECORRUPT, "a text ends with a zero");
    is_int(with(LEN + 3, 255, &err), VEL_ECORRUPT, "a text is not longer than allowed");
    is_int(with(NAME + 2, 0, &err), VEL_ECORRUPT, "and has no other zero");

    create(&buf);
    vel_buf_putc(&buf, 'x');
    buf.data[16]++;
    sign(&buf);
    is_int(decode(&buf, &err), VEL_ECORRUPT, "nothing may follow the last field");
    vel_buf_fini(&buf);
}

static void too_long(void)
{
    struct vel_msg_head head;
    struct vel_err err = {0};
    struct vel_buf buf;

    create(&buf);
    buf.data[18] = 1; /* 64 KiB more */
    ok(vel_msg_head((uint8_t *)buf.data, &head, &err) == VEL_ECORRUPT &&
           strstr(err.text, "create"),
       "more bytes than a message may have are not waited for");
    vel_buf_fini(&buf);
}

static void layout(void)
{
    static const uint8_t want[] = {'H', 'V', 'N', 'M', 1, 0, 7, 0, 5, 0,
                                   0,   0,   0,   0,   0, 0, 8, 0, 0, 0};
    struct vel_msg msg = {.kind = VEL_MSG_PING, .seq = 5, .u.ping.what = 2};
    struct vel_buf buf;

    vel_buf_init(&buf);
    ok(vel_msg_encode(&msg, &buf, NULL) == 0 && buf.len == 32 &&
           memcmp(buf.data, want, sizeof want) == 0 && buf.data[24] == 2,
       "a ping is the bytes that the page says");
    vel_buf_fini(&buf);
    msg = (struct vel_msg){.kind = VEL_MSG_YES};
    msg.kind = (enum vel_msg_kind)9;
    is_int(vel_msg_encode(&msg, &buf, NULL), VEL_EINVAL, "there is no message 9");
}

int main(void)
{
    table();
    layout();
    round_trip(LEAST, "every message comes back with the least in every field");
    round_trip(MOST, "and with the most, in as many bytes as the table says");
    out_of_range(ABOVE, "no field with more than the most is sent");
    out_of_range(BELOW, "and none with less than the least");
    any_change();
    lies();
    too_long();
    return done_testing();
}
