/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <assert.h>

#include "base/crc.h"
#include "red/crcmap.h"

struct piece {
    uint64_t at;
    uint64_t end;
    uint32_t crc;
};

/* An executor reads a run per block of a set, and a few more of blocks that are shared
 * out; with more at a time there are only more pieces. */
enum { OPEN_MOST = 512 };

static struct piece *piece_at(const struct vel_crcmap *map, size_t i)
{
    return (struct piece *)map->pieces.items + i;
}

static uint64_t end_of(const struct vel_crcmap *map, size_t segment)
{
    return ((const uint64_t *)map->ends.items)[segment];
}

static uint64_t begin_of(const struct vel_crcmap *map, size_t segment)
{
    return segment == 0 ? 0 : end_of(map, segment - 1);
}

void vel_crcmap_init(struct vel_crcmap *map)
{
    vel_vec_init(&map->ends, sizeof(uint64_t));
    vel_vec_init(&map->pieces, sizeof(struct piece));
    vel_vec_init(&map->open, sizeof(size_t));
}

void vel_crcmap_fini(struct vel_crcmap *map)
{
    vel_vec_fini(&map->ends);
    vel_vec_fini(&map->pieces);
    vel_vec_fini(&map->open);
}

int vel_crcmap_segment(struct vel_crcmap *map, uint64_t len, struct vel_err *err)
{
    uint64_t end = (map->ends.n ? end_of(map, map->ends.n - 1) : 0) + len;

    return vel_vec_push(&map->ends, &end) ? 0
                                          : vel_out_of_memory(err, "keeping checksums");
}

/* the first segment that ends behind `at` */
static size_t segment_of(const struct vel_crcmap *map, uint64_t at)
{
    size_t low = 0, high = map->ends.n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (end_of(map, mid) <= at)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* The open piece that ends at `at`, moved on to `end`, or a new one. Joining the
 * checksum is the caller's. NULL: out of memory. */
static struct piece *extend(struct vel_crcmap *map, uint64_t at, uint64_t end,
                            bool is_first)
{
    size_t *open = map->open.items;

    for (size_t i = 0; !is_first && i < map->open.n; i++) {
        struct piece *p = piece_at(map, open[i]);

        if (p->end == at) {
            p->end = end;
            return p;
        }
    }
    struct piece fresh = {.at = at, .end = end};
    size_t index = map->pieces.n;
    struct piece *p = vel_vec_push(&map->pieces, &fresh);
    if (!p)
        return NULL;
    if (map->open.n == OPEN_MOST)
        vel_vec_remove(&map->open, 0);
    if (!vel_vec_push(&map->open, &index))
        return NULL;
    return p;
}

/* One piece inside one segment. */
static int take(struct vel_crcmap *map, uint64_t at, const void *bytes, uint64_t len,
                bool is_first, struct vel_err *err)
{
    struct piece *p = extend(map, at, at + len, is_first);

    if (!p)
        return vel_out_of_memory(err, "keeping checksums");
    p->crc = vel_crc32c(p->crc, bytes, len);
    return 0;
}

int vel_crcmap_bytes(struct vel_crcmap *map, uint64_t at, const void *bytes, size_t len,
                     struct vel_err *err)
{
    const uint8_t *next = bytes;

    for (size_t s = segment_of(map, at); len > 0; s++) {
        assert(s < map->ends.n);
        uint64_t n = end_of(map, s) - at;
        n = n < len ? n : len;
        if (n == 0)
            continue;
        int rc = take(map, at, next, n, at == begin_of(map, s), err);
        if (rc < 0)
            return rc;
        at += n;
        len -= n;
        next += n;
    }
    return 0;
}

int vel_crcmap_sum(struct vel_crcmap *map, size_t i, uint32_t crc, struct vel_err *err)
{
    struct piece piece = {.at = begin_of(map, i), .end = end_of(map, i), .crc = crc};

    if (piece.at == piece.end)
        return 0;
    return vel_vec_push(&map->pieces, &piece)
               ? 0
               : vel_out_of_memory(err, "keeping checksums");
}

uint64_t vel_crcmap_passed(const struct vel_crcmap *map)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < map->pieces.n; i++)
        bytes += piece_at(map, i)->end - piece_at(map, i)->at;
    return bytes;
}

void vel_crcmap_forget(struct vel_crcmap *map)
{
    map->pieces.n = 0;
    map->open.n = 0;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = ((const struct piece *)a)->at, y = ((const struct piece *)b)->at;

    return (x > y) - (x < y);
}

void vel_crcmap_close(struct vel_crcmap *map)
{
    vel_vec_sort(&map->pieces, compare);
    map->open.n = 0;
}

/* the first piece that begins at or behind `at` */
static size_t piece_of(const struct vel_crcmap *map, uint64_t at)
{
    size_t low = 0, high = map->pieces.n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (piece_at(map, mid)->at < at)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

bool vel_crcmap_gap(const struct vel_crcmap *map, size_t i, uint64_t *ret_at,
                    uint64_t *ret_len)
{
    uint64_t at = begin_of(map, i), end = end_of(map, i);

    for (size_t p = piece_of(map, at); at < end; p++) {
        bool is_inside = p < map->pieces.n && piece_at(map, p)->at < end;

        if (!is_inside || piece_at(map, p)->at > at) {
            *ret_at = at;
            *ret_len = (is_inside ? piece_at(map, p)->at : end) - at;
            return true;
        }
        at = piece_at(map, p)->end;
    }
    return false;
}

bool vel_crcmap_is_untouched(const struct vel_crcmap *map, size_t i)
{
    uint64_t at, len;

    return vel_crcmap_gap(map, i, &at, &len) && at == begin_of(map, i) &&
           at + len == end_of(map, i);
}

bool vel_crcmap_get(const struct vel_crcmap *map, size_t i, uint32_t *ret_crc)
{
    uint64_t at, len;
    uint32_t crc = 0;

    if (vel_crcmap_gap(map, i, &at, &len))
        return false;
    for (size_t p = piece_of(map, begin_of(map, i));
         p < map->pieces.n && piece_at(map, p)->at < end_of(map, i); p++)
        crc = vel_crc32c_join(crc, piece_at(map, p)->crc,
                              piece_at(map, p)->end - piece_at(map, p)->at);
    *ret_crc = crc;
    return true;
}
