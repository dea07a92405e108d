/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <assert.h>
#include <string.h>

#include "tap/rng.h"

void vel_rng_init(struct vel_rng *rng, uint64_t seed)
{
    rng->state = seed;
}

uint64_t vel_rng_next(struct vel_rng *rng)
{
    uint64_t z = rng->state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t vel_rng_below(struct vel_rng *rng, uint64_t bound)
{
    assert(bound > 0);
    uint64_t limit = UINT64_MAX - UINT64_MAX % bound; /* reject the uneven rest */
    uint64_t value;

    do
        value = vel_rng_next(rng);
    while (value >= limit);
    return value % bound;
}

void vel_rng_fill(struct vel_rng *rng, void *bytes, size_t len)
{
    unsigned char *at = bytes;

    while (len > 0) {
        uint64_t value = vel_rng_next(rng);
        size_t n = len < sizeof value ? len : sizeof value;

        memcpy(at, &value, n);
        at += n;
        len -= n;
    }
}
