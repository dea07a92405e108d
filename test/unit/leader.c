/* SPDX-License-Identifier: BSD-3-Clause */
/* Leaders in a world of their own (tap/leaderlab.h): what must hold whatever befalls
 * them. SEEDS=a-b runs other seeds. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tap/leaderlab.h"
#include "tap/seeds.h"
#include "tap/tap.h"

#define ALL(n) ((n) == 64 ? UINT64_MAX : LAB_BIT(n) - 1)

static struct lab *lab; /* one at a time: it is large */

static void begin(uint64_t seed, int nodes, enum lab_fault fault)
{
    lab = malloc(sizeof *lab);
    if (!lab)
        bail_out("no memory");
    lab_create(lab, seed, nodes, fault);
}

static void end(void)
{
    lab_destroy(lab);
    free(lab);
}

/* --- what holds in the end --- */

static void all_done(int launch)
{
    for (int id = 1; id < LAB_DATASETS; id++) {
        const struct lab_entry *entry = lab_entry(lab, id);
        if (!lab->datasets[id].is_complete ||
            (lab->datasets[id].launch != launch &&
             !(lab->launches[launch].view & LAB_BIT(id))))
            continue;
        if (!lab_is_over(lab, id))
            lab_is_wrong(lab, "dataset %d is not done: place %d", id,
                         entry->is_there ? (int)entry->place : -1);
    }
    for (int i = 0; i < lab->nleaders; i++)
        if (lab->leaders[i].is_alive && lab->leaders[i].launch == launch)
            lab_is_wrong(lab, "the leader of node %d does not leave (state %d)",
                         lab->leaders[i].node,
                         (int)vel_leader_state(lab->leaders[i].leader));
}

/* Nobody was frozen or killed: then nothing is left for the next launch to find. */
static void nothing_left(void)
{
    if (!lab->launches[0].is_ended)
        lab_is_wrong(lab, "nobody has ended the launch");
    lab_nobody_awaited(lab);
    for (int id = 1; id < LAB_DATASETS; id++)
        for (int node = 0; node < lab->nnodes; node++)
            if (lab->nodes[node].caches[id].owed)
                lab_is_wrong(lab, "node %d still owes for dataset %d", node, id);
}

/* What is on the prefix has all its files. */
static void prefix_whole(void)
{
    for (int id = 1; id < LAB_DATASETS; id++) {
        const struct lab_entry *entry = lab_entry(lab, id);
        if (entry->is_there && entry->place == VEL_ON_PREFIX && !entry->by &&
            lab->datasets[id].renamed != ALL(lab->nnodes))
            lab_is_wrong(lab, "dataset %d is flushed without all its files", id);
    }
}

/* What was told survives as much as was promised. */
static void view_keeps(int launch, int lost)
{
    for (int id = 1; id < LAB_DATASETS; id++) {
        const struct lab_dataset *dataset = &lab->datasets[id];
        bool is_safe = dataset->is_complete && dataset->launch < launch &&
                       (lost == 0 || (lost == 1 && lab_entry(lab, id)->is_encoded));
        if (is_safe && lab->launches[launch].has_view &&
            !(lab->launches[launch].view & LAB_BIT(id)))
            lab_is_wrong(lab, "dataset %d was told and is not in the view", id);
    }
}

static bool holds(const char *text, uint64_t seed)
{
    bool is_right = !lab->wrong[0];

    if (!is_right)
        note("%s, seed %llu: %s", text, (unsigned long long)seed, lab->wrong);
    return is_right;
}

/* A launch that comes to its own end is over for those only who have nothing to do. */
static void ends_without_a_word(void)
{
    if (lab->surprised)
        lab_is_wrong(lab, "%d leaders warn of an end that is none too early",
                     lab->surprised);
}

/* --- scenarios: each runs one seed, and leaves what is wrong in lab->wrong --- */

static void calm(uint64_t seed)
{
    (void)seed;
    lab_launch(lab, 0, ALL(lab->nnodes));
    lab_run(lab, lab->now + LAB_T / 2);
    lab_program(lab, 0, 4, VEL_OWED_ENCODE | VEL_OWED_FLUSH);
    lab_run(lab, lab->now + 100 * LAB_T);
    all_done(0);
    nothing_left();
    prefix_whole();
}

