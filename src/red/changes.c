/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>

#include "red/changes.h"

static uint64_t count_blocks(const struct vel_changes *changes,
                             const struct vel_layout *layout, size_t member)
{
    uint64_t size = layout->lofi_size[member];

    return size / changes->block + (size % changes->block != 0);
}

size_t vel_changes_bytes(const struct vel_changes *changes,
                         const struct vel_layout *layout, size_t member)
{
    return (size_t)(count_blocks(changes, layout, member) + 7) / 8;
}

int vel_changes_init(struct vel_changes *changes, const struct vel_layout *layout,
                     struct vel_err *err)
{
    *changes = (struct vel_changes){.n = layout->n, .block = VEL_CHANGES_BLOCK};
    for (size_t i = 0; i < layout->n; i++)
        while (count_blocks(changes, layout, i) > VEL_CHANGES_MOST)
            changes->block *= 2;
    for (size_t i = 0; i < layout->n; i++) {
        changes->bits[i] = calloc(vel_changes_bytes(changes, layout, i) + 1, 1);
        if (!changes->bits[i])
            return vel_out_of_memory(err, "comparing with an older encoding");
    }
    return 0;
}

void vel_changes_fini(struct vel_changes *changes)
{
    for (size_t i = 0; i < changes->n; i++)
        free(changes->bits[i]);
    *changes = (struct vel_changes){0};
}

void vel_changes_mark(struct vel_changes *changes, size_t member, uint64_t at)
{
    uint64_t block = at / changes->block;

    changes->bits[member][block / 8] |= (uint8_t)(1 << block % 8);
}

bool vel_changes_has(const struct vel_changes *changes, const struct vel_layout *layout,
                     size_t member, uint64_t at, uint64_t len)
{
    uint64_t size = layout->lofi_size[member], end = at + len < size ? at + len : size;

    for (uint64_t block = at / changes->block; block * changes->block < end; block++)
        if (changes->bits[member][block / 8] >> block % 8 & 1)
            return true;
    return false;
}
