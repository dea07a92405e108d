/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/crc.h"
#include "base/le.h"
#include "brain/messages.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])
#define MAGIC UINT32_C(0x4d4e5648) /* "HVNM" */

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
static const bool crc_is_checked = false;
#else
static const bool crc_is_checked = true;
#endif

enum {
    CRC_AT = VEL_MSG_HEAD - 4,
    NUMBER_LEN = 8,
    LENGTH_LEN = 4,
};

static const struct vel_msg_row rows[] = {
#define MESSAGE(NAME, name, number, WAY, REPLY, LIMIT)                                 \
    {VEL_MSG_##NAME, #name, VEL_MSG_WAY_##WAY, VEL_MSG_##REPLY, VEL_MSG_LIMIT_##LIMIT},
#include "brain/messages.def"
};

/* what the rows of fields call a message */
enum {
#define MESSAGE(NAME, name, number, WAY, REPLY, LIMIT) kind_##name = (number),
#include "brain/messages.def"
};

static const struct vel_msg_field all_fields[] = {
#define FIELD(name, field, least, most, type)                                          \
    {(enum vel_msg_kind)kind_##name,         type,  #field,                            \
     offsetof(struct vel_msg_##name, field), least, most},
#define NUMBER(name, field, least, most) FIELD(name, field, least, most, VEL_MSG_NUMBER)
#define TEXT(name, field, least, most) FIELD(name, field, least, most, VEL_MSG_TEXT)
#define BYTES(name, field, least, most) FIELD(name, field, least, most, VEL_MSG_BYTES)
#include "brain/messages.def"
#undef FIELD
};

const struct vel_msg_row *vel_msg_row_at(size_t i)
{
    return i < COUNT_OF(rows) ? &rows[i] : NULL;
}

const struct vel_msg_row *vel_msg_row(unsigned kind)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (kind != VEL_MSG_NONE && (unsigned)rows[i].kind == kind)
            return &rows[i];
    return NULL;
}

const struct vel_msg_field *vel_msg_fields(enum vel_msg_kind kind, size_t *ret_n)
{
    size_t first = 0, n = 0;

    while (first < COUNT_OF(all_fields) && all_fields[first].kind != kind)
        first++;
    while (first + n < COUNT_OF(all_fields) && all_fields[first + n].kind == kind)
        n++;
    *ret_n = n;
    return &all_fields[first];
}

static uint32_t field_most(const struct vel_msg_field *field)
{
    switch (field->type) {
    case VEL_MSG_TEXT:
        return LENGTH_LEN + (uint32_t)field->most + 1;
    case VEL_MSG_BYTES:
        return LENGTH_LEN + (uint32_t)field->most;
    case VEL_MSG_NUMBER:
        break;
    }
    return NUMBER_LEN;
}

uint32_t vel_msg_most(enum vel_msg_kind kind)
{
    uint32_t most = 0;
    size_t n;
    const struct vel_msg_field *field = vel_msg_fields(kind, &n);

    for (size_t i = 0; i < n; i++)
        most += field_most(&field[i]);
    return most;
}

/* --- encode --- */

static int check(const struct vel_msg_row *row, const struct vel_msg_field *field,
                 uint64_t value, enum vel_status status, struct vel_err *err)
{
    if (value >= field->least && value <= field->most)
        return 0;
    return vel_fail(err, status,
                    "a message '%s': %s%s %" PRIu64 " is not within %" PRIu64
                    " and %" PRIu64,
                    row->name, field->type == VEL_MSG_NUMBER ? "" : "the length of ",
                    field->name, value, field->least, field->most);
}

static void put_number(struct vel_buf *buf, uint64_t value, size_t len)
{
    uint8_t bytes[NUMBER_LEN];
    struct vel_le_writer w;

    vel_le_write_init(&w, bytes, sizeof bytes);
    vel_le_put64(&w, value); /* little-endian: a shorter one is its beginning */
    vel_buf_append(buf, bytes, len);
}

static int put_field(const struct vel_msg_row *row, const struct vel_msg_field *field,
                     const void *at, struct vel_buf *buf, struct vel_err *err)
{
    struct vel_msg_bytes bytes = {0};
    const char *text;
    uint64_t number;
    int rc;

    switch (field->type) {
    case VEL_MSG_NUMBER:
        memcpy(&number, at, sizeof number);
        rc = check(row, field, number, VEL_EINVAL, err);
        if (rc == 0)
            put_number(buf, number, NUMBER_LEN);
        return rc;
    case VEL_MSG_TEXT:
        memcpy(&text, at, sizeof text);
        bytes.at = text ? text : "";
        bytes.len = strlen(bytes.at);
        break;
    case VEL_MSG_BYTES:
        memcpy(&bytes, at, sizeof bytes);
        break;
    }
    rc = check(row, field, bytes.len, VEL_EINVAL, err);
    if (rc == 0) {
        put_number(buf, bytes.len, LENGTH_LEN);
        if (field->type == VEL_MSG_TEXT)
            bytes.len++; /* the zero */
        if (bytes.len > 0)
            vel_buf_append(buf, bytes.at, bytes.len);
    }
    return rc;
}

static uint32_t crc_of(const uint8_t *bytes, size_t len)
{
    uint32_t crc = vel_crc32c(0, bytes, CRC_AT);

    return vel_crc32c(crc, bytes + VEL_MSG_HEAD, len - VEL_MSG_HEAD);
}

int vel_msg_encode(const struct vel_msg *msg, struct vel_buf *ret, struct vel_err *err)
{
    const struct vel_msg_row *row = vel_msg_row(msg->kind);
    struct vel_buf buf;
    struct vel_le_writer w;
    size_t n;
    int rc = 0;

    if (!row)
        return vel_fail(err, VEL_EINVAL, "there is no message %d", (int)msg->kind);
    const struct vel_msg_field *field = vel_msg_fields(msg->kind, &n);
    const uint8_t head[VEL_MSG_HEAD] = {0};

    vel_buf_init(&buf);
    vel_buf_append(&buf, head, sizeof head);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = put_field(row, &field[i], (const char *)&msg->u + field[i].offset, &buf,
                       err);
    if (rc == 0)
        rc = vel_buf_status(&buf, err);
    if (rc == 0)
        rc =
            vel_buf_reserve(ret, buf.len) < 0 ? vel_out_of_memory(err, "a message") : 0;
    if (rc < 0)
        goto out;
    vel_le_write_init(&w, buf.data, VEL_MSG_HEAD);
    vel_le_put32(&w, MAGIC);
    vel_le_put16(&w, VEL_MSG_VERSION);
    vel_le_put16(&w, (uint16_t)msg->kind);
    vel_le_put64(&w, msg->seq);
    vel_le_put32(&w, (uint32_t)(buf.len - VEL_MSG_HEAD));
    vel_le_put32(&w, crc_of((const uint8_t *)buf.data, buf.len));
    vel_buf_append(ret, buf.data, buf.len);
out:
    vel_buf_fini(&buf);
    return rc;
}

/* --- decode --- */

int vel_msg_head(const uint8_t bytes[VEL_MSG_HEAD], struct vel_msg_head *ret,
                 struct vel_err *err)
{
    struct vel_le_reader r;

    vel_le_read_init(&r, bytes, VEL_MSG_HEAD);
    if (vel_le_get32(&r) != MAGIC)
        return vel_fail(err, VEL_ECORRUPT, "it does not speak our protocol");
    unsigned version = vel_le_get16(&r);
    if (version != VEL_MSG_VERSION)
        return vel_fail(err, VEL_EUNSUP, "it speaks version %u of the protocol, we %d",
                        version, VEL_MSG_VERSION);
    unsigned kind = vel_le_get16(&r);
    const struct vel_msg_row *row = vel_msg_row(kind);
    uint64_t seq = vel_le_get64(&r);
    uint32_t len = vel_le_get32(&r);

    if (!row)
        return vel_fail(err, VEL_ECORRUPT, "there is no message %u", kind);
    if (len > vel_msg_most(row->kind))
        return vel_fail(err, VEL_ECORRUPT,
                        "a message '%s' of %" PRIu32 " bytes, %" PRIu32 " are allowed",
                        row->name, len, vel_msg_most(row->kind));
    *ret = (struct vel_msg_head){.kind = row->kind, .seq = seq, .len = len};
    return 0;
}

/* The length in front, and whether so much is there and allowed. */
static int get_bytes(const struct vel_msg_row *row, const struct vel_msg_field *field,
                     struct vel_le_reader *r, struct vel_msg_bytes *ret,
                     struct vel_err *err)
{
    bool is_text = field->type == VEL_MSG_TEXT;
    uint32_t len = vel_le_get32(r);
    int rc = r->is_short ? 0 : check(row, field, len, VEL_ECORRUPT, err);
    const char *at = rc == 0 ? vel_le_get_bytes(r, (size_t)len + is_text) : NULL;

    if (rc == 0 && at && is_text && (at[len] || memchr(at, 0, len)))
        rc = vel_fail(err, VEL_ECORRUPT, "a message '%s': %s is no text", row->name,
                      field->name);
    *ret = (struct vel_msg_bytes){at, len};
    return rc;
}

static int get_field(const struct vel_msg_row *row, const struct vel_msg_field *field,
                     struct vel_le_reader *r, void *at, struct vel_err *err)
{
    struct vel_msg_bytes bytes;
    uint64_t number;
    int rc;

    if (field->type == VEL_MSG_NUMBER) {
        number = vel_le_get64(r);
        memcpy(at, &number, sizeof number);
        return r->is_short ? 0 : check(row, field, number, VEL_ECORRUPT, err);
    }
    rc = get_bytes(row, field, r, &bytes, err);
    if (field->type == VEL_MSG_TEXT)
        memcpy(at, &(const char *){bytes.at}, sizeof(char *));
    else
        memcpy(at, &bytes, sizeof bytes);
    return rc;
}

int vel_msg_decode(const void *bytes, size_t len, struct vel_msg *ret,
                   struct vel_err *err)
{
    const uint8_t *at = bytes;
    struct vel_msg_head head;
    struct vel_msg msg = {.kind = VEL_MSG_NONE};
    struct vel_le_reader r;
    size_t n;
    int rc;

    if (len < VEL_MSG_HEAD)
        return vel_fail(err, VEL_ECORRUPT, "a message is too short");
    rc = vel_msg_head(at, &head, err);
    if (rc < 0)
        return rc;
    const struct vel_msg_row *row = vel_msg_row(head.kind);
    const struct vel_msg_field *field = vel_msg_fields(head.kind, &n);
    if (len - VEL_MSG_HEAD != head.len)
        return vel_fail(err, VEL_ECORRUPT, "a message '%s' has another length",
                        row->name);
    vel_le_read_init(&r, at + CRC_AT, 4);
    if (vel_le_get32(&r) != crc_of(at, len) && crc_is_checked)
        return vel_fail(err, VEL_ECORRUPT, "a message '%s' has a wrong checksum",
                        row->name);
    msg.kind = head.kind;
    msg.seq = head.seq;
    vel_le_read_init(&r, at + VEL_MSG_HEAD, head.len);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = get_field(row, &field[i], &r, (char *)&msg.u + field[i].offset, err);
    if (rc == 0 && (r.is_short || r.left > 0))
        rc = vel_fail(err, VEL_ECORRUPT, "a message '%s' is too %s", row->name,
                      r.is_short ? "short" : "long");
    if (rc == 0)
        *ret = msg;
    return rc;
}
