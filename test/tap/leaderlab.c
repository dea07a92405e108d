/* SPDX-License-Identifier: BSD-3-Clause */
/* leaderlab - time and links. */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap/leaderlab.h"
#include "tap/tap.h"

const char *lab_node_name(int node)
{
    static char names[LAB_NODES][8];

    snprintf(names[node], sizeof names[node], "n%d", node);
    return names[node];
}

int lab_node_of(const char *name)
{
    return (int)strtol(name + 1, NULL, 10);
}

uint64_t lab_chance(struct lab *lab, uint64_t least, uint64_t most)
{
    return least + vel_rng_below(&lab->rng, most - least + 1);
}

void lab_is_wrong(struct lab *lab, const char *fmt, ...)
{
    va_list ap;

    if (lab->wrong[0])
        return;
    va_start(ap, fmt);
    int len =
        snprintf(lab->wrong, sizeof lab->wrong, "at %.3f s: ", (double)lab->now / 1e9);
    vsnprintf(lab->wrong + len, sizeof lab->wrong - (size_t)len, fmt, ap);
    va_end(ap);
}

/* --- events, by time and then by order --- */

static struct lab_event *event_at(const struct lab *lab, size_t i)
{
    return vel_vec_at(&lab->events, i);
}

static bool is_before(const struct lab_event *a, const struct lab_event *b)
{
    return a->at < b->at || (a->at == b->at && a->order < b->order);
}

static void swap(struct lab *lab, size_t i, size_t k)
{
    struct lab_event event = *event_at(lab, i);

    *event_at(lab, i) = *event_at(lab, k);
    *event_at(lab, k) = event;
}

static void push(struct lab *lab, const struct lab_event *event)
{
    if (!vel_vec_push(&lab->events, event))
        bail_out("no memory");
    for (size_t i = lab->events.n - 1;
         i > 0 && is_before(event_at(lab, i), event_at(lab, (i - 1) / 2));
         i = (i - 1) / 2)
        swap(lab, i, (i - 1) / 2);
}

static struct lab_event pop(struct lab *lab)
{
    struct lab_event first = *event_at(lab, 0);
    size_t i = 0;

    swap(lab, 0, lab->events.n - 1);
    vel_vec_remove(&lab->events, lab->events.n - 1);
    for (;;) {
        size_t least = i;
        for (size_t k = 2 * i + 1; k <= 2 * i + 2 && k < lab->events.n; k++)
            if (is_before(event_at(lab, k), event_at(lab, least)))
                least = k;
        if (least == i)
            return first;
        swap(lab, i, least);
        i = least;
    }
}

void lab_post(struct lab *lab, const struct lab_event *event, uint64_t delay)
{
    struct lab_event posted = *event;

    posted.at = lab->now + delay;
    posted.order = ++lab->order;
    push(lab, &posted);
}

/* --- links --- */

struct lab_link *lab_link_at(const struct lab *lab, int number)
{
    return vel_vec_at(&lab->links, (size_t)number - 1);
}

/* In order on one link and way, in any order on different ones. */
static uint64_t arrival(struct lab *lab, struct lab_link *link, int end, uint64_t delay)
{
    uint64_t at = lab->now + delay;

    if (at <= link->last[end])
        at = link->last[end] + 1;
    link->last[end] = at;
    return at - lab->now;
}

static int end_of(const struct lab *lab, int number, int leader)
{
    return lab_link_at(lab, number)->ends[0] == leader ? 0 : 1;
}

void lab_send(struct lab *lab, int number, int from, const struct vel_msg *msg)
{
    struct lab_link *link = lab_link_at(lab, number);
    int end = 1 - end_of(lab, number, from);
    struct lab_event event = {.kind = LAB_DELIVER, .link = number, .end = end};
    struct vel_err err = {0};
    struct vel_buf buf;

    vel_buf_init(&buf);
    if (vel_msg_encode(msg, &buf, &err) < 0)
        bail_out("a leader sends what cannot be sent: %s", err.text);
    if (from >= 0 && link->ends[end] >= 0 && link->is_open[end]) {
        lab->sent[lab->leaders[from].node]++;
        lab->heard[lab->leaders[link->ends[end]].node]++;
    }
    event.bytes = vel_buf_take(&buf, &event.len);
    lab_post(lab, &event,
             arrival(lab, link, end, lab_chance(lab, LAB_MS / 10, 20 * LAB_MS)));
}

