/* SPDX-License-Identifier: BSD-3-Clause */
/* scalelab - what happens: turns of leaders, and ranks. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tap/scalelab.h"
#include "tap/tap.h"

/* --- a leader's turn --- */

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t begin_turn(struct scale *world, struct scale_leader *of)
{
    scale_heap = &of->heap;
    uint64_t begun = now_ns();
    vel_leader_tick(of->leader, world->now);
    return begun;
}

static void end_turn(struct scale *world, struct scale_leader *of, uint64_t begun)
{
    struct scale_event event = {.kind = SCALE_WAKE, .node = (int)(of - world->leaders)};
    uint64_t due = vel_leader_due(of->leader);

    of->count.seconds += (double)(now_ns() - begun) / 1e9;
    if (of->has_left) {
        vel_leader_destroy(of->leader);
        of->leader = NULL;
    } else if (due < UINT64_MAX && (of->wakes <= world->now || due < of->wakes)) {
        of->wakes = due > world->now ? due : world->now + 1;
        scale_heap = NULL;
        scale_post(world, &event, of->wakes - world->now);
    }
    scale_heap = NULL;
}

static struct scale_leader *leader_at(struct scale *world, int node)
{
    struct scale_leader *of = &world->leaders[node];

    return of->leader ? of : NULL;
}

/* --- ranks --- */

static void ask(struct scale *world, int rank, uint64_t file)
{
    struct vel_msg msg = {.seq = 1};
    char name[48];

    scale_file_name(world->step, rank, name);
    if (world->act == SCALE_LOOK) {
        msg.kind = VEL_MSG_LOOK;
        msg.u.look.name = name;
        msg.u.look.how = VEL_LOOK_HERE;
    } else if (world->act == SCALE_LEAVE) {
        msg.kind = VEL_MSG_LEAVE;
        msg.u.leave.how = VEL_LEAVE_LAST;
    } else if (file == 0) {
        msg.kind = VEL_MSG_CREATE;
        msg.u.create.count = 1;
        msg.u.create.name = name;
    } else {
        msg.kind = VEL_MSG_CLOSE;
        msg.u.close.file = file;
        msg.u.close.size = UINT64_C(1) << 30;
    }
    scale_send(world, world->ranks[rank].link, 1, &msg);
}

static void hear(struct scale *world, int rank, const struct vel_msg *msg)
{
    struct scale_rank *of = &world->ranks[rank];

    if (msg->kind == VEL_MSG_MOVES || of->is_done)
        return;
    if (msg->kind == VEL_MSG_PLACE && world->act == SCALE_WRITE) {
        if (msg->u.place.where != VEL_PLACE_CACHE)
            bail_out("rank %d has no place: %s", rank, msg->u.place.why);
        ask(world, rank, msg->u.place.file);
        return;
    }
    if (msg->kind != VEL_MSG_YES && msg->kind != VEL_MSG_PLACE)
        bail_out("rank %d is refused", rank);
    of->is_done = true;
    world->left_to_do--;
    if (world->act == SCALE_LEAVE) {
        struct scale_event gone = {.kind = SCALE_GONE, .link = of->link};

        scale_link_at(world, of->link)->is_open = false;
        of->link = 0;
        scale_post(world, &gone, SCALE_LATENCY);
    }
}

void scale_do(struct scale *world, enum scale_act act, uint64_t spread)
{
    struct scale_event event = {.kind = SCALE_ACT};

    world->act = act;
    world->step += act == SCALE_WRITE;
    world->left_to_do = 0;
    for (int i = 0; i < world->nodes * world->per_node; i++) {
        if (!world->ranks[i].link)
            continue;
        world->ranks[i].is_done = false;
        world->left_to_do++;
        event.node = i;
        scale_post(world, &event, scale_chance(world, spread));
    }
}

/* --- what happens --- */

static void begin(struct scale *world, int node)
{
    struct scale_leader *of = &world->leaders[node];
    struct vel_leader_conf conf = world->conf;
    char name[16], launch[8];

    scale_node_name(node, name);
    snprintf(launch, sizeof launch, "L%d", world->launch);
    conf.node = name;
    conf.launch = launch;
    scale_heap = &of->heap;
    if (vel_leader_create(&conf, &world->ops, of, &of->leader, NULL) < 0)
        bail_out("no memory");
    vel_leader_begin(of->leader, world->now);
    end_turn(world, of, now_ns());
}

