/* SPDX-License-Identifier: BSD-3-Clause */
/* image_format - header and table of a checkpoint image as bytes (doc/format-mem.txt).
 * Knows no files. */
#ifndef VEL_API_IMAGE_FORMAT_H
#define VEL_API_IMAGE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"

enum {
    VEL_IMAGE_HEADER = 64,     /* bytes of a header */
    VEL_IMAGE_LINE = 32,       /* bytes of a region's line in the table */
    VEL_IMAGE_MOST = 1 << 20,  /* regions */
    VEL_IMAGE_ALIGN = 8,       /* where tables and regions begin */
    VEL_IMAGE_PAGE = 4096,     /* regions that have so many bytes lie as in memory */
    VEL_IMAGE_SHIFT_MOST = 62, /* no table begins behind 2^62 */
    /* Bytes moved at once when their checksum is taken: they and the kernel's copy of
     * them fit into the cache of one core. */
    VEL_IMAGE_PIECE = 256 << 10,
};

struct vel_image_line {
    int32_t id;
    uint32_t crc;   /* 0 without checksums */
    uint64_t size;  /* bytes of an element */
    uint64_t count; /* elements; size * count is no overflow */
    uint64_t at;    /* where the region begins */
};

struct vel_image_table {
    bool has_crc;
    uint64_t at;          /* where the table begins */
    struct vel_vec lines; /* struct vel_image_line, ids rising */
};

void vel_image_table_init(struct vel_image_table *table, bool has_crc);
void vel_image_table_fini(struct vel_image_table *table);

uint64_t vel_image_line_bytes(const struct vel_image_line *line);

static inline struct vel_image_line *vel_image_line_at(const struct vel_vec *lines,
                                                       size_t i)
{
    return (struct vel_image_line *)lines->items + i;
}

/* The line of an id, or where it would be: *ret_is_there tells. */
size_t vel_image_table_find(const struct vel_image_table *table, int id,
                            bool *ret_is_there);

/* Append the bytes of the table to *ret, and make the header that goes with them. */
int vel_image_encode(const struct vel_image_table *table, struct vel_buf *ret,
                     uint8_t ret_header[VEL_IMAGE_HEADER], struct vel_err *err);

/* What a header says of the place and the bytes of the table, checked against the size
 * of the file, so that a reader knows how much to read. Nothing else is trusted yet.
 * VEL_ECORRUPT, or VEL_EUNSUP for an image that a newer h5veloc wrote. */
int vel_image_peek(const uint8_t header[VEL_IMAGE_HEADER], uint64_t file_size,
                   uint64_t *ret_at, size_t *ret_bytes, struct vel_err *err);

/* The table from its bytes and the header; the caller ends it. */
int vel_image_decode(const uint8_t header[VEL_IMAGE_HEADER], const void *bytes,
                     size_t len, uint64_t file_size, struct vel_image_table *ret,
                     struct vel_err *err);

#endif
