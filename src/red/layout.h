/* SPDX-License-Identifier: BSD-3-Clause */
/* layout - where every byte of a redundancy set lies: scheme, members, sizes, blocks
 * (doc/format-parity.txt, 1). Pure arithmetic. */
#ifndef VEL_RED_LAYOUT_H
#define VEL_RED_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/scheme.h"

struct vel_layout {
    enum vel_scheme scheme;
    size_t n;            /* members */
    size_t m;            /* parity blocks or replicas; 0 for SINGLE */
    uint64_t block;      /* bytes of a block; 0 unless XOR or RS */
    uint64_t *lofi_size; /* n entries */
};

/* Check the numbers and compute the block; sizes are copied. VEL_EINVAL names what does
 * not fit. */
int vel_layout_init(struct vel_layout *layout, enum vel_scheme scheme, size_t n,
                    size_t m, const uint64_t *lofi_size, struct vel_err *err);
void vel_layout_fini(struct vel_layout *layout);

/* Bytes of a member's payload. */
uint64_t vel_layout_payload(const struct vel_layout *layout, size_t member);

/* Where in a member's payload the copy of the member `back` places before it begins;
 * back is from 1 to m. PARTNER only. */
uint64_t vel_layout_replica(const struct vel_layout *layout, size_t member,
                            size_t back);

#endif
