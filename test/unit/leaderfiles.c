/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of the connector in the leaders' world (tap/leaderlab.h): what becomes a
 * dataset, what is never lost, whatever befalls them. SEEDS=a-b runs other seeds. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap/leaderlab.h"
#include "tap/seeds.h"
#include "tap/tap.h"

#define ALL(n) ((n) == 64 ? UINT64_MAX : LAB_BIT(n) - 1)

static struct lab *lab; /* one at a time: it is large */

/* --- what ranks write --- */

static bool by_rule(int rank, int step, int nth, char *ret, size_t size)
{
    snprintf(ret, size, "r/%d/part-%d", step, rank);
    return nth == 0;
}

static bool without_step(int rank, int step, int nth, char *ret, size_t size)
{
    (void)step;
    snprintf(ret, size, "s/part-%d", rank);
    return nth == 0;
}

/* Every fourth rank writes nothing. */
static bool some(int rank, int step, int nth, char *ret, size_t size)
{
    snprintf(ret, size, "r/%d/part-%d", step, rank);
    return nth == 0 && rank % 4 != 3;
}

static bool two_each(int rank, int step, int nth, char *ret, size_t size)
{
    snprintf(ret, size, "r/%d/%s-%d", step, nth ? "field" : "part", rank);
    return true;
}

static bool by_number(int rank, int step, int nth, char *ret, size_t size)
{
    snprintf(ret, size, "i/ck.%d/part-%04d", 10 * step, rank + 3);
    return nth == 0;
}

/* A file is a dataset: no number in their names is rank + constant. */
static bool by_none(int rank, int step, int nth, char *ret, size_t size)
{
    snprintf(ret, size, "t/log-%d-%d", step, 7 * rank * rank);
    return nth == 0;
}

/* One file, by rank 0, on the prefix when it is closed; and one of no dataset. */
static bool alone(int rank, int step, int nth, char *ret, size_t size)
{
    snprintf(ret, size, "%c/log-%d", nth ? 'x' : 't', step);
    return rank == 0;
}

static const struct lab_script rule_script = {5,     1,    by_rule, 300 * LAB_MS,
                                              LAB_T, false},
                               plain_script = {5,     1,    without_step, 300 * LAB_MS,
                                               LAB_T, false},
                               some_script = {4, 1, some, 300 * LAB_MS, LAB_T, false},
                               two_script = {3, 2, two_each, 300 * LAB_MS, LAB_T, true},
                               number_script = {5,     1,    by_number, 300 * LAB_MS,
                                                LAB_T, false},
                               none_script = {3,     1,    by_none, 300 * LAB_MS,
                                              LAB_T, false},
                               alone_script = {3, 2, alone, 300 * LAB_MS, LAB_T, false};

/* --- what holds in the end --- */

/* What was closed, and not removed, is at its path; whoever has written it last. */
static void all_published(void)
{
    for (size_t i = 0; i < lab->names.n; i++) {
        const struct lab_name *name = vel_vec_at(&lab->names, i);

        if (name->closed > name->removed && name->stamp < name->closed)
            lab_is_wrong(lab, "%s was closed (%lld) and is not at its path (%lld)",
                         name->name, (long long)name->closed, (long long)name->stamp);
    }
}

static int64_t ranks_in(int64_t id)
{
    int64_t n = 0;

    for (int rank = 0; rank < lab->nnodes; rank++)
        n += lab_is_taken(lab, id, rank);
    return n;
}

/* What counts as a checkpoint has the files of all who write. */
static void all_whole(int64_t writers, const char *template)
{
    for (int64_t id = 1; id < LAB_DATASETS; id++) {
        const struct lab_dataset *dataset = &lab->datasets[id];

        if (dataset->is_keyed && dataset->is_sealed &&
            dataset->verdict == VEL_VERDICT_SEALED &&
            strcmp(dataset->key.template, template) == 0 && ranks_in(id) < writers)
            lab_is_wrong(
                lab, "dataset %lld (step %s) counts with files of %lld ranks of %lld",
                (long long)id, dataset->key.step, (long long)ranks_in(id),
                (long long)writers);
    }
}

