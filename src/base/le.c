/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <string.h>

#include "base/le.h"

void vel_le_read_init(struct vel_le_reader *r, const void *bytes, size_t len)
{
    *r = (struct vel_le_reader){.at = bytes, .left = len};
}

const void *vel_le_get_bytes(struct vel_le_reader *r, size_t len)
{
    if (r->is_short || len > r->left) {
        r->is_short = true;
        return NULL;
    }
    const void *bytes = r->at;
    if (len > 0) { /* not even 0 may be added to NULL */
        r->at += len;
        r->left -= len;
    }
    return bytes;
}

static uint64_t get(struct vel_le_reader *r, size_t width)
{
    const uint8_t *bytes = vel_le_get_bytes(r, width);
    uint64_t value = 0;

    if (bytes)
        for (size_t i = width; i-- > 0;)
            value = value << 8 | bytes[i];
    return value;
}

uint8_t vel_le_get8(struct vel_le_reader *r)
{
    return (uint8_t)get(r, 1);
}

uint16_t vel_le_get16(struct vel_le_reader *r)
{
    return (uint16_t)get(r, 2);
}

uint32_t vel_le_get32(struct vel_le_reader *r)
{
    return (uint32_t)get(r, 4);
}

uint64_t vel_le_get64(struct vel_le_reader *r)
{
    return get(r, 8);
}

void vel_le_write_init(struct vel_le_writer *w, void *bytes, size_t len)
{
    *w = (struct vel_le_writer){.at = bytes, .left = len};
}

void vel_le_put_bytes(struct vel_le_writer *w, const void *bytes, size_t len)
{
    if (w->is_short || len > w->left) {
        w->is_short = true;
        return;
    }
    if (len == 0)
        return;
    memcpy(w->at, bytes, len);
    w->at += len;
    w->left -= len;
}

static void put(struct vel_le_writer *w, uint64_t value, size_t width)
{
    uint8_t bytes[8];

    for (size_t i = 0; i < width; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
    vel_le_put_bytes(w, bytes, width);
}

void vel_le_put8(struct vel_le_writer *w, uint8_t value)
{
    put(w, value, 1);
}

void vel_le_put16(struct vel_le_writer *w, uint16_t value)
{
    put(w, value, 2);
}

void vel_le_put32(struct vel_le_writer *w, uint32_t value)
{
    put(w, value, 4);
}

void vel_le_put64(struct vel_le_writer *w, uint64_t value)
{
    put(w, value, 8);
}
