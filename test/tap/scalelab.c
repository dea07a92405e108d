/* SPDX-License-Identifier: BSD-3-Clause */
/* scalelab - time, links, leaders and ranks. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap/scalelab.h"
#include "tap/tap.h"

#define STEP (10 * SCALE_MS)    /* of time between looks whether it is so */
#define AFTER (2000 * SCALE_MS) /* in which what is under way comes to an end */

int64_t *scale_heap;

/* What the world allocates is no leader's. */
static int64_t *as_world(void)
{
    int64_t *heap = scale_heap;

    scale_heap = NULL;
    return heap;
}

uint64_t scale_chance(struct scale *world, uint64_t most)
{
    return vel_rng_below(&world->rng, most + 1);
}

/* --- names --- */

void scale_node_name(int node, char ret[16])
{
    snprintf(ret, 16, "node%05d", node);
}

int scale_node_of(const char *name)
{
    return (int)strtol(name + strlen("node"), NULL, 10);
}

void scale_file_name(int step, int rank, char ret[48])
{
    snprintf(ret, 48, "/prefix/out/ckpt-%d-%06d.h5", step, rank);
}

/* --- events, by time and then by order --- */

static struct scale_event *event_at(const struct scale *world, size_t i)
{
    return (struct scale_event *)world->events.items + i;
}

static bool is_before(const struct scale_event *a, const struct scale_event *b)
{
    return a->at < b->at || (a->at == b->at && a->order < b->order);
}

void scale_post(struct scale *world, const struct scale_event *event, uint64_t delay)
{
    int64_t *heap = as_world();
    struct scale_event posted = *event;
    size_t i;

    posted.at = world->now + delay;
    posted.order = ++world->order;
    posted.launch = world->launch;
    if (!vel_vec_push(&world->events, &posted))
        bail_out("no memory");
    for (i = world->events.n - 1; i > 0; i = (i - 1) / 2) {
        if (!is_before(&posted, event_at(world, (i - 1) / 2)))
            break;
        *event_at(world, i) = *event_at(world, (i - 1) / 2);
    }
    *event_at(world, i) = posted;
    scale_heap = heap;
}

static struct scale_event pop(struct scale *world)
{
    struct scale_event first = *event_at(world, 0),
                       last = *event_at(world, world->events.n - 1);
    size_t i = 0, n = --world->events.n;

    for (;;) {
        size_t least = 2 * i + 1;

        if (least + 1 < n &&
            is_before(event_at(world, least + 1), event_at(world, least)))
            least++;
        if (least >= n || !is_before(event_at(world, least), &last))
            break;
        *event_at(world, i) = *event_at(world, least);
        i = least;
    }
    if (n > 0)
        *event_at(world, i) = last;
    return first;
}

/* --- messages --- */

void scale_let_go(struct scale_frame *frame)
{
    if (frame && --frame->refs == 0)
        free(frame);
}

/* What is told to many is the same for each: it is kept once. */
static struct scale_frame *frame_of(struct scale *world, const struct vel_msg *msg)
{
    struct scale_frame *last = world->last;
    struct vel_err err = {0};
    struct vel_buf buf;

    vel_buf_init(&buf);
    if (vel_msg_encode(msg, &buf, &err) < 0)
        bail_out("what cannot be sent: %s", err.text);
    if (!last || last->len != buf.len || memcmp(last->bytes, buf.data, buf.len) != 0) {
        scale_let_go(last);
        last = malloc(sizeof *last + buf.len);
        if (!last)
            bail_out("no memory");
        last->refs = 1;
        last->len = buf.len;
        memcpy(last->bytes, buf.data, buf.len);
        world->last = last;
    }
    vel_buf_fini(&buf);
    last->refs++;
    return last;
}

struct scale_link *scale_link_at(const struct scale *world, int number)
{
    return vel_vec_at(&world->links, (size_t)number - 1);
}

bool scale_is_between_leaders(const struct scale_link *link)
{
    return link->ends[1] >= 0;
}

void scale_send(struct scale *world, int number, int end, const struct vel_msg *msg)
{
    const struct scale_link *link = scale_link_at(world, number);
    struct scale_event event = {.kind = SCALE_DELIVER, .link = number, .end = 1 - end};
    int64_t *heap = as_world();

    if (link->is_open) {
        event.frame = frame_of(world, msg);
        scale_post(world, &event, SCALE_LATENCY);
    }
    if (link->is_open && scale_is_between_leaders(link)) {
        world->leaders[link->ends[end]].count.sent++;
        world->leaders[link->ends[end]].count.sent_bytes += event.frame->len;
    }
    scale_heap = heap;
}

int scale_make_link(struct scale *world, int one, int other)
{
    struct scale_link link = {.ends = {one, other}, .is_open = true};
    struct scale_event event = {.kind = SCALE_MET};

    if (!vel_vec_push(&world->links, &link))
        bail_out("no memory");
    event.link = (int)world->links.n;
    for (event.end = 0; event.end < 2; event.end++)
        scale_post(world, &event, SCALE_LATENCY);
    return event.link;
}

/* --- time --- */

bool scale_run(struct scale *world, bool (*is_so)(const struct scale *), uint64_t limit)
{
    uint64_t until = world->now + limit, look = world->now;
    bool is = false;

    while (world->now < until) {
        struct scale_event event;

        if (!is && world->now >= look) {
            is = is_so(world);
            look = world->now + STEP;
            until = is ? world->now + AFTER : until;
        }
        if (world->events.n == 0 || event_at(world, 0)->at > until)
            break;
        event = pop(world);
        world->now = event.at;
        if (event.launch == world->launch)
            scale_happen(world, &event);
        scale_let_go(event.frame);
    }
    world->now = until;
    return is || is_so(world);
}