static int64_t sealed(const char *template, enum vel_verdict verdict)
{
    int64_t n = 0;

    for (int64_t id = 1; id < LAB_DATASETS; id++)
        n += lab->datasets[id].is_keyed && lab->datasets[id].is_sealed &&
             lab->datasets[id].verdict == verdict &&
             strcmp(lab->datasets[id].key.template, template) == 0;
    return n;
}

static void is_count(int64_t is, int64_t wanted, const char *what)
{
    if (is != wanted)
        lab_is_wrong(lab, "%s: %lld, not %lld", what, (long long)is, (long long)wanted);
}

/* Whoever was frozen may have missed that it is over. */
static void nothing_left(int launch, bool was_frozen)
{
    for (int node = 0; node < lab->nnodes; node++) {
        const struct vel_vec *files = &lab->nodes[node].files;

        for (size_t i = 0; i < files->n; i++) {
            const struct lab_file *file = vel_vec_at(files, i);
            if (file->launch == launch && file->order > 0)
                lab_is_wrong(lab, "%s (step %s, %lld) is still in no dataset",
                             file->name, file->key.step,
                             (long long)file->key.generation);
        }
        for (int id = 1; id < LAB_DATASETS; id++)
            if (lab->nodes[node].caches[id].owed &&
                !(was_frozen && lab_is_over(lab, id)))
                lab_is_wrong(lab, "node %d still owes for dataset %d", node, id);
    }
    for (int i = 0; i < lab->nleaders; i++)
        if (lab->leaders[i].is_alive && lab->leaders[i].launch == launch)
            lab_is_wrong(lab, "the leader of node %d does not leave",
                         lab->leaders[i].node);
}

/* --- scenarios --- */

static void write_all(const struct lab_script *script, bool knows_ranks)
{
    lab->conf.ranks = knows_ranks ? lab->nnodes : 0;
    lab_launch(lab, 0, ALL(lab->nnodes));
    lab_write(lab, 0, script);
}

static void end_well(uint64_t limits, bool was_frozen)
{
    lab_run(lab, lab->now + limits * LAB_T);
    all_published();
    nothing_left(0, was_frozen);
}

static void calm(uint64_t seed)
{
    write_all(&rule_script, seed % 2);
    end_well(100, false);
    lab_nobody_awaited(lab);
    all_whole(lab->nnodes, "r {step}/*{rank}");
    is_count(sealed("r {step}/*{rank}", VEL_VERDICT_SEALED), 5, "checkpoints");
}

/* Half of the ranks come later: how many there will be is known. */
static void staggered(uint64_t seed)
{
    (void)seed;
    lab->conf.ranks = lab->nnodes;
    lab_launch(lab, 0, ALL(lab->nnodes / 2));
    lab_write(lab, 0, &rule_script);
    lab_run(lab, lab->now + 5 * LAB_T / 2);
    lab_launch(lab, 0, ALL(lab->nnodes) & ~ALL(lab->nnodes / 2));
    lab_write(lab, 0, &rule_script);
    end_well(150, false);
    all_whole(lab->nnodes, "r {step}/*{rank}");
}

static void again(uint64_t seed)
{
    write_all(&plain_script, seed % 2);
    end_well(100, false);
    all_whole(lab->nnodes, "s *{rank}");
    is_count(sealed("s *{rank}", VEL_VERDICT_PARTIAL), 0, "partial ones");
}

static void idle(uint64_t seed)
{
    write_all(&some_script, seed % 2);
    end_well(150, false);
    all_whole(lab->nnodes - lab->nnodes / 4, "r {step}/*{rank}");
    is_count(sealed("r {step}/*{rank}", VEL_VERDICT_SEALED), 4, "checkpoints");
}