/* Processes wait for what they owe; nobody works on what was dropped. */
static void drained(uint64_t seed)
{
    (void)seed;
    lab->drains = true;
    lab_launch(lab, 0, ALL(lab->nnodes));
    lab_run(lab, lab->now + LAB_T / 2);
    lab_program(lab, 0, 4, VEL_OWED_ENCODE | VEL_OWED_FLUSH);
    lab_run(lab, lab->now + lab_chance(lab, 1, 2000) * LAB_MS);
    lab->datasets[1].is_dropped = true;
    lab_run(lab, lab->now + 100 * LAB_T);
    for (int node = 0; node < lab->nnodes; node++)
        if (lab->nodes[node].caches[1].here)
            lab_is_wrong(lab, "node %d keeps what was dropped", node);
    lab->datasets[1].is_complete = false;
    all_done(0);
    nothing_left();
    prefix_whole();
    ends_without_a_word();
}

/* What has no redundancy is only flushed. */
static void unprotected(uint64_t seed)
{
    (void)seed;
    lab_launch(lab, 0, ALL(lab->nnodes));
    lab_program(lab, 0, 3, VEL_OWED_FLUSH);
    lab_run(lab, lab->now + 100 * LAB_T);
    all_done(0);
    nothing_left();
    prefix_whole();
}

/* Leaders die with their processes, others freeze and thaw, jobs fail. */
static void troubled(uint64_t seed)
{
    (void)seed;
    lab->errors = 3;
    lab_launch(lab, 0, ALL(lab->nnodes));
    lab_run(lab, lab->now + lab_chance(lab, 1, 500) * LAB_MS);
    lab_program(lab, 0, 6, VEL_OWED_ENCODE | VEL_OWED_FLUSH);
    for (int i = 0; i < 6; i++) {
        int node = (int)lab_chance(lab, 0, (uint64_t)lab->nnodes - 1);
        lab_run(lab, lab->now + lab_chance(lab, 1, 1500) * LAB_MS);
        if (lab_chance(lab, 0, 1))
            lab_kill_leader(lab, node, 0);
        else
            lab_freeze(lab, node, 0, lab_chance(lab, 100, 5000) * LAB_MS);
    }
    lab->errors = 0;
    lab_run(lab, lab->now + 300 * LAB_T);
    all_done(0);
    prefix_whole();
}

/* Leaders come and go, and all work is done: no one is told of trouble. */
static void restless(uint64_t seed)
{
    (void)seed;
    lab->is_quiet = true;
    lab_launch(lab, 0, ALL(lab->nnodes));
    lab_run(lab, lab->now + lab_chance(lab, 1, 500) * LAB_MS);
    lab_program(lab, 0, 4, VEL_OWED_ENCODE | VEL_OWED_FLUSH);
    for (int i = 0; i < 4; i++) {
        lab_run(lab, lab->now + lab_chance(lab, 1, 1500) * LAB_MS);
        lab_kill_leader(lab, (int)lab_chance(lab, 0, (uint64_t)lab->nnodes - 1), 0);
    }
    lab_run(lab, lab->now + 300 * LAB_T);
    all_done(0);
    prefix_whole();
}

/* Leaders meet each other twice, and connections break with all that was said on them.
 */
static void cut_off(uint64_t seed)
{
    (void)seed;
    lab_launch(lab, 0, ALL(lab->nnodes));
    lab_run(lab, lab->now + lab_chance(lab, 1, 500) * LAB_MS);
    lab_program(lab, 0, 4, VEL_OWED_ENCODE | VEL_OWED_FLUSH);
    for (int i = 0; i < 12; i++) {
        int one = (int)lab_chance(lab, 0, (uint64_t)lab->nnodes - 1);
        int other = (int)lab_chance(lab, 0, (uint64_t)lab->nnodes - 1);
        struct lab_leader *of = lab_leader_of(lab, one, 0);

        if (of && one != other)
            lab_connect(of, lab_node_name(other));
        lab_run(lab, lab->now + lab_chance(lab, 1, 200) * LAB_MS);
        lab_cut(lab);
    }
    lab_run(lab, lab->now + 100 * LAB_T);
    all_done(0);
    prefix_whole();
    ends_without_a_word();
}