/* The other end sees it after a while. */
void lab_close(struct lab *lab, int number, int end, uint64_t delay)
{
    struct lab_link *link = lab_link_at(lab, number);
    struct lab_event event = {.kind = LAB_GONE, .link = number, .end = 1 - end};

    if (!link->is_open[end])
        return;
    link->is_open[end] = false;
    if (link->is_open[1 - end])
        lab_post(lab, &event, arrival(lab, link, 1 - end, delay));
}

static void lose(struct lab *lab, int number, int end)
{
    struct lab_link *link = lab_link_at(lab, number);
    struct lab_leader *of = &lab->leaders[link->ends[end]];
    bool was_open = link->is_open[end];

    link->is_open[end] = false;
    if (was_open && of->is_alive)
        vel_leader_gone(of->leader, (uint64_t)number);
}

void lab_cut(struct lab *lab)
{
    int n = (int)lab->links.n, begin = (int)lab_chance(lab, 0, (uint64_t)n);

    for (int i = 0; i < n; i++) {
        int number = 1 + (begin + i) % n;
        const struct lab_link *link = lab_link_at(lab, number);

        if (link->ends[0] < 0 || link->ends[1] < 0 || !link->is_open[0] ||
            !link->is_open[1] || lab->leaders[link->ends[0]].thaws > lab->now ||
            lab->leaders[link->ends[1]].thaws > lab->now)
            continue;
        lose(lab, number, 0);
        lose(lab, number, 1);
        return;
    }
}

static int make_link(struct lab *lab, int one, int other)
{
    struct lab_link link = {.ends = {one, other}, .is_open = {true, true}};

    if (!vel_vec_push(&lab->links, &link))
        bail_out("no memory");
    return (int)lab->links.n;
}

void lab_connect(struct lab_leader *from, const char *node)
{
    struct lab *lab = from->lab;
    struct lab_event event = {.kind = LAB_CONNECT,
                              .leader = (int)(from - lab->leaders),
                              .node = lab_node_of(node)};

    lab_post(lab, &event, lab_chance(lab, LAB_MS, 10 * LAB_MS));
}

struct lab_leader *lab_leader_of(struct lab *lab, int node, int launch)
{
    for (int i = lab->nleaders; i > 0; i--) {
        struct lab_leader *of = &lab->leaders[i - 1];

        if (of->node == node && of->launch == launch && of->is_alive)
            return of;
    }
    return NULL;
}

static void tell_met(struct lab *lab, int number, int end)
{
    struct lab_event event = {.kind = LAB_MET, .link = number, .end = end};

    lab_post(lab, &event,
             arrival(lab, lab_link_at(lab, number), end,
                     lab_chance(lab, LAB_MS, 9 * LAB_MS)));
}

static void do_connect(struct lab *lab, const struct lab_event *event)
{
    const struct lab_leader *from = &lab->leaders[event->leader];
    const struct lab_leader *to = lab_leader_of(lab, event->node, from->launch);
    struct lab_event refused = *event;

    refused.kind = LAB_UNREACHABLE;
    if (!to || to == from)
        lab_post(lab, &refused, LAB_MS);
    else if (to->thaws > lab->now) /* nobody answers */
        lab_post(lab, &refused, LAB_T);
    else {
        int number = make_link(lab, event->leader, (int)(to - lab->leaders));
        tell_met(lab, number, 0);
        tell_met(lab, number, 1);
    }
}

void lab_process_connect(struct lab *lab, int process)
{
    struct lab_process *of = vel_vec_at(&lab->processes, (size_t)process);
    const struct lab_leader *to = lab_leader_of(lab, of->node, of->launch);

    if (!of->is_alive || of->link || !to)
        return;
    of->link = make_link(lab, (int)(to - lab->leaders), -1 - process);
    tell_met(lab, of->link, 0);
    tell_met(lab, of->link, 1);
}

/* --- what a leader sees --- */