/* The next launch knows from the view who writes, and waits for nobody else. */
static void relaunched(uint64_t seed)
{
    write_all(&some_script, seed % 2);
    end_well(60, false);
    lab_launch(lab, 1, ALL(lab->nnodes));
    lab_run(lab, lab->now + 2 * LAB_T);
    lab_write(lab, 1, &some_script);
    lab_run(lab, lab->now + 3 * LAB_T);
    if (sealed("r {step}/*{rank}", VEL_VERDICT_SEALED) < 5)
        lab_is_wrong(lab, "the first dataset waits for ranks that write nothing");
    lab_run(lab, lab->now + 100 * LAB_T);
    all_published();
    nothing_left(1, false);
    all_whole(lab->nnodes - lab->nnodes / 4, "r {step}/*{rank}");
    is_count(sealed("r {step}/*{rank}", VEL_VERDICT_SEALED), 8, "checkpoints");
}

/* The second file of the first step is late: it makes a dataset of its own, with what
 * is there already; from then on both are waited for. */
static void two(uint64_t seed)
{
    write_all(&two_script, seed % 2);
    end_well(150, false);
    all_whole(lab->nnodes, "r {step}/*{rank}");
    for (int64_t id = LAB_DATASETS - 1; id > 0; id--)
        if (lab->datasets[id].is_sealed) {
            is_count((int64_t)lab->datasets[id].files.n, 2 * lab->nnodes,
                     "files in the newest");
            break;
        }
    is_count(sealed("r {step}/*{rank}", VEL_VERDICT_PARTIAL), 0, "partial ones");
}

/* Rank + 3 in the names, and no rule: from the second or third step on they are found.
 */
static void numbered(uint64_t seed)
{
    write_all(&number_script, seed % 2);
    end_well(200, false);
    if (sealed("i/ck.{step}/part-{rank}", VEL_VERDICT_SEALED) < 1)
        lab_is_wrong(lab, "the ranks in the names are not found");
    for (int64_t id = 1; id < LAB_DATASETS; id++)
        if (lab->datasets[id].is_keyed && strcmp(lab->datasets[id].key.step, "0") == 0)
            lab_is_wrong(lab, "some of the first step are behind, others are not");
}

static void by_itself(uint64_t seed)
{
    write_all(&alone_script, seed % 2);
    end_well(100, false);
    is_count(sealed("t/log-1", VEL_VERDICT_SEALED), 1, "datasets of a file");
}

/* Files of two steps before are unlinked. */
static void keeps_two(uint64_t seed)
{
    lab->removes = 2;
    write_all(&rule_script, seed % 2);
    end_well(100, false);
    all_whole(lab->nnodes, "r {step}/*{rank}");
}

static void befall(int times, bool fails)
{
    lab->errors = fails ? 3 : 0;
    for (int i = 0; i < times; i++) {
        int node = (int)lab_chance(lab, 0, (uint64_t)lab->nnodes - 1);
        lab_run(lab, lab->now + lab_chance(lab, 1, 1500) * LAB_MS);
        if (lab_chance(lab, 0, 1))
            lab_kill_leader(lab, node, 0);
        else
            lab_freeze(lab, node, 0, lab_chance(lab, 100, 2500) * LAB_MS);
    }
    lab->errors = 0;
}

static void troubled(uint64_t seed)
{
    static const struct lab_script *const scripts[] = {
        &rule_script, &plain_script, &two_script, &number_script, &alone_script};
    const struct lab_script *script = scripts[seed % 5];
    bool fails = seed % 3 > 0;

    write_all(script, true);
    befall(6, fails);
    end_well(400, true);
    if (!fails)
        is_count(lab->refusals, 0, "closes of files in a cache that were refused");
    if (script == &rule_script && !fails) /* nobody has written natively */
        all_whole(lab->nnodes, "r {step}/*{rank}");
}

/* A rank ends without a word: what the others have closed is flushed, and is no
 * checkpoint. */
