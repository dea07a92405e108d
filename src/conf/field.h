/* SPDX-License-Identifier: BSD-3-Clause */
/* field - a row of the table as data: how the text of a value becomes a typed field of
 * a struct. */
#ifndef VEL_CONF_FIELD_H
#define VEL_CONF_FIELD_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum vel_type {
    VEL_TYPE_BOOL,     /* bool: 0 1 no yes off on false true */
    VEL_TYPE_INT,      /* int64_t */
    VEL_TYPE_SIZE,     /* int64_t bytes: 270GB, 16MiB, powers of 1024 in both */
    VEL_TYPE_SECONDS,  /* double: 90, 1.5, 30s, 5m, 2h, 1d */
    VEL_TYPE_REAL,     /* double */
    VEL_TYPE_TEXT,     /* char *, NULL when not set */
    VEL_TYPE_PATH,     /* char *, absolute once settings are resolved */
    VEL_TYPE_CHOICE,   /* int: index into choices, -1 when not set */
    VEL_TYPE_INTERVAL, /* int64_t: a count, or minus the seconds when there is a unit */
};

/* Who obeys a setting. */
enum vel_whom { VEL_WHOM_ALL, VEL_WHOM_VELOC, VEL_WHOM_HDF5, VEL_WHOM_NOBODY };

struct vel_field {
    const char *key;
    enum vel_whom whom;
    enum vel_type type;
    const char *def;
    double least; /* both 0: any */
    double most;
    const char *choices; /* "A|B|C" */
    const char *doc;
    size_t offset; /* in the struct that is filled */
};

/* Parse `text` and store it at base + offset; a text stored before is freed. "" is "not
 * set". The sentence says what would be right; VEL_ECONFIG. */
int vel_field_set(const struct vel_field *field, void *base, const char *text,
                  struct vel_err *err);

/* Free what a field holds. */
void vel_field_clear(const struct vel_field *field, void *base);

/* What a field holds as text that vel_field_set() reads; "" when it is not set. */
void vel_field_text(const struct vel_field *field, const void *base,
                    struct vel_buf *to);

/* What a value of the field looks like, for people: "a size from 1MiB to 1TiB". */
void vel_field_expects(const struct vel_field *field, char *text, size_t size);

#endif
