/* SPDX-License-Identifier: BSD-3-Clause */
/* buf - growable bytes.
 *
 * A failed growth is remembered: later appends do nothing, and vel_buf_status() tells
 * once at the end, so that building a text needs one check. data always ends with a
 * zero byte that len does not count.
 */
#ifndef VEL_BASE_BUF_H
#define VEL_BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct vel_buf {
    char *data; /* NULL until the first append */
    size_t len;
    size_t cap;
    bool failed;
};

void vel_buf_init(struct vel_buf *buf);
void vel_buf_fini(struct vel_buf *buf);

/* Make room for `more` bytes beyond len. */
int vel_buf_reserve(struct vel_buf *buf, size_t more);
void vel_buf_append(struct vel_buf *buf, const void *bytes, size_t len);
void vel_buf_puts(struct vel_buf *buf, const char *text);
void vel_buf_putc(struct vel_buf *buf, char c);
void vel_buf_printf(struct vel_buf *buf, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void vel_buf_vprintf(struct vel_buf *buf, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));

/* Forget the content, keep the memory. */
void vel_buf_clear(struct vel_buf *buf);

/* 0, or VEL_ENOMEM when any append since init or clear did not fit into memory. */
int vel_buf_status(const struct vel_buf *buf, struct vel_err *err);

/* The content as text: "" while nothing was appended. Belongs to the buffer. */
const char *vel_buf_text(const struct vel_buf *buf);

/* Hand the bytes to the caller, who frees them; NULL when an append failed. ret_len may
 * be NULL. The buffer is empty afterwards. */
char *vel_buf_take(struct vel_buf *buf, size_t *ret_len);

#endif
