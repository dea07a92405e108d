/* SPDX-License-Identifier: BSD-3-Clause */
/* MODE=SYNC in the leaders' world (tap/leaderlab.h): the close that makes a dataset
 * whole waits for it, no other does, whatever befalls them. SEEDS=a-b runs other seeds.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap/leaderlab.h"
#include "tap/seeds.h"
#include "tap/tap.h"

static struct lab *lab; /* one at a time: it is large */

static uint64_t all(int n)
{
    return LAB_BIT(n) - 1;
}

static bool by_rule(int rank, int step, int nth, char *ret, size_t size)
{
    snprintf(ret, size, "r/%d/part-%d", step, rank);
    return nth == 0;
}

static bool by_number(int rank, int step, int nth, char *ret, size_t size)
{
    snprintf(ret, size, "i/ck.%d/part-%04d", 10 * step, rank + 3);
    return nth == 0;
}

/* One file by rank 0, which is a dataset. */
static bool alone(int rank, int step, int nth, char *ret, size_t size)
{
    snprintf(ret, size, "t/log-%d", step);
    return rank == 0 && nth == 0;
}

static const struct lab_script rule_script = {5,     1,    by_rule, 300 * LAB_MS,
                                              LAB_T, false},
                               number_script = {5,     1,    by_number, 300 * LAB_MS,
                                                LAB_T, false},
                               alone_script = {3, 1, alone, 300 * LAB_MS, LAB_T, false};

static void begin(uint64_t nodes, const struct lab_script *script)
{
    lab->conf.is_sync = true;
    lab->conf.ranks = lab->nnodes;
    lab_launch(lab, 0, nodes);
    lab_write(lab, 0, script);
}

/* What was closed is at its path. */
static void end_well(uint64_t limits)
{
    lab_run(lab, lab->now + limits * LAB_T);
    for (size_t i = 0; i < lab->names.n; i++) {
        const struct lab_name *name = vel_vec_at(&lab->names, i);

        if (name->closed > 0 && name->stamp < name->closed)
            lab_is_wrong(lab, "%s was closed and is not at its path", name->name);
    }
}

static int count(bool is_awaited)
{
    int n = 0;

    for (int64_t id = 1; id < LAB_DATASETS; id++)
        n += lab->datasets[id].is_sealed &&
             lab->datasets[id].verdict == VEL_VERDICT_SEALED &&
             (!is_awaited || lab->datasets[id].is_awaited);
    return n;
}

static void all_awaited(int datasets)
{
    if (count(false) != datasets || count(true) != datasets || lab->unsealed > 0)
        lab_is_wrong(lab, "%d of %d datasets were waited for, and %d closes in vain",
                     count(true), count(false), lab->unsealed);
}

/* --- scenarios --- */

static void calm(uint64_t seed)
{
    (void)seed;
    begin(all(lab->nnodes), &rule_script);
    end_well(100);
    all_awaited(rule_script.steps);
}

static void by_itself(uint64_t seed)
{
    (void)seed;
    begin(all(lab->nnodes), &alone_script);
    end_well(100);
    all_awaited(alone_script.steps);
}

/* Until the ranks are known in the names files are live. */
static void numbered(uint64_t seed)
{
    (void)seed;
    begin(all(lab->nnodes), &number_script);
    end_well(200);
    if (count(true) == 0 || count(true) != count(false))
        lab_is_wrong(lab, "%d of %d datasets were waited for", count(true),
                     count(false));
}

/* Half of the ranks are all through before the others come. */
static void in_turn(uint64_t seed)
{
    uint64_t first = all(lab->nnodes / 2);

    (void)seed;
    lab->conf.seal_after = 1000 * LAB_T; /* by quiet what there is were whole */
    begin(first, &rule_script);
    lab_run(lab, lab->now + 5 * rule_script.steps * LAB_T);
    for (size_t i = 0; i < lab->processes.n; i++)
        if (((struct lab_process *)vel_vec_at(&lab->processes, i))->step <
            rule_script.steps)
            lab_is_wrong(lab, "a close waits for ranks that have not come");
    lab_launch(lab, 0, all(lab->nnodes) & ~first);
    lab_write(lab, 0, &rule_script);
    end_well(150);
}

