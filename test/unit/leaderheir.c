/* SPDX-License-Identifier: BSD-3-Clause */
/* The chair is lost with its node while what the program has protected itself is on its
 * way to the prefix: the next one lets the lost part be made again, and nobody waits
 * until nothing has moved for FLUSH_STALL (tap/leaderlab.h). SEEDS=a-b runs other
 * seeds.
 */
#include "config.h"

#include <stdlib.h>

#include "meta/entry.h"
#include "tap/leaderlab.h"
#include "tap/seeds.h"
#include "tap/tap.h"

enum { NODES = 4, ALL = (1 << NODES) - 1, MOST = 100 };

static int chair_of(const struct lab *lab)
{
    for (int i = 0; i < lab->nleaders; i++)
        if (lab->leaders[i].is_alive && vel_leader_is_chair(lab->leaders[i].leader))
            return lab->leaders[i].node;
    bail_out("there is no chair");
}

/* So many T from the loss until all of it is on the prefix. */
static uint64_t waits(uint64_t seed)
{
    struct lab *lab = malloc(sizeof *lab);
    uint64_t waited = 0;

    if (!lab)
        bail_out("no memory");
    lab_create(lab, seed, NODES, LAB_RIGHT);
    lab->encodes = true;
    lab_launch(lab, 0, ALL);
    lab_run(lab, lab->now + LAB_T / 2);
    lab_program(lab, 0, 1, VEL_OWED_FLUSH);
    while (!lab->datasets[1].is_complete && lab_run(lab, lab->now + LAB_MS))
        ;
    lab_run(lab, lab->now + lab_chance(lab, 1, 500) * LAB_MS);
    lab_kill_node(lab, chair_of(lab));
    while (waited < MOST && lab_entry(lab, 1)->place != VEL_ON_PREFIX) {
        lab_run(lab, lab->now + LAB_T);
        waited++;
    }
    if (lab->wrong[0])
        note("seed %llu: %s", (unsigned long long)seed, lab->wrong);
    waited = lab->wrong[0] ? MOST : waited;
    lab_destroy(lab);
    free(lab);
    return waited;
}

int main(void)
{
    struct tap_seeds seeds = tap_seeds(60);
    uint64_t longest = 0;

    for (uint64_t seed = seeds.first; seed <= seeds.last; seed++) {
        uint64_t waited = waits(seed);

        longest = waited > longest ? waited : longest;
    }
    ok(longest < MOST / 4,
       "what the lost chair's node had is on the prefix in %llu T, seeds %llu to %llu",
       (unsigned long long)longest, (unsigned long long)seeds.first,
       (unsigned long long)seeds.last);
    return done_testing();
}
