/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tap/seeds.h"
#include "tap/tap.h"

struct tap_seeds tap_seeds(uint64_t count)
{
    const char *text = getenv("SEEDS");
    struct tap_seeds seeds = {.first = 1, .last = count};

    if (text && text[0]) {
        char more;
        int n =
            sscanf(text, "%" SCNu64 "-%" SCNu64 "%c", &seeds.first, &seeds.last, &more);
        if (n == 1)
            seeds.last = seeds.first;
        if (n < 1 || n > 2 || seeds.first > seeds.last)
            bail_out("SEEDS is '%s', which is neither a-b nor a", text);
    }
    note("SEEDS=%" PRIu64 "-%" PRIu64, seeds.first, seeds.last);
    return seeds;
}