/* --- life --- */

void scale_launch(struct scale *world, uint64_t spread)
{
    struct scale_event event = {.kind = SCALE_BEGIN};

    world->launch++;
    world->has_view = world->is_ended = false;
    world->chairs.n = 0;
    world->conf.ranks = (int64_t)world->nodes * world->per_node;
    for (int i = 0; i < world->nodes; i++) {
        uint64_t at = scale_chance(world, spread);

        world->leaders[i] = (struct scale_leader){.world = world};
        event.kind = SCALE_BEGIN;
        event.node = i;
        scale_post(world, &event, at);
        event.kind = SCALE_COME;
        for (int k = 0; k < world->per_node; k++) {
            event.node = i * world->per_node + k;
            scale_post(world, &event, at + SCALE_MS + scale_chance(world, spread));
        }
    }
}

void scale_create(struct scale *world, int nodes, int per_node, uint64_t seed)
{
    memset(world, 0, sizeof *world);
    world->nodes = nodes;
    world->per_node = per_node;
    world->now = SCALE_T;
    world->leaders = calloc((size_t)nodes, sizeof *world->leaders);
    world->ranks = calloc((size_t)nodes * (size_t)per_node, sizeof *world->ranks);
    if (!world->leaders || !world->ranks)
        bail_out("no memory");
    vel_rng_init(&world->rng, seed);
    vel_vec_init(&world->links, sizeof(struct scale_link));
    vel_vec_init(&world->events, sizeof(struct scale_event));
    vel_vec_init(&world->chairs, sizeof(int));
    scale_record_ops(&world->ops);
    scale_file_ops(&world->ops);
    world->conf = (struct vel_leader_conf){.named = "",
                                           .limit = SCALE_T,
                                           .view_limit = SCALE_T,
                                           .stall = 10 * SCALE_T,
                                           .seal_after = SCALE_T / 3};
}

void scale_destroy(struct scale *world)
{
    for (int i = 0; i < world->nodes; i++)
        vel_leader_destroy(world->leaders[i].leader);
    for (size_t i = 0; i < world->events.n; i++)
        scale_let_go(event_at(world, i)->frame);
    scale_let_go(world->last);
    for (int i = 0; i < SCALE_STEPS; i++)
        vel_buf_fini(&world->datasets[i].seal);
    vel_vec_fini(&world->links);
    vel_vec_fini(&world->events);
    vel_vec_fini(&world->chairs);
    free(world->leaders);
    free(world->ranks);
}

void scale_kill_node(struct scale *world, int node)
{
    struct scale_event gone = {.kind = SCALE_GONE};

    for (int i = 0; i < world->per_node; i++)
        world->ranks[node * world->per_node + i].link = 0;
    vel_leader_destroy(world->leaders[node].leader);
    world->leaders[node] = (struct scale_leader){.world = world, .has_endpoint = true};
    for (size_t i = 1; i <= world->links.n; i++) {
        struct scale_link *link = scale_link_at(world, (int)i);

        gone.link = (int)i;
        gone.end = link->ends[0] == node ? 1 : 0;
        if (!link->is_open || (link->ends[0] != node && link->ends[1] != node))
            continue;
        link->is_open = false;
        if (scale_is_between_leaders(link))
            scale_post(world, &gone, SCALE_T + scale_chance(world, SCALE_T / 4));
    }
}

void scale_clear(struct scale *world)
{
    for (int i = 0; i < world->nodes; i++)
        world->leaders[i].count = (struct scale_count){0};
}

/* --- to look at --- */

int scale_chair(const struct scale *world)
{
    size_t n = world->chairs.n;
    int node = n > 0 ? *(int *)vel_vec_at(&world->chairs, n - 1) : -1;

    return node >= 0 && world->leaders[node].leader ? node : -1;
}

bool scale_is_running(const struct scale *world)
{
    if (scale_chair(world) < 0)
        return false;
    for (int i = 0; i < world->nodes; i++) {
        const struct vel_leader *leader = world->leaders[i].leader;

        if (leader && (vel_leader_state(leader) != VEL_LAUNCH_RUNNING ||
                       vel_leader_term(leader) != (int64_t)world->chairs.n))
            return false;
    }
    for (int i = 0; i < world->nodes * world->per_node; i++)
        if (world->leaders[i / world->per_node].leader && !world->ranks[i].link)
            return false;
    return true;
}

bool scale_is_done(const struct scale *world)
{
    return world->left_to_do == 0;
}

/* Has whoever is to learn that another is gone learned it? */
bool scale_is_seen(const struct scale *world)
{
    for (size_t i = 0; i < world->events.n; i++)
        if (event_at(world, i)->kind == SCALE_GONE)
            return false;
    return true;
}

bool scale_is_published(const struct scale *world)
{
    if (world->left_to_do > 0)
        return false;
    for (int i = 0; i < world->nodes; i++)
        if (world->leaders[i].leader &&
            vel_leader_dataset(world->leaders[i].leader, world->last_id) !=
                VEL_DATASET_FLUSHED)
            return false;
    return world->last_id > 0;
}

bool scale_is_over(const struct scale *world)
{
    for (int i = 0; i < world->nodes; i++)
        if (world->leaders[i].leader)
            return false;
    return true;
}
