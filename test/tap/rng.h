/* SPDX-License-Identifier: BSD-3-Clause */
/* rng - seeded random numbers (splitmix64) for tests and campaigns. Not for
 * secrets. */
#ifndef TEST_TAP_RNG_H
#define TEST_TAP_RNG_H

#include <stddef.h>
#include <stdint.h>

struct vel_rng {
    uint64_t state;
};

void vel_rng_init(struct vel_rng *rng, uint64_t seed);
uint64_t vel_rng_next(struct vel_rng *rng);

/* Evenly one of 0 .. bound-1; bound > 0. */
uint64_t vel_rng_below(struct vel_rng *rng, uint64_t bound);
void vel_rng_fill(struct vel_rng *rng, void *bytes, size_t len);

#endif