static void vanished(uint64_t seed)
{
    int rank = (int)lab_chance(lab, 1, (uint64_t)lab->nnodes - 1);

    (void)seed;
    write_all(&rule_script, true);
    lab_run(lab, lab->now + lab_chance(lab, 500, 4000) * LAB_MS);
    lab_kill_process(lab, rank, 0);
    lab_run(lab, lab->now + 400 * LAB_T);
    all_whole(lab->nnodes, "r {step}/*{rank}");
    all_published();
}

/* What can be restored after a kill comes to its path, as was promised, by a launch on
 * these nodes. */
static void killed_and_run_on(uint64_t nodes)
{
    uint64_t whole = 0;

    for (int64_t id = 1; id < LAB_DATASETS; id++)
        if (lab->datasets[id].verdict == VEL_VERDICT_SEALED &&
            lab_is_restorable(lab, id, nodes))
            whole |= LAB_BIT(id);
    lab_launch(lab, 1, nodes);
    lab_run(lab, lab->now + 2 * LAB_T);
    lab_write(lab, 1, &rule_script);
    lab_run(lab, lab->now + 25 * LAB_T);
    for (int64_t id = 1; id < LAB_DATASETS; id++)
        if (whole & LAB_BIT(id) && !lab_is_over(lab, id))
            lab_is_wrong(lab, "dataset %lld is not on the prefix", (long long)id);
}

static void killed(uint64_t seed)
{
    write_all(&rule_script, seed % 2);
    lab_run(lab, lab->now + lab_chance(lab, 200, 4000) * LAB_MS);
    lab_kill_processes(lab, 0, true);
    killed_and_run_on(ALL(lab->nnodes));
    lab_nobody_awaited(lab);
}

static void killed_and_lost(uint64_t seed)
{
    int lost = (int)lab_chance(lab, 0, (uint64_t)lab->nnodes - 1);

    lab->is_quiet = true; /* whoever waits for the lost node fails at nothing */
    lab->conf.view_limit = lab_chance(lab, 1, 20) * LAB_T / 2;
    write_all(seed % 4 < 2 ? &rule_script : &none_script, seed % 2);
    lab_run(lab, lab->now + lab_chance(lab, 200, 4000) * LAB_MS);
    lab_kill_processes(lab, 0, true);
    lab_kill_node(lab, lost);
    killed_and_run_on(ALL(lab->nnodes) & ~LAB_BIT(lost));
}

/* All ranks find the newest whole step at their names, though agents go on. */
static void killed_again(uint64_t seed)
{
    write_all(&plain_script, seed % 2);
    lab_run(lab, lab->now + lab_chance(lab, 200, 4000) * LAB_MS);
    lab_kill_processes(lab, 0, seed % 3 == 0);
    lab_run(lab, lab->now + lab_chance(lab, 0, 4000) * LAB_MS);
    lab_launch(lab, 1, ALL(lab->nnodes));
    lab_run(lab, lab->now + 30 * LAB_T);
    lab_of_newest(lab, "s *{rank}");
}

/* A rank that has ended well by then relies on its files at their paths. */
static bool has_ended(const struct lab_script *script)
{
    bool has = false;

    for (size_t i = 0; i < lab->processes.n; i++)
        has |= ((struct lab_process *)vel_vec_at(&lab->processes, i))->step ==
               script->steps;
    return has;
}

static void killed_midway(uint64_t seed) /* and agents go on */
{
    lab->is_promise = true;
    write_all(&rule_script, seed % 2);
    lab_run(lab, lab->now + lab_chance(lab, 200, 4000) * LAB_MS);
    if (has_ended(&rule_script))
        return;
    lab_kill_processes(lab, 0, false);
    lab_run(lab, lab->now + lab_chance(lab, 0, 10) * LAB_T);
    lab_launch(lab, 1, ALL(lab->nnodes));
    lab_run(lab, lab->now + 30 * LAB_T);
    lab_none_by_half(lab, "r {step}/*{rank}");
}

/* --- campaigns --- */

typedef void scenario(uint64_t seed);