static void meet(struct lab *lab, struct lab_leader *of, const struct lab_event *event)
{
    const struct lab_link *link = lab_link_at(lab, event->link);
    int other = link->ends[1 - event->end];
    struct vel_leader_peer peer = {.rank = VEL_MSG_NO_RANK};

    if (other >= 0) {
        peer.role = VEL_ROLE_LEADER;
        peer.node = lab_node_name(lab->leaders[other].node);
        peer.epoch = lab->leaders[other].epoch;
    } else {
        const struct lab_process *process =
            vel_vec_at(&lab->processes, (size_t)(-1 - other));
        peer.node = lab_node_name(process->node);
        peer.rank = process->node;
    }
    vel_leader_met(of->leader, (uint64_t)event->link, &peer);
}

static void deliver(struct lab *lab, const struct lab_event *event, int to)
{
    struct vel_msg msg;
    struct vel_err err = {0};

    if (vel_msg_decode(event->bytes, event->len, &msg, &err) < 0)
        bail_out("a message: %s", err.text);
    if (to < 0)
        lab_process_hear(lab, -1 - to, &msg);
    else
        vel_leader_message(lab->leaders[to].leader, (uint64_t)event->link, &msg);
}

static void link_event(struct lab *lab, const struct lab_event *event)
{
    struct lab_link *link = lab_link_at(lab, event->link);
    int to = link->ends[event->end];

    if (!link->is_open[event->end] || (to >= 0 && !lab->leaders[to].is_alive))
        return;
    if (event->kind == LAB_DELIVER) {
        deliver(lab, event, to);
    } else if (event->kind == LAB_GONE) {
        link->is_open[event->end] = false;
        if (to < 0)
            lab_process_lost(lab, -1 - to);
        else
            vel_leader_gone(lab->leaders[to].leader, (uint64_t)event->link);
    } else if (to < 0) {
        lab_process_met(lab, -1 - to, event->link);
    } else {
        meet(lab, &lab->leaders[to], event);
    }
}

static void begin_leader(struct lab *lab, int node, int launch)
{
    struct vel_leader_conf conf = lab->conf;
    struct lab_leader *of = &lab->leaders[lab->nleaders];
    char name[8];

    if (lab_leader_of(lab, node, launch) || !lab_has_process(lab, node, launch))
        return;
    if (++lab->nleaders > LAB_LEADERS)
        bail_out("too many leaders");
    snprintf(name, sizeof name, "L%d", launch);
    conf.launch = name;
    conf.node = lab_node_name(node);
    *of = (struct lab_leader){.lab = lab,
                              .node = node,
                              .launch = launch,
                              .epoch = (uint64_t)lab->nleaders + 1,
                              .is_alive = true};
    if (vel_leader_create(&conf, &lab_ops, of, &of->leader, NULL) < 0)
        bail_out("no memory");
    vel_leader_begin(of->leader, lab->now);
    for (size_t i = 0; i < lab->processes.n; i++) {
        const struct lab_process *process = vel_vec_at(&lab->processes, i);
        if (process->node == node && process->launch == launch)
            lab_process_connect(lab, (int)i);
    }
}

/* --- time --- */

static struct lab_leader *whose(struct lab *lab, const struct lab_event *event)
{
    int leader = event->leader;

    if (event->kind == LAB_DELIVER || event->kind == LAB_GONE || event->kind == LAB_MET)
        leader = lab_link_at(lab, event->link)->ends[event->end];
    if (event->kind == LAB_BEGIN || event->kind == LAB_CHECKPOINT ||
        event->kind == LAB_WRITER || leader < 0)
        return NULL;
    return &lab->leaders[leader];
}

static void happen(struct lab *lab, struct lab_event *event)
{
    struct lab_leader *of = whose(lab, event);

    if (of && of->is_alive && of->thaws > lab->now) {
        event->at = of->thaws; /* and in the order in which it came */
        push(lab, event);
        return;
    }
    if (of && of->is_alive)
        vel_leader_tick(of->leader, lab->now);
    switch (event->kind) {
    case LAB_CONNECT:
        if (of->is_alive)
            do_connect(lab, event);
        break;
    case LAB_UNREACHABLE:
        if (of->is_alive)
            vel_leader_unreachable(of->leader, lab_node_name(event->node));
        break;
    case LAB_DONE:
        lab_job_event(lab, event);
        break;
    case LAB_CHECKPOINT:
        lab_next_checkpoint(lab);
        break;
    case LAB_WRITER:
        lab_writer_event(lab, event->leader);
        break;
    case LAB_BEGIN:
        begin_leader(lab, event->node, event->launch);
        break;
    default:
        link_event(lab, event);
        break;
    }
    free(event->bytes);
}

