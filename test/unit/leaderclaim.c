/* SPDX-License-Identifier: BSD-3-Clause */
/* A node whose claims get their title and no begin, since its writes fail
 * (tap/leaderlab.h), keeps nobody else from being the chair. SEEDS=a-b runs other
 * seeds.
 */
#include "config.h"

#include <stdlib.h>

#include "tap/leaderlab.h"
#include "tap/seeds.h"
#include "tap/tap.h"

enum { NODES = 4, ALL = (1 << NODES) - 1 };

static bool has_chair(const struct lab *lab)
{
    for (int i = 0; i < lab->nleaders; i++)
        if (lab->leaders[i].is_alive && vel_leader_is_chair(lab->leaders[i].leader))
            return true;
    return false;
}

/* So many T until somebody is the chair. */
static uint64_t waits(uint64_t seed, uint64_t barren)
{
    struct lab *lab = malloc(sizeof *lab);
    uint64_t waited = 0;

    if (!lab)
        bail_out("no memory");
    lab_create(lab, seed, NODES, LAB_RIGHT);
    lab->barren = barren;
    lab_launch(lab, 0, ALL);
    while (waited < 20 && !has_chair(lab)) {
        lab_run(lab, lab->now + LAB_T);
        waited++;
    }
    lab_destroy(lab);
    free(lab);
    return waited;
}

static void campaign(uint64_t barren, uint64_t most)
{
    struct tap_seeds seeds = tap_seeds(40);
    uint64_t longest = 0;

    for (uint64_t seed = seeds.first; seed <= seeds.last; seed++) {
        uint64_t waited = waits(seed, barren);

        longest = waited > longest ? waited : longest;
    }
    ok(longest <= most,
       "of %d nodes %d cannot begin a term: there is a chair in %llu T", NODES,
       __builtin_popcountll(barren), (unsigned long long)longest);
}

int main(void)
{
    campaign(0, 1);
    campaign(1, 2);
    campaign(3, 4);
    return done_testing();
}
