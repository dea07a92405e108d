/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of the connector in the leaders' world (tap/leaderlab.h): names that are
 * written again and again, of which not all ranks have written the last version when
 * the program ends. SEEDS=a-b runs other seeds. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "tap/leaderlab.h"
#include "tap/seeds.h"
#include "tap/tap.h"

enum { NODES = 4, WRITERS = 2, STEPS = 5 };

static struct lab *lab; /* one at a time: it is large */

static bool by_half(int rank, int step, int nth, char *ret, size_t size)
{
    snprintf(ret, size, "s/part-%d", rank);
    return nth == 0 && (step + 1 < STEPS || rank < WRITERS);
}

static const struct lab_script script = {STEPS, 1, by_half, 300 * LAB_MS, LAB_T, true};

static void write_all(uint64_t seed)
{
    lab->conf.ranks = seed % 2 ? NODES : 0;
    lab_launch(lab, 0, LAB_BIT(NODES) - 1);
    lab_write(lab, 0, &script);
}

static void disturb(void)
{
    for (int i = 0; i < 4; i++) {
        int node = (int)lab_chance(lab, 0, NODES - 1);

        lab_run(lab, lab->now + lab_chance(lab, 1, 1500) * LAB_MS);
        if (lab_chance(lab, 0, 1))
            lab_kill_leader(lab, node, 0);
        else
            lab_freeze(lab, node, 0, lab_chance(lab, 100, 2500) * LAB_MS);
    }
}

/* --- scenarios --- */

/* However its ranks end, a checkpoint is what all had. */
static void promised(uint64_t seed)
{
    lab->is_promise = true;
    lab->failing = seed % 3 == 0 ? LAB_BIT(seed % NODES) : 0;
    write_all(seed);
    if (seed % 4 == 1)
        disturb();
    lab_run(lab, lab->now + 200 * LAB_T);
    lab_of_newest(lab, "s *{rank}");
}

/* What is none is as the program has left it, */
static void left(uint64_t seed)
{
    write_all(seed);
    lab_run(lab, lab->now + 100 * LAB_T);
    for (size_t i = 0; i < lab->names.n; i++) {
        const struct lab_name *name = vel_vec_at(&lab->names, i);

        if (name->stamp < name->closed)
            lab_is_wrong(lab, "%s was closed and is not at its path", name->name);
    }
}

/* if those who have not written the last version left in good order, */
static void failed(uint64_t seed)
{
    lab->failing = LAB_BIT(WRITERS + seed % 2);
    write_all(seed);
    lab_run(lab, lab->now + 100 * LAB_T);
    lab_of_newest(lab, "s *{rank}");
}

/* whatever becomes of those who have. */
static void failed_later(uint64_t seed)
{
    lab->failing = LAB_BIT(seed % WRITERS);
    left(seed);
}

/* --- campaigns --- */

typedef void scenario(uint64_t seed);

static bool run(scenario *what, const char *text, uint64_t seed)
{
    lab = malloc(sizeof *lab);
    if (!lab)
        bail_out("no memory");
    lab_create(lab, seed, NODES, LAB_RIGHT);
    what(seed);
    bool is_right = !lab->wrong[0];
    if (!is_right)
        note("%s, seed %llu: %s", text, (unsigned long long)seed, lab->wrong);
    lab_destroy(lab);
    free(lab);
    return is_right;
}

static void campaign(scenario *what, const char *text, struct tap_seeds seeds)
{
    unsigned wrong = 0;

    for (uint64_t seed = seeds.first; seed <= seeds.last; seed++)
        wrong += !run(what, text, seed);
    is_int(wrong, 0, "%s, seeds %llu to %llu", text, (unsigned long long)seeds.first,
           (unsigned long long)seeds.last);
}

int main(void)
{
    struct tap_seeds seeds = tap_seeds(40);

    campaign(promised, "of a checkpoint the version stays that all have written",
             seeds);
    campaign(left, "an output is as the program has left it", seeds);
    campaign(failed, "it is not, if a rank fails that has not written it", seeds);
    campaign(failed_later, "it is, if one fails that has", seeds);
    return done_testing();
}
