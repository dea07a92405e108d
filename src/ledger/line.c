/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc.h"
#include "base/le.h"
#include "ledger/line.h"

enum { CRC = 8 /* hex digits */, INT = 20 /* bytes of a number, at most */ };

static const char digits[] = "0123456789ABCDEF";
static const char joint = '\t'; /* no field has one */

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
static const bool crc_is_checked = false;
#else
static const bool crc_is_checked = true;
#endif

/* --- to write --- */

void vel_line_put_int(struct vel_buf *text, int64_t value)
{
    vel_buf_printf(text, " %" PRId64, value);
}

static bool is_plain(unsigned char c)
{
    return c > ' ' && c < 0x7f && c != '%';
}

void vel_line_put_text(struct vel_buf *text, const void *bytes, size_t len)
{
    const unsigned char *at = bytes;

    vel_buf_putc(text, ' ');
    if (len == 0)
        vel_buf_putc(text, '%');
    for (size_t i = 0; i < len; i++) {
        if (is_plain(at[i])) {
            vel_buf_putc(text, (char)at[i]);
            continue;
        }
        vel_buf_putc(text, '%');
        vel_buf_putc(text, digits[at[i] >> 4]);
        vel_buf_putc(text, digits[at[i] & 15]);
    }
}

static void print_crc(uint64_t salt, uint64_t at, const char *text, size_t len,
                      char ret[CRC + 1])
{
    struct vel_le_writer w;
    uint8_t before[16];
    uint32_t crc;

    vel_le_write_init(&w, before, sizeof before);
    vel_le_put64(&w, salt);
    vel_le_put64(&w, at);
    crc = vel_crc32c(vel_crc32c(0, before, sizeof before), text, len);
    for (int i = 0; i < CRC; i++)
        ret[i] = digits[crc >> (4 * (CRC - 1 - i)) & 15];
    ret[CRC] = '\0';
}

void vel_line_add(struct vel_buf *lines, uint64_t salt, uint64_t at, const char *text,
                  size_t len)
{
    char crc[CRC + 1];

    print_crc(salt, at + lines->len, text, len, crc);
    vel_buf_append(lines, crc, CRC);
    vel_buf_putc(lines, ' ');
    vel_buf_append(lines, text, len);
    vel_buf_putc(lines, '\n');
}

void vel_line_add_joined(struct vel_buf *lines, uint64_t salt, uint64_t at,
                         const char *text, size_t len, uint64_t from)
{
    struct vel_buf joined;

    vel_buf_init(&joined);
    vel_buf_append(&joined, text, len);
    vel_buf_printf(&joined, "%c%" PRIu64, joint, from);
    vel_line_add(lines, salt, at, vel_buf_text(&joined), joined.len);
    lines->failed = lines->failed || joined.failed;
    vel_buf_fini(&joined);
}

/* --- to read --- */

/* What it is joined to is not part of its text. False: that is not all right. */
static bool is_whole(const struct vel_lines *lines, struct vel_ledger_line *line)
{
    const char *end = line->text + line->len,
               *at = memchr(line->text, joint, line->len);
    uint64_t from = 0;

    if (!at)
        return true;
    line->len = (size_t)(at - line->text);
    while (++at < end && *at >= '0' && *at <= '9' && from <= UINT64_MAX / 10 - 1)
        from = from * 10 + (uint64_t)(*at - '0');
    return at == end && from >= lines->wrong;
}

bool vel_lines_next(struct vel_lines *lines, struct vel_ledger_line *ret)
{
    const char *feed = lines->len ? memchr(lines->bytes, '\n', lines->len) : NULL;
    char crc[CRC + 1];
    size_t len;

    if (!feed)
        return false;
    len = (size_t)(feed - lines->bytes);
    *ret = (struct vel_ledger_line){0};
    for (int i = 0; !ret->text && i < 2 && len > CRC && lines->bytes[CRC] == ' '; i++) {
        bool is_behind = lines->are_behind != (i > 0);
        const char *text = lines->bytes + CRC + 1;

        print_crc(lines->salt + is_behind, lines->at, text, len - CRC - 1, crc);
        if (crc_is_checked && memcmp(crc, lines->bytes, CRC) != 0)
            continue;
        *ret = (struct vel_ledger_line){text, len - CRC - 1};
        lines->are_behind = is_behind;
    }
    if (ret->text && !is_whole(lines, ret))
        ret->text = NULL;
    lines->bytes += len + 1;
    lines->len -= len + 1;
    lines->at += len + 1;
    if (!ret->text)
        lines->wrong = lines->at;
    return true;
}

bool vel_line_is(const struct vel_ledger_line *line, const char *kind,
                 struct vel_fields *ret)
{
    size_t len = strlen(kind);

    if (!line->text || line->len < len || memcmp(line->text, kind, len) != 0 ||
        (line->len > len && line->text[len] != ' '))
        return false;
    *ret = (struct vel_fields){line->text + len, line->text + line->len};
    return true;
}

bool vel_fields_have(const struct vel_fields *fields)
{
    return fields->at && fields->at < fields->end;
}

bool vel_fields_are_right(const struct vel_fields *fields)
{
    return fields->at != NULL;
}

/* The bytes of the next field; NULL and 0 when there is none. */
static const char *next(struct vel_fields *fields, size_t *ret_len)
{
    const char *field = NULL, *blank;

    *ret_len = 0;
    if (vel_fields_have(fields)) {
        field = fields->at + 1;
        blank = memchr(field, ' ', (size_t)(fields->end - field));
        *ret_len = (size_t)((blank ? blank : fields->end) - field);
    }
    fields->at = *ret_len ? field + *ret_len : NULL;
    return fields->at ? field : NULL;
}

void vel_fields_skip(struct vel_fields *fields)
{
    size_t len;

    next(fields, &len);
}

int64_t vel_fields_int(struct vel_fields *fields)
{
    char text[INT + 1], again[INT + 2];
    int64_t value;
    size_t len;
    const char *field = next(fields, &len);

    if (field && len <= INT) {
        memcpy(text, field, len);
        text[len] = '\0';
        value = strtoll(text, NULL, 10);
        snprintf(again, sizeof again, "%" PRId64, value);
        if (strlen(again) == len && memcmp(text, again, len) == 0)
            return value;
    }
    fields->at = NULL;
    return 0;
}

static int hex_digit(char c)
{
    const char *at = c ? strchr(digits, c) : NULL;

    return at ? (int)(at - digits) : -1;
}

/* The byte at *i of a field, which moves behind it; -1: none that we would write. */
static int next_byte(const char *field, size_t len, size_t *i)
{
    unsigned char c = (unsigned char)field[(*i)++];
    int high, low;

    if (is_plain(c))
        return c;
    if (c != '%' || len - *i < 2)
        return -1;
    high = hex_digit(field[*i]);
    low = hex_digit(field[*i + 1]);
    *i += 2;
    if (high < 0 || low < 0 || is_plain((unsigned char)(high << 4 | low)))
        return -1;
    return high << 4 | low;
}

void vel_fields_text(struct vel_fields *fields, struct vel_buf *ret)
{
    size_t len, before = ret->len;
    const char *field = next(fields, &len);

    if (!field || (len == 1 && *field == '%'))
        return;
    for (size_t i = 0; i < len;) {
        int byte = next_byte(field, len, &i);

        if (byte < 0) {
            fields->at = NULL;
            ret->len = before;
            return;
        }
        vel_buf_putc(ret, (char)byte);
    }
}