/* A node is lost at any time; an agent's leaders go on; then comes the next launch. */
static void node_lost(uint64_t seed)
{
    int node = (int)lab_chance(lab, 0, (uint64_t)lab->nnodes - 1);

    (void)seed;
    lab_launch(lab, 0, ALL(lab->nnodes));
    lab_run(lab, lab->now + 300 * LAB_MS);
    lab_program(lab, 0, 4, VEL_OWED_ENCODE | VEL_OWED_FLUSH);
    lab_run(lab, lab->now + lab_chance(lab, 1, 5000) * LAB_MS);
    lab_kill_node(lab, node);
    lab_kill_processes(lab, 0, lab_chance(lab, 0, 1));
    lab_run(lab, lab->now + lab_chance(lab, 1, 60) * LAB_T);
    lab_kill_processes(lab, 0, true);
    lab_run(lab, lab->now + LAB_T);
    lab_revive_node(lab, node);
    lab_launch(lab, 1, ALL(lab->nnodes));
    lab_run(lab, lab->now + 30 * LAB_T);
    if (!lab->launches[1].has_view)
        lab_is_wrong(lab, "the next launch has no view");
    view_keeps(1, 1);
    lab_program(lab, 1, 1, VEL_OWED_ENCODE | VEL_OWED_FLUSH);
    lab_run(lab, lab->now + 300 * LAB_T);
    all_done(1);
    prefix_whole();
}

/* A node is lost and the program ends, agents flush what it has made; at any time
 * meanwhile it begins again on the nodes that are left, and finds all of that. */
static void agents_left(uint64_t seed)
{
    int node = (int)lab_chance(lab, 0, (uint64_t)lab->nnodes - 1);

    (void)seed;
    lab_launch(lab, 0, ALL(lab->nnodes));
    lab_run(lab, lab->now + 300 * LAB_MS);
    lab_program(lab, 0, 4, VEL_OWED_ENCODE | VEL_OWED_FLUSH);
    lab_run(lab, lab->now + lab_chance(lab, 1, 5000) * LAB_MS);
    lab_kill_node(lab, node);
    lab_kill_processes(lab, 0, false);
    lab_run(lab, lab->now + lab_chance(lab, 1, 3000) * LAB_MS);
    lab_launch(lab, 1, ALL(lab->nnodes) & ~LAB_BIT(node));
    lab_run(lab, lab->now + 30 * LAB_T);
    if (!lab->launches[1].has_view)
        lab_is_wrong(lab, "the next launch has no view");
    if (!lab->launches[0].is_ended)
        lab_is_wrong(lab, "a launch without processes is taken to live");
    view_keeps(1, 1);
    prefix_whole();
}

/* The next launch begins, and a leader dies while the chair asks what the nodes hold;
 * another process of its node takes its place, and tells. */
static void dies_before_it_tells(uint64_t seed)
{
    int node = (int)lab_chance(lab, 0, (uint64_t)lab->nnodes - 1);

    (void)seed;
    lab_launch(lab, 0, ALL(lab->nnodes));
    lab_run(lab, lab->now + 300 * LAB_MS);
    lab_program(lab, 0, 4, VEL_OWED_FLUSH);
    lab_run(lab, lab->now + lab_chance(lab, 1, 1000) * LAB_MS);
    lab_kill_processes(lab, 0, true);
    lab_launch(lab, 1, ALL(lab->nnodes));
    lab_run(lab, lab->now + lab_chance(lab, 1, 60) * LAB_MS);
    if (!lab->launches[1].has_view)
        lab_kill_leader(lab, node, 1);
    lab_run(lab, lab->now + 30 * LAB_T);
    if (!lab->launches[1].has_view)
        lab_is_wrong(lab, "the next launch has no view");
    view_keeps(1, 0);
}

/* As h5veloc-prerun does: all that is left rests, on every node at its own time. Who
 * asks for that is answered, though it be on its way to the prefix. */
static void rested(uint64_t seed)
{
    (void)seed;
    lab_launch(lab, 0, ALL(lab->nnodes));
    lab_run(lab, lab->now + 300 * LAB_MS);
    lab_program(lab, 0, 4, VEL_OWED_ENCODE | VEL_OWED_FLUSH);
    lab_run(lab, lab->now + lab_chance(lab, 1, 3000) * LAB_MS);
    lab_kill_processes(lab, 0, true);
    lab_launch(lab, 1, ALL(lab->nnodes));
    for (int i = 0; i < 60 && !lab->launches[1].has_view; i++)
        lab_run(lab, lab->now + LAB_T / 10);
    for (int64_t id = lab->last_id; id > 0; id--)
        for (int node = 0; node < lab->nnodes; node++)
            if (lab->launches[1].view & LAB_BIT(id)) {
                lab_run(lab, lab->now + lab_chance(lab, 1, 100) * LAB_MS);
                lab_rest(lab, 1, node, id);
            }
    lab_run(lab, lab->now + 20 * LAB_T);
    for (size_t i = 0; i < lab->processes.n; i++) {
        const struct lab_process *process = vel_vec_at(&lab->processes, i);
        if (process->launch == 1 && lab->launches[1].view & ~process->rests)
            lab_is_wrong(lab, "node %d waits for ever until a dataset rests",
                         process->node);
    }
}

