/* SPDX-License-Identifier: BSD-3-Clause */
/* Who says what becomes of a dataset, and waits, is answered, whatever leaders do with
 * that dataset meanwhile (tap/leaderlab.h). SEEDS=a-b runs other seeds.
 */
#include "config.h"

#include <stdlib.h>

#include "tap/leaderlab.h"
#include "tap/seeds.h"
#include "tap/tap.h"

enum { NODES = 4, ALL = (1 << NODES) - 1, SAID = 40 };

/* Of any dataset, one that is just being flushed or removed among them; or the first
 * node's leader is lost, and another process takes the role. */
static void say_much(struct lab *lab, bool is_lost)
{
    for (int i = 0; i < SAID; i++) {
        int64_t id;

        lab_run(lab, lab->now + lab_chance(lab, 1, 150) * LAB_MS);
        id = lab->last_id - (int64_t)lab_chance(lab, 0, 3);
        if (id < 1)
            continue;
        if (is_lost && i == SAID / 2)
            lab_kill_leader(lab, 0, 0);
        else if (lab_chance(lab, 0, 9) == 0)
            lab->claimed |= LAB_BIT(id);
        else if (!is_lost && lab_chance(lab, 0, 9) == 0)
            lab->datasets[id].is_dropped = true;
        lab_mark(lab, 0, (int)lab_chance(lab, 1, NODES - 1), id, true);
    }
}

static bool is_answered(uint64_t seed, bool is_lost)
{
    static int noted;
    struct lab *lab = malloc(sizeof *lab);
    int left;

    if (!lab)
        bail_out("no memory");
    lab_create(lab, seed, NODES, LAB_RIGHT);
    lab_launch(lab, 0, ALL);
    lab_run(lab, lab->now + LAB_T / 2);
    lab->pause = LAB_T;
    lab_program(lab, 0, LAB_DATASETS, VEL_OWED_ENCODE | VEL_OWED_FLUSH);
    say_much(lab, is_lost);
    lab_run(lab, lab->now + 10 * LAB_T);
    left = lab->marks_left;
    if (left && !noted++) /* the first is enough */
        note("seed %llu: %d wait for ever; %s", (unsigned long long)seed, left,
             lab->wrong);
    lab_destroy(lab);
    free(lab);
    return left == 0;
}

/* Of so many datasets it is said on a node that has not the chair, and that is lost. */
static bool is_done(uint64_t seed)
{
    struct lab *lab = malloc(sizeof *lab);
    uint64_t said = 0;
    int chair, node;

    if (!lab)
        bail_out("no memory");
    lab_create(lab, seed, NODES, LAB_RIGHT);
    lab_launch(lab, 0, ALL);
    lab_run(lab, lab->now + LAB_T);
    chair = lab->launches[0].chairs[1] - 1;
    node = (chair + 1) % NODES;
    for (int64_t id = 1; id <= SAID; id++) {
        if (id == SAID / 2)
            lab_kill_leader(lab, chair, 0);
        lab_mark(lab, 0, node, id, false);
        said |= LAB_BIT(id);
        lab_run(lab, lab->now + lab_chance(lab, 0, 50) * LAB_MS);
    }
    lab_run(lab, lab->now + 20 * LAB_T);
    said &= ~lab->marked;
    lab_destroy(lab);
    free(lab);
    return said == 0;
}

static void campaign(const char *what, bool is_lost)
{
    struct tap_seeds seeds = tap_seeds(100);
    int answered = 0, n = 0;

    for (uint64_t seed = seeds.first; seed <= seeds.last; seed++, n++)
        answered += is_answered(seed, is_lost);
    ok(answered == n, "%s: all are answered, seeds %llu to %llu", what,
       (unsigned long long)seeds.first, (unsigned long long)seeds.last);
}

static void none_is_lost(void)
{
    struct tap_seeds seeds = tap_seeds(100);
    int done = 0, n = 0;

    for (uint64_t seed = seeds.first; seed <= seeds.last; seed++, n++)
        done += is_done(seed);
    is_int(done, n, "what nobody waits for is done, though the chair is lost");
}

int main(void)
{
    campaign("what becomes of datasets is told", false);
    campaign("and a leader is lost", true);
    none_is_lost();
    return done_testing();
}
