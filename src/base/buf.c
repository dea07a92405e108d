/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

void vel_buf_init(struct vel_buf *buf)
{
    *buf = (struct vel_buf){0};
}

void vel_buf_fini(struct vel_buf *buf)
{
    free(buf->data);
    *buf = (struct vel_buf){0};
}

int vel_buf_reserve(struct vel_buf *buf, size_t more)
{
    if (buf->failed)
        return VEL_ENOMEM;
    if (more >= SIZE_MAX - buf->len) {
        buf->failed = true;
        return VEL_ENOMEM;
    }
    size_t need = buf->len + more + 1;
    if (need <= buf->cap)
        return 0;
    size_t cap = buf->cap < 64 ? 64 : buf->cap;
    while (cap < need)
        cap = cap > SIZE_MAX / 2 ? need : cap * 2;
    char *data = realloc(buf->data, cap);
    if (!data) {
        buf->failed = true;
        return VEL_ENOMEM;
    }
    buf->data = data;
    buf->cap = cap;
    buf->data[buf->len] = '\0';
    return 0;
}

void vel_buf_append(struct vel_buf *buf, const void *bytes, size_t len)
{
    if (vel_buf_reserve(buf, len) < 0)
        return;
    if (len > 0)
        memcpy(buf->data + buf->len, bytes, len);
    buf->len += len;
    buf->data[buf->len] = '\0';
}

void vel_buf_puts(struct vel_buf *buf, const char *text)
{
    vel_buf_append(buf, text, strlen(text));
}

void vel_buf_putc(struct vel_buf *buf, char c)
{
    vel_buf_append(buf, &c, 1);
}

void vel_buf_vprintf(struct vel_buf *buf, const char *fmt, va_list ap)
{
    va_list again;

    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    if (n < 0) {
        buf->failed = true;
        return;
    }
    if (vel_buf_reserve(buf, (size_t)n) < 0)
        return;
    vsnprintf(buf->data + buf->len, (size_t)n + 1, fmt, ap);
    buf->len += (size_t)n;
}

void vel_buf_printf(struct vel_buf *buf, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vel_buf_vprintf(buf, fmt, ap);
    va_end(ap);
}

void vel_buf_clear(struct vel_buf *buf)
{
    buf->len = 0;
    buf->failed = false;
    if (buf->data)
        buf->data[0] = '\0';
}

int vel_buf_status(const struct vel_buf *buf, struct vel_err *err)
{
    return buf->failed ? vel_out_of_memory(err, "growing a buffer") : 0;
}

const char *vel_buf_text(const struct vel_buf *buf)
{
    return buf->data ? buf->data : "";
}

char *vel_buf_take(struct vel_buf *buf, size_t *ret_len)
{
    char *data = NULL;

    if (vel_buf_reserve(buf, 0) == 0) {
        data = buf->data;
        if (ret_len)
            *ret_len = buf->len;
        buf->data = NULL;
    }
    vel_buf_fini(buf);
    return data;
}
