/* SPDX-License-Identifier: BSD-3-Clause */
/* What the view of a launch waits for (tap/leaderlab.h). SEEDS=a-b runs other seeds. */
#include "config.h"

#include <stdlib.h>

#include "tap/leaderlab.h"
#include "tap/seeds.h"
#include "tap/tap.h"

enum { ALL = 15, SOME = 10, HALF = 3 }; /* nodes, bits */

/* Two launches were killed, one after the other, and the next one begins on half of
 * their nodes: the others cannot say that they are over. Their beats stand. */
static bool has_view_soon(struct lab *lab)
{
    lab->conf.view_limit = LAB_T / 4;
    lab_launch(lab, 0, ALL);
    lab_run(lab, lab->now + LAB_T / 3);
    lab_kill_processes(lab, 0, true);
    lab_launch(lab, 1, SOME);
    lab_run(lab, lab->now + lab_chance(lab, 100, 400) * LAB_MS);
    lab_kill_processes(lab, 1, true);
    lab_launch(lab, 2, HALF);
    lab_run(lab, lab->now + 3 * LAB_T / 2);
    return lab->launches[2].has_view;
}

int main(void)
{
    struct tap_seeds seeds = tap_seeds(60);
    unsigned late = 0;

    for (uint64_t seed = seeds.first; seed <= seeds.last; seed++) {
        struct lab *lab = malloc(sizeof *lab);

        if (!lab)
            bail_out("no memory");
        lab_create(lab, seed, 4, LAB_RIGHT);
        late += !has_view_soon(lab);
        lab_destroy(lab);
        free(lab);
    }
    is_int(
        late, 0,
        "after launches that were killed one after the other, nobody waits for nodes "
        "that do not come, seeds %llu to %llu",
        (unsigned long long)seeds.first, (unsigned long long)seeds.last);
    return done_testing();
}