/* Others take the role at once, the chair's too, and hear again what was closed. */
static void replaced(uint64_t seed)
{
    const struct lab_script script = {5, 1, by_rule, 300 * LAB_MS, LAB_T, true};

    (void)seed;
    begin(all(lab->nnodes), &script);
    for (int i = 0; i < 6; i++) {
        lab_run(lab, lab->now + lab_chance(lab, 500, 2500) * LAB_MS);
        lab_kill_leader(lab, (int)lab_chance(lab, 0, (uint64_t)lab->nnodes - 1), 0);
    }
    end_well(200);
    all_awaited(rule_script.steps);
}

static void befall(int times)
{
    for (int i = 0; i < times; i++) {
        int node = (int)lab_chance(lab, 0, (uint64_t)lab->nnodes - 1);

        lab_run(lab, lab->now + lab_chance(lab, 1, 1500) * LAB_MS);
        if (lab_chance(lab, 0, 1))
            lab_kill_leader(lab, node, 0);
        else
            lab_freeze(lab, node, 0, lab_chance(lab, 100, 2500) * LAB_MS);
    }
}

/* Nobody waits for ever, and nobody is told that it was in vain. */
static void troubled(uint64_t seed)
{
    static const struct lab_script *const scripts[] = {&rule_script, &number_script,
                                                       &alone_script};

    begin(all(lab->nnodes), scripts[seed % 3]);
    befall(6);
    end_well(400);
    if (lab->refusals > 0 || count(true) == 0)
        lab_is_wrong(lab, "%d closes were refused, %d datasets waited for",
                     lab->refusals, count(true));
}

static void vanished(uint64_t seed)
{
    int rank = (int)lab_chance(lab, 1, (uint64_t)lab->nnodes - 1);

    (void)seed;
    begin(all(lab->nnodes), &rule_script);
    lab_run(lab, lab->now + lab_chance(lab, 500, 4000) * LAB_MS);
    lab_kill_process(lab, rank, 0);
    end_well(400);
}

static void campaign(void (*what)(uint64_t), const char *text, int nodes,
                     struct tap_seeds seeds)
{
    unsigned wrong = 0;

    for (uint64_t seed = seeds.first; seed <= seeds.last; seed++) {
        lab = malloc(sizeof *lab);
        if (!lab)
            bail_out("no memory");
        lab_create(lab, seed, nodes, LAB_RIGHT);
        what(seed);
        if (lab->wrong[0])
            note("%s, seed %llu: %s", text, (unsigned long long)seed, lab->wrong);
        wrong += lab->wrong[0] != '\0';
        lab_destroy(lab);
        free(lab);
    }
    is_int(wrong, 0, "%s: nothing is wrong with %d nodes, seeds %llu to %llu", text,
           nodes, (unsigned long long)seeds.first, (unsigned long long)seeds.last);
}

int main(void)
{
    struct tap_seeds seeds = tap_seeds(40);
    struct tap_seeds few = {seeds.first, seeds.first + (seeds.last - seeds.first) / 8};

    campaign(calm, "the last close waits until it is encoded", 4, seeds);
    campaign(calm, "the last close waits, of one node", 1, few);
    campaign(calm, "the last close waits, in a tree", 24, few);
    campaign(by_itself, "so does that of a file by itself", 4, seeds);
    campaign(numbered, "and of files without a rule", 4, seeds);
    campaign(in_turn, "half of the ranks write before the others", 4, seeds);
    campaign(in_turn, "half of the ranks write before the others, in a tree", 24, few);
    campaign(replaced, "leaders die, and others go on", 4, seeds);
    campaign(troubled, "leaders die, freeze and thaw", 5, seeds);
    campaign(vanished, "a rank ends without a word", 4, seeds);
    return done_testing();
}