static struct lab_leader *next_due(struct lab *lab, uint64_t *ret_due)
{
    struct lab_leader *next = NULL;

    for (int i = 0; i < lab->nleaders; i++) {
        struct lab_leader *of = &lab->leaders[i];
        if (!of->is_alive)
            continue;
        uint64_t due = vel_leader_due(of->leader);
        due = due < of->thaws ? of->thaws : due;
        due = due < lab->now ? lab->now : due;
        if (due < *ret_due) {
            *ret_due = due;
            next = of;
        }
    }
    return next;
}

bool lab_run(struct lab *lab, uint64_t until)
{
    uint64_t last = 0;
    int rounds = 0;

    while (!lab->wrong[0]) {
        uint64_t at = lab->events.n > 0 ? event_at(lab, 0)->at : UINT64_MAX, due = at;
        struct lab_leader *of = next_due(lab, &due);

        if (due > until)
            break;
        rounds = due == last ? rounds + 1 : 0;
        last = due;
        if (rounds > 100000)
            lab_is_wrong(lab, "leaders are busy with nothing");
        lab->now = due;
        if (of && due < at) {
            vel_leader_tick(of->leader, lab->now);
        } else {
            struct lab_event event = pop(lab);
            happen(lab, &event);
        }
        for (int i = 0; i < lab->nleaders; i++)
            if (lab->leaders[i].is_alive && lab->leaders[i].has_left) {
                lab->launches[lab->leaders[i].launch].left |=
                    LAB_BIT(lab->leaders[i].node);
                lab_bury(&lab->leaders[i], LAB_MS);
            }
    }
    if (lab->now < until && !lab->wrong[0])
        lab->now = until;
    return !lab->wrong[0];
}

/* --- life --- */

void lab_create(struct lab *lab, uint64_t seed, int nodes, enum lab_fault fault)
{
    memset(lab, 0, sizeof *lab);
    lab->nnodes = nodes;
    lab->fault = fault;
    lab->has_locks = seed % 2;
    vel_rng_init(&lab->rng, seed);
    lab_listen(lab);
    lab->now = LAB_T;
    lab->pause = LAB_T;
    vel_vec_init(&lab->links, sizeof(struct lab_link));
    vel_vec_init(&lab->events, sizeof(struct lab_event));
    vel_vec_init(&lab->jobs, sizeof(struct lab_job));
    vel_vec_init(&lab->processes, sizeof(struct lab_process));
    vel_vec_init(&lab->names, sizeof(struct lab_name));
    vel_vec_init(&lab->voids, sizeof(struct lab_file));
    for (int i = 0; i < nodes; i++) {
        lab->nodes[i].is_alive = true;
        vel_vec_init(&lab->nodes[i].files, sizeof(struct lab_file));
        vel_vec_init(&lab->nodes[i].parts, sizeof(struct lab_key));
    }
    for (int i = 0; i < LAB_DATASETS; i++) {
        vel_buf_init(&lab->datasets[i].seal);
        vel_vec_init(&lab->datasets[i].files, sizeof(struct lab_file));
    }
    lab->conf = (struct vel_leader_conf){.many = seed % 2 ? 1 : 0,
                                         .named = "",
                                         .limit = LAB_T,
                                         .view_limit = 10 * LAB_T,
                                         .stall = 30 * LAB_T,
                                         .flush_width = 2,
                                         .flush_bandwidth = 1000,
                                         .seal_after = 4 * LAB_T};
}

void lab_destroy(struct lab *lab)
{
    lab_listen(NULL);
    for (int i = 0; i < lab->nleaders; i++)
        vel_leader_destroy(lab->leaders[i].leader);
    for (size_t i = 0; i < lab->events.n; i++)
        free(event_at(lab, i)->bytes);
    for (size_t i = 0; i < lab->jobs.n; i++)
        vel_seal_fini(&((struct lab_job *)vel_vec_at(&lab->jobs, i))->seal);
    for (int i = 0; i < LAB_DATASETS; i++)
        vel_buf_fini(&lab->datasets[i].seal);
    lab_files_fini(lab);
    vel_vec_fini(&lab->links);
    vel_vec_fini(&lab->events);
    vel_vec_fini(&lab->jobs);
    vel_vec_fini(&lab->processes);
}
