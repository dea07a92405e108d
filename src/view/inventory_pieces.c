/* SPDX-License-Identifier: BSD-3-Clause */
/* An inventory as numbered pieces, each of which fits into a message `held`. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "view/inventory.h"

size_t vel_stock_pieces(size_t len)
{
    return len ? (len - 1) / VEL_STOCK_PIECE + 1 : 1;
}

const void *vel_stock_piece(const void *bytes, size_t len, size_t i, size_t *ret_len)
{
    size_t at = i * VEL_STOCK_PIECE, left = len - at;

    *ret_len = left < VEL_STOCK_PIECE ? left : VEL_STOCK_PIECE;
    return (const char *)bytes + at;
}

static int begin(struct vel_stock_parts *parts, size_t n, struct vel_err *err)
{
    if (n == 0 || n > VEL_STOCK_MOST / VEL_STOCK_PIECE)
        return vel_fail(err, VEL_ECORRUPT, "an inventory in %zu pieces", n);
    parts->bytes = calloc(n, sizeof *parts->bytes);
    parts->lens = calloc(n, sizeof *parts->lens);
    if (!parts->bytes || !parts->lens) {
        vel_stock_parts_fini(parts);
        return vel_out_of_memory(err, "an inventory");
    }
    parts->pieces = n;
    return 0;
}

int vel_stock_parts_add(struct vel_stock_parts *parts, size_t i, size_t n,
                        const void *bytes, size_t len, struct vel_err *err)
{
    int rc = parts->pieces ? 0 : begin(parts, n, err);

    if (rc < 0)
        return rc;
    if (n != parts->pieces || i >= n || len > VEL_STOCK_PIECE)
        return vel_fail(err, VEL_ECORRUPT,
                        "piece %zu of %zu of an inventory in %zu pieces", i, n,
                        parts->pieces);
    if (parts->bytes[i]) {
        if (len == parts->lens[i] && memcmp(bytes, parts->bytes[i], len) == 0)
            return 0;
        return vel_fail(err, VEL_ECORRUPT, "piece %zu of an inventory came twice", i);
    }
    parts->bytes[i] = malloc(len + 1);
    if (!parts->bytes[i])
        return vel_out_of_memory(err, "an inventory");
    if (len > 0)
        memcpy(parts->bytes[i], bytes, len);
    parts->lens[i] = len;
    parts->there++;
    return 0;
}

int vel_stock_parts_join(const struct vel_stock_parts *parts, struct vel_inventory *ret,
                         struct vel_err *err)
{
    struct vel_buf all;
    int rc;

    if (!vel_stock_parts_are_there(parts))
        return vel_fail(err, VEL_ESTATE, "%zu of %zu pieces of an inventory are there",
                        parts->there, parts->pieces);
    vel_buf_init(&all);
    for (size_t i = 0; i < parts->pieces; i++)
        vel_buf_append(&all, parts->bytes[i], parts->lens[i]);
    rc = vel_buf_status(&all, err);
    if (rc == 0)
        rc = vel_inventory_decode(vel_buf_text(&all), all.len, ret, err);
    vel_buf_fini(&all);
    return rc;
}

void vel_stock_parts_fini(struct vel_stock_parts *parts)
{
    for (size_t i = 0; i < parts->pieces; i++)
        free(parts->bytes[i]);
    free(parts->bytes);
    free(parts->lens);
    *parts = (struct vel_stock_parts){0};
}