static void meet(struct scale *world, struct scale_leader *of,
                 const struct scale_event *event)
{
    int other = scale_link_at(world, event->link)->ends[1 - event->end];
    struct vel_leader_peer peer = {.rank = VEL_MSG_NO_RANK, .epoch = 1};
    char node[16];

    scale_node_name(other >= 0 ? other : (-1 - other) / world->per_node, node);
    peer.node = node;
    if (other >= 0)
        peer.role = VEL_ROLE_LEADER;
    else
        peer.rank = -1 - other;
    vel_leader_met(of->leader, (uint64_t)event->link, &peer);
}

static void deliver(struct scale *world, const struct scale_event *event)
{
    const struct scale_link *link = scale_link_at(world, event->link);
    int to = link->ends[event->end];
    struct scale_leader *of = to >= 0 ? leader_at(world, to) : NULL;
    struct vel_msg msg;
    uint64_t begun;

    world->messages++;
    if (vel_msg_decode(event->frame->bytes, event->frame->len, &msg, NULL) < 0)
        bail_out("a message");
    if (to < 0 && world->ranks[-1 - to].link == event->link)
        hear(world, -1 - to, &msg);
    if (!of)
        return;
    if (scale_is_between_leaders(link)) {
        of->count.heard++;
        of->count.heard_bytes += event->frame->len;
        if (event->frame->len > of->count.largest)
            of->count.largest = event->frame->len;
    }
    begun = begin_turn(world, of);
    vel_leader_message(of->leader, (uint64_t)event->link, &msg);
    end_turn(world, of, begun);
}

static void link_event(struct scale *world, const struct scale_event *event)
{
    const struct scale_link *link = scale_link_at(world, event->link);
    int to = link->ends[event->end];
    struct scale_leader *of = to >= 0 ? leader_at(world, to) : NULL;
    uint64_t begun;

    if (event->kind == SCALE_DELIVER) {
        deliver(world, event);
        return;
    }
    if (!of || (event->kind == SCALE_MET && !link->is_open))
        return;
    begun = begin_turn(world, of);
    if (event->kind == SCALE_MET)
        meet(world, of, event);
    else
        vel_leader_gone(of->leader, (uint64_t)event->link);
    end_turn(world, of, begun);
}

static void connect(struct scale *world, const struct scale_event *event)
{
    struct scale_leader *of = leader_at(world, event->node);
    char node[16];

    if (leader_at(world, event->end)) {
        scale_make_link(world, event->node, event->end);
    } else if (of) {
        uint64_t begun = begin_turn(world, of);

        scale_node_name(event->end, node);
        vel_leader_unreachable(of->leader, node);
        end_turn(world, of, begun);
    }
}

static void job_done(struct scale *world, const struct scale_event *event)
{
    static const char held[SCALE_HELD];
    struct vel_msg_place place = {.where = VEL_PLACE_CACHE,
                                  .path = "/cache/of/the/node"};
    struct scale_leader *of = leader_at(world, event->node);
    uint64_t begun;

    if (!of)
        return;
    begun = begin_turn(world, of);
    if (event->work == VEL_WORK_CREATE || event->work == VEL_WORK_LOOK)
        vel_leader_job_placed(of->leader, event->job, &place);
    else
        vel_leader_job_done(of->leader, event->job, 0, NULL, held, sizeof held);
    end_turn(world, of, begun);
}

static void wake(struct scale *world, struct scale_leader *of)
{
    if (of && of->wakes == world->now)
        end_turn(world, of, begin_turn(world, of));
}

void scale_happen(struct scale *world, const struct scale_event *event)
{
    switch (event->kind) {
    case SCALE_CONNECT:
        connect(world, event);
        break;
    case SCALE_JOB:
        job_done(world, event);
        break;
    case SCALE_WAKE:
        wake(world, leader_at(world, event->node));
        break;
    case SCALE_BEGIN:
        begin(world, event->node);
        break;
    case SCALE_COME:
        world->ranks[event->node].link =
            scale_make_link(world, event->node / world->per_node, -1 - event->node);
        break;
    case SCALE_ACT:
        if (world->ranks[event->node].link)
            ask(world, event->node, 0);
        break;
    default:
        link_event(world, event);
        break;
    }
}