static bool run(scenario *what, const char *text, int nodes, uint64_t seed)
{
    lab = malloc(sizeof *lab);
    if (!lab)
        bail_out("no memory");
    lab_create(lab, seed, nodes, LAB_RIGHT);
    what(seed);
    bool is_right = !lab->wrong[0];
    if (!is_right)
        note("%s, seed %llu: %s", text, (unsigned long long)seed, lab->wrong);
    lab_destroy(lab);
    free(lab);
    return is_right;
}

static void campaign(scenario *what, const char *text, int nodes,
                     struct tap_seeds seeds)
{
    unsigned wrong = 0;

    for (uint64_t seed = seeds.first; seed <= seeds.last; seed++)
        wrong += !run(what, text, nodes, seed);
    is_int(wrong, 0, "%s: nothing is wrong with %d nodes, seeds %llu to %llu", text,
           nodes, (unsigned long long)seeds.first, (unsigned long long)seeds.last);
}

/* --- the cost --- */

/* Messages between leaders that a node sends and hears for one dataset more: of the
 * node with fewest of them, and of the chair. */
static uint64_t count_messages(int steps, int nodes, uint64_t *ret_chair)
{
    const struct lab_script script = {steps, 1, by_rule, 300 * LAB_MS, LAB_T, false};
    uint64_t least = UINT64_MAX;

    lab = malloc(sizeof *lab);
    if (!lab)
        bail_out("no memory");
    lab_create(lab, 7, nodes, LAB_RIGHT);
    write_all(&script, true);
    end_well(100, false);
    ok(!lab->wrong[0], "%d datasets of %d nodes%s%s", steps, nodes,
       lab->wrong[0] ? ": " : "", lab->wrong);
    for (int i = 0; i < nodes; i++) {
        uint64_t all = lab->sent[i] + lab->heard[i];
        if (lab->launches[0].chairs[1] == i + 1)
            *ret_chair = all;
        else
            least = all < least ? all : least;
    }
    lab_destroy(lab);
    free(lab);
    return least;
}

static void costs(void)
{
    uint64_t leaf[2], chair[2], more[2];

    for (int i = 0; i < 2; i++) {
        int nodes = i ? 64 : 4;

        leaf[0] = count_messages(2, nodes, &chair[0]);
        leaf[1] = count_messages(6, nodes, &chair[1]);
        more[i] = (leaf[1] - leaf[0]) / 4;
        note("%d nodes: %llu messages of a leaf for a dataset, %llu of the chair",
             nodes, (unsigned long long)more[i],
             (unsigned long long)(chair[1] - chair[0]) / 4);
    }
    ok(more[1] <= more[0] + 4,
       "what a leaf sends and hears does not grow with the number of nodes");
}

int main(void)
{
    struct tap_seeds seeds = tap_seeds(40);
    struct tap_seeds few = {seeds.first, seeds.first + (seeds.last - seeds.first) / 8};

    campaign(calm, "files by a rule", 4, seeds);
    campaign(calm, "files by a rule", 1, few);
    campaign(calm, "files by a rule, in a tree", 24, few);
    campaign(staggered, "half of the ranks come later", 4, seeds);
    campaign(again, "the same names again and again", 4, seeds);
    campaign(idle, "ranks that write nothing", 4, seeds);
    campaign(relaunched, "the launch after that", 4, seeds);
    campaign(two, "two files each", 4, seeds);
    campaign(numbered, "names without a rule", 4, seeds);
    campaign(by_itself, "a file by itself", 4, seeds);
    campaign(keeps_two, "older files are unlinked", 4, seeds);
    campaign(troubled, "leaders die, freeze and thaw", 5, seeds);
    campaign(vanished, "a rank ends without a word", 4, seeds);
    campaign(killed, "all is killed, and run again", 4, seeds);
    campaign(killed_and_lost, "and a node is lost", 4, seeds);
    campaign(killed_midway, "a kill between the files of a step", 4, seeds);
    campaign(killed_again, "a kill while the same names are written again", 4, seeds);
    costs();
    return done_testing();
}