/* Another program that lives publishes the same names, and claims what stands in its
 * way: who has flushed that learns it from its next step, and owes nothing more. */
static void rivalled(uint64_t seed)
{
    (void)seed;
    lab->conf.limit = lab->conf.stall = 100 * LAB_T; /* a part of it would be seen */
    lab_launch(lab, 0, ALL(lab->nnodes));
    lab_run(lab, lab->now + LAB_T / 2);
    lab_program(lab, 0, 1, VEL_OWED_FLUSH);
    for (int i = 0; i < 20000 && lab_entry(lab, 1)->place != VEL_ON_STAGED; i++)
        lab_run(lab, lab->now + LAB_MS);
    lab->datasets[1].owner++;
    lab->datasets[1].owner_launch = 1;
    lab_run(lab, lab->now + 10 * LAB_T);
    if (!lab->launches[0].is_ended)
        lab_is_wrong(lab, "the launch waits to try again what another one has taken");
}

/* The launch is ended while it works, some of its leaders frozen; the next one goes on
 * with what it has left behind, and the others thaw. */
static void ended(uint64_t seed)
{
    int frozen = (int)lab_chance(lab, 0, (uint64_t)lab->nnodes - 1);

    (void)seed;
    lab_launch(lab, 0, ALL(lab->nnodes));
    lab_run(lab, lab->now + 300 * LAB_MS);
    lab_program(lab, 0, 5, VEL_OWED_ENCODE | VEL_OWED_FLUSH);
    lab_run(lab, lab->now + lab_chance(lab, 1, 4000) * LAB_MS);
    for (int i = 0; i < 2; i++, frozen = (frozen + 1) % lab->nnodes)
        lab_freeze(lab, frozen, 0, lab_chance(lab, 100, 12000) * LAB_MS);
    lab_end_launch(lab, 0);
    lab_run(lab, lab->now + lab_chance(lab, 0, 200) * LAB_MS);
    lab_launch(lab, 1, ALL(lab->nnodes));
    lab_run(lab, lab->now + 30 * LAB_T);
    if (!lab->launches[1].has_view)
        lab_is_wrong(lab, "the next launch has no view");
    view_keeps(1, 0);
    lab_kill_processes(lab, 0, false);
    lab_program(lab, 1, 2, VEL_OWED_ENCODE | VEL_OWED_FLUSH);
    lab_run(lab, lab->now + 300 * LAB_T);
    all_done(1);
    prefix_whole();
}

typedef void scenario(uint64_t seed);

static bool run(scenario *what, const char *text, int nodes, enum lab_fault fault,
                uint64_t seed)
{
    begin(seed, nodes, fault);
    what(seed);
    bool is_right = fault == LAB_RIGHT ? holds(text, seed) : !lab->wrong[0];
    if (fault != LAB_RIGHT && !is_right)
        note("%s, seed %llu: found: %s", text, (unsigned long long)seed, lab->wrong);
    end();
    return is_right;
}

static void campaign(scenario *what, const char *text, int nodes,
                     struct tap_seeds seeds)
{
    unsigned wrong = 0;

    for (uint64_t seed = seeds.first; seed <= seeds.last; seed++)
        wrong += !run(what, text, nodes, LAB_RIGHT, seed);
    is_int(wrong, 0, "%s: nothing is wrong with %d nodes, seeds %llu to %llu", text,
           nodes, (unsigned long long)seeds.first, (unsigned long long)seeds.last);
}

static void found(scenario *what, const char *text, enum lab_fault fault)
{
    bool is_found = false;

    for (uint64_t seed = 1; !is_found && seed <= 1000; seed++)
        is_found = !run(what, text, 4, fault, seed);
    ok(is_found, "%s is found", text);
}

/* --- the cost --- */

struct cost {
    uint64_t leaf, inner, chair; /* messages that one of these sends and hears */
};

/* Places follow the order in which leaders join: who has a child is not known here, but
 * an inner node has many times what a leaf has. */
static struct cost cost_of(int nodes)
{
    struct cost cost = {.leaf = UINT64_MAX};
    uint64_t all[LAB_NODES];

