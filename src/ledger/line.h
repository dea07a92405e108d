/* SPDX-License-Identifier: BSD-3-Clause */
/* line - one line of a ledger: CRC, kind, fields (doc/format-ledger.txt, 2).
 *
 * A line's text is what stands between its CRC and its line feed: a kind, and a blank
 * and a field as often as its kind has fields. What they mean is not known here.
 */
#ifndef VEL_LEDGER_LINE_H
#define VEL_LEDGER_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* --- to write --- */

void vel_line_put_int(struct vel_buf *text, int64_t value);
void vel_line_put_text(struct vel_buf *text, const void *bytes, size_t len);

enum {
    VEL_LINE_MORE = 9,  /* bytes of a line before its text */
    VEL_LINE_JOINT = 21 /* behind it, at most: what it is joined to */
};

/* Append the line of `text` to *lines, whose first byte will stand at `at` of a ledger
 * with this salt; one more behind the tail. */
void vel_line_add(struct vel_buf *lines, uint64_t salt, uint64_t at, const char *text,
                  size_t len);

/* The same of a line that counts only where all those from `from` on are right. */
void vel_line_add_joined(struct vel_buf *lines, uint64_t salt, uint64_t at,
                         const char *text, size_t len, uint64_t from);

/* --- to read --- */

struct vel_ledger_line {
    const char *text; /* no string */
    size_t len;
};

/* The bytes of a ledger from `at` on. */
struct vel_lines {
    const char *bytes;
    size_t len;
    uint64_t at, salt;
    bool are_behind; /* the last line that was right is behind the tail */
    uint64_t wrong;  /* behind the last line that was not; 0: none was */
};

/* The next line, with the salt of those before the tail or of those behind it; false:
 * none is whole. A line that is wrong has no text (NULL). */
bool vel_lines_next(struct vel_lines *lines, struct vel_ledger_line *ret);

/* Fields of a line, one after the other. */
struct vel_fields {
    const char *at, *end; /* at the blank before the next one; NULL: one was wrong */
};

/* Has the line this kind? Then its fields. */
bool vel_line_is(const struct vel_ledger_line *line, const char *kind,
                 struct vel_fields *ret);

/* The next field, as vel_line_put_int() and _put_text() write it. What is not so makes
 * *fields wrong; the value is 0, or nothing is appended, then. */
int64_t vel_fields_int(struct vel_fields *fields);
void vel_fields_text(struct vel_fields *fields, struct vel_buf *ret);
void vel_fields_skip(struct vel_fields *fields);

/* Is there another one? Were all read so far right? */
bool vel_fields_have(const struct vel_fields *fields);
bool vel_fields_are_right(const struct vel_fields *fields);

#endif
