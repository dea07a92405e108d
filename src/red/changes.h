/* SPDX-License-Identifier: BSD-3-Clause */
/* changes - which blocks of all members' files differ from those of an older encoding
 * of the same layout. Where no block does, the difference is known to be zero: to every
 * member, without being told byte by byte. */
#ifndef VEL_RED_CHANGES_H
#define VEL_RED_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "red/layout.h"

enum { VEL_CHANGES_BLOCK = 65536, VEL_CHANGES_MOST = 1 << 17 };

struct vel_changes {
    size_t n;       /* members */
    uint64_t block; /* bytes: VEL_CHANGES_BLOCK, doubled until there are few enough */
    uint8_t *bits[VEL_SET_MAX]; /* of each member's lofi, a bit for each block */
};

/* All unchanged. vel_changes_fini() is due whatever comes of it. */
int vel_changes_init(struct vel_changes *changes, const struct vel_layout *layout,
                     struct vel_err *err);
void vel_changes_fini(struct vel_changes *changes);

/* Bytes of a member's bits. */
size_t vel_changes_bytes(const struct vel_changes *changes,
                         const struct vel_layout *layout, size_t member);

void vel_changes_mark(struct vel_changes *changes, size_t member, uint64_t at);

/* Is any of these bytes, of which there is one at least, in a block that differs? Those
 * behind the end of the files are not looked for. */
bool vel_changes_has(const struct vel_changes *changes, const struct vel_layout *layout,
                     size_t member, uint64_t at, uint64_t len);

#endif
