/* SPDX-License-Identifier: BSD-3-Clause */
/* crcmap - checksums of the segments of a byte string whose bytes pass by in any order
 * of runs.
 *
 * An executor reads a member's files block by block, several blocks at a time; the
 * checksum of each file is joined from the pieces, so that no byte is read twice.
 */
#ifndef VEL_RED_CRCMAP_H
#define VEL_RED_CRCMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

struct vel_crcmap {
    struct vel_vec ends;   /* of uint64_t: where each segment ends, ascending */
    struct vel_vec pieces; /* of struct piece, see crcmap.c */
    struct vel_vec
        open; /* of size_t: pieces that the next bytes are likely to continue */
};

void vel_crcmap_init(struct vel_crcmap *map);
void vel_crcmap_fini(struct vel_crcmap *map);

/* The next segment has `len` bytes; segments are added before any bytes. */
int vel_crcmap_segment(struct vel_crcmap *map, uint64_t len, struct vel_err *err);

/* These bytes stand at `at`. No byte is given twice. */
int vel_crcmap_bytes(struct vel_crcmap *map, uint64_t at, const void *bytes, size_t len,
                     struct vel_err *err);

/* All bytes of segment i have this checksum, says somebody; none of them has passed. */
int vel_crcmap_sum(struct vel_crcmap *map, size_t i, uint32_t crc, struct vel_err *err);

/* How many bytes have passed. */
uint64_t vel_crcmap_passed(const struct vel_crcmap *map);

/* Nothing has passed yet. */
void vel_crcmap_forget(struct vel_crcmap *map);

/* Bring the pieces in order; afterwards each segment can be asked. */
void vel_crcmap_close(struct vel_crcmap *map);

/* The checksum of segment i, when all its bytes have passed. */
bool vel_crcmap_get(const struct vel_crcmap *map, size_t i, uint32_t *ret_crc);

/* Has nothing of segment i passed? */
bool vel_crcmap_is_untouched(const struct vel_crcmap *map, size_t i);

/* The first bytes of segment i that have not passed: *ret_at and *ret_len; false when
 * none is missing. */
bool vel_crcmap_gap(const struct vel_crcmap *map, size_t i, uint64_t *ret_at,
                    uint64_t *ret_len);

#endif
