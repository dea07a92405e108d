/* SPDX-License-Identifier: BSD-3-Clause */
/* Leaders take over while the records of datasets cannot be read (tap/leaderlab.h):
 * what was sealed is done when they can. Two sets, so that nobody but the chair has
 * heard of all. SEEDS=a-b runs other seeds. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "tap/leaderlab.h"
#include "tap/seeds.h"
#include "tap/tap.h"

enum { NODES = 2 * LAB_SET, ALL = (1 << NODES) - 1 };

static bool by_rule(int rank, int step, int nth, char *ret, size_t size)
{
    snprintf(ret, size, "r/%d/part-%d", step, rank);
    return nth == 0;
}

static const struct lab_script script = {5, 1, by_rule, 300 * LAB_MS, LAB_T, false};

static int chair_of(const struct lab *lab)
{
    int node = -1;

    for (int i = 1; i < LAB_TERMS && lab->launches[0].chairs[i]; i++)
        node = lab->launches[0].chairs[i] - 1;
    return node;
}

/* So often the chair, or another, is replaced; the last of them cannot read for long.
 */
static void take_over(struct lab *lab, int times)
{
    for (int i = 0; i < times; i++) {
        int node = chair_of(lab);

        lab_run(lab, lab->now + lab_chance(lab, 1, 2500) * LAB_MS);
        if (node < 0 || lab_chance(lab, 0, 3) == 0)
            node = (int)lab_chance(lab, 0, NODES - 1);
        lab->unread_until = lab->now + lab_chance(lab, 1, 3000) * LAB_MS;
        lab_kill_leader(lab, node, 0);
    }
}

/* But of what nobody can read. */
static void is_done(struct lab *lab)
{
    for (int i = 0; i < lab->nleaders; i++)
        if (lab->leaders[i].is_alive)
            lab_is_wrong(lab, "the leader of node %d does not leave",
                         lab->leaders[i].node);
    for (int id = 1; id < LAB_DATASETS; id++) {
        const struct lab_dataset *dataset = &lab->datasets[id];

        if (lab->damaged & LAB_BIT(id))
            continue;
        if ((dataset->is_keyed ? dataset->is_sealed : dataset->is_complete) &&
            !lab_is_over(lab, id))
            lab_is_wrong(lab, "dataset %d is not done", id);
    }
    for (size_t i = 0; i < lab->names.n; i++) {
        const struct lab_name *name = vel_vec_at(&lab->names, i);

        if (name->stamp < name->closed)
            lab_is_wrong(lab, "%s was closed and is not at its path", name->name);
    }
}

static void of_sessions(struct lab *lab)
{
    lab_launch(lab, 0, ALL);
    lab_run(lab, lab->now + LAB_T / 2);
    lab_program(lab, 0, 6, VEL_OWED_ENCODE | VEL_OWED_FLUSH);
    take_over(lab, 4);
    lab_run(lab, lab->now + 300 * LAB_T);
    is_done(lab);
}

static void of_files(struct lab *lab)
{
    lab->what = VEL_OWED_ENCODE | VEL_OWED_FLUSH;
    lab->conf.ranks = NODES;
    lab_launch(lab, 0, ALL);
    lab_run(lab, lab->now + LAB_T / 2);
    lab_write(lab, 0, &script);
    take_over(lab, 4);
    lab_run(lab, lab->now + 300 * LAB_T);
    is_done(lab);
}

/* The record of a seal is damaged, and whoever has it whole dies: it is for the next
 * launch, and nobody waits for it as long as for what can still be done. */
static void of_others(struct lab *lab)
{
    int node;

    lab->conf.stall = 1000 * LAB_T;
    lab_launch(lab, 0, ALL);
    lab_run(lab, lab->now + LAB_T / 2);
    lab_program(lab, 0, 6, VEL_OWED_ENCODE | VEL_OWED_FLUSH);
    lab_run(lab, lab->now + lab_chance(lab, 1, 3000) * LAB_MS);
    node = chair_of(lab);
    lab->damaged = LAB_BIT(lab_chance(lab, 1, 6));
    if (node >= 0)
        lab_kill_leader(lab, node, 0);
    lab_run(lab, lab->now + 300 * LAB_T);
    is_done(lab);
}

/* It is sealed, and cannot be told: a program does not wait for ever. */
static void of_the_blind(struct lab *lab)
{
    lab_launch(lab, 0, ALL);
    lab_run(lab, lab->now + LAB_T / 2);
    lab_program(lab, 0, 2, VEL_OWED_ENCODE | VEL_OWED_FLUSH);
    lab->blind_until = lab->now + 100 * LAB_T;
    lab_run(lab, lab->now + 50 * LAB_T);
    if (!lab->datasets[1].is_refused)
        lab_is_wrong(lab, "who settles waits for a prefix that does not answer");
    lab_run(lab, lab->now + 300 * LAB_T);
    is_done(lab);
}

static void campaign(void (*what)(struct lab *), const char *text,
                     struct tap_seeds seeds)
{
    unsigned wrong = 0;

    for (uint64_t seed = seeds.first; seed <= seeds.last; seed++) {
        struct lab *lab = malloc(sizeof *lab);

        if (!lab)
            bail_out("no memory");
        lab_create(lab, seed, NODES, LAB_RIGHT);
        what(lab);
        if (lab->wrong[0])
            note("%s, seed %llu: %s", text, (unsigned long long)seed, lab->wrong);
        wrong += lab->wrong[0] != '\0';
        lab_destroy(lab);
        free(lab);
    }
    is_int(wrong, 0, "%s are done by whoever can read of them, seeds %llu to %llu",
           text, (unsigned long long)seeds.first, (unsigned long long)seeds.last);
}

int main(void)
{
    struct tap_seeds seeds = tap_seeds(200);

    campaign(of_sessions, "checkpoints", seeds);
    campaign(of_files, "files", seeds);
    campaign(of_others, "others than a damaged one", seeds);
    campaign(of_the_blind, "checkpoints that cannot be told", seeds);
    return done_testing();
}