    begin(7, nodes, LAB_RIGHT);
    lab_launch(lab, 0, ALL(nodes));
    lab_run(lab, lab->now + 5 * LAB_T);
    memset(lab->sent, 0, sizeof lab->sent);
    memset(lab->heard, 0, sizeof lab->heard);
    lab_program(lab, 0, 1, VEL_OWED_ENCODE | VEL_OWED_FLUSH);
    lab_run(lab, lab->now + 100 * LAB_T);
    all_done(0);
    ok(holds("messages", 7), "a dataset of %d nodes is flushed", nodes);
    for (int i = 0; i < nodes; i++) {
        all[i] = lab->sent[i] + lab->heard[i];
        if (lab->launches[0].chairs[1] == i + 1) {
            cost.chair = all[i];
            continue;
        }
        cost.leaf = all[i] < cost.leaf ? all[i] : cost.leaf;
        cost.inner = all[i] > cost.inner ? all[i] : cost.inner;
    }
    note(
        "%d nodes: %llu messages of a leaf, at most %llu of another, %llu of the chair",
        nodes, (unsigned long long)cost.leaf, (unsigned long long)cost.inner,
        (unsigned long long)cost.chair);
    end();
    return cost;
}

/* Reads of all seals until the next launch of these nodes has its view. */
static uint64_t rolls_of(int nodes)
{
    uint64_t rolls;

    begin(7, nodes, LAB_RIGHT);
    lab_launch(lab, 0, ALL(nodes));
    lab_run(lab, lab->now + 5 * LAB_T);
    lab_program(lab, 0, 1, VEL_OWED_ENCODE);
    lab_run(lab, lab->now + 20 * LAB_T);
    lab_end_launch(lab, 0);
    lab_kill_processes(lab, 0, false);
    lab->rolls = 0;
    lab_launch(lab, 1, ALL(nodes));
    lab_run(lab, lab->now + 30 * LAB_T);
    rolls = lab->rolls;
    ok(lab->launches[1].has_view, "the next launch of %d nodes has a view", nodes);
    note("seals were read %llu times for it", (unsigned long long)rolls);
    end();
    return rolls;
}

static void costs(void)
{
    struct cost few = cost_of(4), some = cost_of(16), many = cost_of(64);

    ok(many.leaf <= few.leaf + 2 && some.inner <= few.inner + 2,
       "what a leaf sends and hears does not grow with the number of nodes");
    ok(many.inner <= 20 * few.inner, "nor do others more than for their children");
    ok(many.chair <= 20 * many.inner && many.chair <= 64 * few.leaf,
       "nor the chair much more than one message and its answer for each turn to copy");
    ok(rolls_of(64) <= rolls_of(4) + 2,
       "a view does not read the records of launches before for each node anew");
}

int main(void)
{
    struct tap_seeds seeds = tap_seeds(60);

    campaign(calm, "no trouble", 4, seeds);
    campaign(calm, "no trouble", 1, (struct tap_seeds){1, 5});
    campaign(drained, "processes wait", 4, seeds);
    campaign(unprotected, "nothing is encoded", 4, (struct tap_seeds){1, 5});
    campaign(troubled, "leaders die, freeze and thaw", 5, seeds);
    campaign(
        restless, "leaders come and go, quietly", 5,
        (struct tap_seeds){seeds.first, seeds.first + (seeds.last - seeds.first) / 4});
    campaign(
        troubled, "in a tree, too, leaders die, freeze and thaw", 24,
        (struct tap_seeds){seeds.first, seeds.first + (seeds.last - seeds.first) / 4});
    campaign(cut_off, "connections break while there are others", 4, seeds);
    campaign(node_lost, "a node is lost", 8, seeds);
    campaign(agents_left, "agents go on without a node", 6, seeds);
    campaign(rested, "what is on its way is to rest", 4, seeds);
    campaign(ended, "the next launch comes early", 4, seeds);
    campaign(dies_before_it_tells, "a leader dies before it has told what it holds", 4,
             (struct tap_seeds){1, 400});
    campaign(rivalled, "a flush is taken over", 1, (struct tap_seeds){1, 20});
    found(ended, "not looking for the end", LAB_END_BLIND);
    found(ended, "listing seals before the end is made", LAB_LIST_FIRST);
    found(ended, "not knowing that two datasets have the same names", LAB_SHARES_NOT);
    found(troubled, "temporary names without the owner's number", LAB_TEMP_SHARED);
    costs();
    return done_testing();
}
