/* SPDX-License-Identifier: BSD-3-Clause */
/* seeds - which slice of a campaign runs: SEEDS=a-b or SEEDS=a in the environment. */
#ifndef TEST_TAP_SEEDS_H
#define TEST_TAP_SEEDS_H

#include <stdint.h>

struct tap_seeds {
    uint64_t first, last;
};

/* The environment's, else 1 to `count`; printed in a note. */
struct tap_seeds tap_seeds(uint64_t count);

#endif
