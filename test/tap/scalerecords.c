/* SPDX-License-Identifier: BSD-3-Clause */
/* scalelab's prefix and caches: what leaders find there, and what they make. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap/scalelab.h"
#include "tap/tap.h"

static struct scale *world_of(void *arg)
{
    return ((struct scale_leader *)arg)->world;
}

static int own_node(void *arg)
{
    return (int)((struct scale_leader *)arg - world_of(arg)->leaders);
}

static struct scale_dataset *dataset_of(void *arg, int64_t id)
{
    if (id < 1 || id > world_of(arg)->last_id)
        bail_out("there is no dataset %lld", (long long)id);
    return &world_of(arg)->datasets[id];
}

/* --- links --- */

static void op_connect(void *arg, const char *node)
{
    struct scale_event event = {
        .kind = SCALE_CONNECT, .node = own_node(arg), .end = scale_node_of(node)};

    scale_post(world_of(arg), &event, SCALE_MS);
}

static void op_send(void *arg, uint64_t link, const struct vel_msg *msg)
{
    const struct scale_link *at = vel_vec_at(&world_of(arg)->links, (size_t)link - 1);

    scale_send(world_of(arg), (int)link, at->ends[0] == own_node(arg) ? 0 : 1, msg);
}

static void op_close(void *arg, uint64_t link)
{
    struct scale_link *at = vel_vec_at(&world_of(arg)->links, (size_t)link - 1);
    struct scale_event event = {.kind = SCALE_GONE,
                                .link = (int)link,
                                .end = at->ends[0] == own_node(arg) ? 1 : 0};

    at->is_open = false;
    scale_post(world_of(arg), &event, SCALE_MS);
}

/* --- records of the launch --- */

static int op_endpoint(void *arg, const char *present, struct vel_err *err)
{
    (void)present, (void)err;
    ((struct scale_leader *)arg)->has_endpoint = true;
    return 0;
}

static int64_t op_epoch(void *arg)
{
    (void)arg;
    return 1;
}

static int op_chair(void *arg, struct vel_leader_chair *ret, struct vel_err *err)
{
    const struct vel_vec *chairs = &world_of(arg)->chairs;

    (void)err;
    *ret = (struct vel_leader_chair){.term = (int64_t)chairs->n};
    if (chairs->n > 0)
        scale_node_name(*(int *)vel_vec_at(chairs, chairs->n - 1), ret->node);
    return 0;
}

static bool op_is_gone(void *arg, const char *node)
{
    return world_of(arg)->leaders[scale_node_of(node)].has_left;
}

static bool op_is_last(void *arg, struct vel_buf *ret_other)
{
    const struct scale *world = world_of(arg);

    for (int i = 0; i < world->nodes; i++)
        if (i != own_node(arg) && world->leaders[i].has_endpoint &&
            !world->leaders[i].has_left) {
            vel_buf_printf(ret_other, "node %d", i);
            return false;
        }
    return true;
}

static void op_left(void *arg, struct vel_roster *ret, uint64_t now)
{
    const struct scale *world = world_of(arg);

    for (int i = 0; i < world->nodes; i++) {
        struct vel_buf ranks;
        char node[16];

        if (!world->leaders[i].has_left)
            continue;
        vel_buf_init(&ranks);
        scale_node_name(i, node);
        for (int k = 0; k < world->per_node; k++)
            vel_buf_printf(&ranks, "%d- ", i * world->per_node + k);
        if (!vel_roster_left(ret, node, vel_buf_text(&ranks), now))
            bail_out("no memory");
        vel_buf_fini(&ranks);
    }
}

static int op_claim_chair(void *arg, int64_t term, struct vel_err *err)
{
    struct vel_vec *chairs = &world_of(arg)->chairs;
    int node = own_node(arg);

    if ((size_t)term <= chairs->n)
        return vel_fail(err, VEL_EEXIST, "chair %lld is there", (long long)term);
    if (!vel_vec_push(chairs, &node))
        bail_out("no memory");
    return 0;
}

static int op_beat(void *arg, int64_t count, const char *living, bool is_new,
                   struct vel_err *err)
{
    (void)arg, (void)count, (void)living, (void)is_new, (void)err;
    return 0;
}

static int op_is_ended(void *arg, bool *ret_is_ended, struct vel_err *err)
{
    (void)err;
    *ret_is_ended = world_of(arg)->is_ended;
    return 0;
}

static int op_end(void *arg, struct vel_err *err)
{
    (void)err;
    world_of(arg)->is_ended = true;
    return 0;
}

/* --- other launches, and the view --- */

static int op_over(void *arg, struct vel_buf *ret, struct vel_err *err)
{
    (void)arg, (void)ret, (void)err;
    return 0;
}

static int op_others(void *arg, struct vel_vec *ret, struct vel_err *err)
{
    (void)arg, (void)ret, (void)err; /* all before are over */
    return 0;
}

static int op_end_other(void *arg, const char *launch, struct vel_err *err)
{
    (void)arg, (void)launch, (void)err;
    return 0;
}

/* All nodes have parts of what launches before have made. */
static int op_known(void *arg, struct vel_buf *ret, struct vel_err *err)
{
    const struct scale *world = world_of(arg);
    char node[16];

    (void)err;
    for (int i = 0; world->launch > 1 && i < world->nodes; i++) {
        scale_node_name(i, node);
        vel_buf_printf(ret, " %s", node);
    }
    return 0;
}

static int op_make_view(void *arg, const struct vel_vec *held, struct vel_err *err)
{
    struct scale *world = world_of(arg);

    (void)held, (void)err;
    if (!world->has_view)
        world->view = world->last_id;
    world->has_view = true;
    return 0;
}

static int op_load_view(void *arg, struct vel_err *err)
{
    return world_of(arg)->has_view ? 0 : vel_fail(err, VEL_ENOENT, "no view");
}

/* --- datasets --- */

static int op_seal(void *arg, struct vel_seal *seal, struct vel_err *err)
{
    struct scale_dataset *dataset = dataset_of(arg, seal->id);
    int64_t *heap = scale_heap;

    (void)err;
    scale_heap = NULL;
    if (vel_seal_encode(seal, &dataset->seal, NULL) < 0)
        bail_out("a seal");
    scale_heap = heap;
    seal->owner = ++dataset->owner;
    return 0;
}

bool scale_has(const struct scale *world, int64_t id)
{
    const struct scale_dataset *dataset = &world->datasets[id];

    return dataset->seal.len > 0 &&
           (dataset->launch == world->launch || id <= world->view);
}

static void find_one(void *arg, int64_t id, struct vel_vec *ret)
{
    const struct scale_dataset *dataset = dataset_of(arg, id);
    struct vel_leader_found found = {.is_here = true};

    if (vel_seal_decode(dataset->seal.data, dataset->seal.len, &found.seal, NULL) < 0)
        bail_out("a seal");
    world_of(arg)->seals_read++;
    found.seal.is_encoded = dataset->is_encoded;
    found.found = (struct vel_dataset_found){
        .has_map = true,
        .seal = VEL_SEAL_MADE,
        .has_entry = dataset->is_encoded,
        .place = dataset->is_flushed ? VEL_ON_PREFIX : VEL_ON_FLUSHING,
        .is_encoded = dataset->is_encoded};
    if (!vel_vec_push(ret, &found))
        bail_out("no memory");
}

/* Promises of a node are of no interest: no leader begins while anything is owed. */
static int op_find(void *arg, enum vel_leader_look where, const struct vel_seal *of,
                   struct vel_vec *ret, struct vel_err *err)
{
    const struct scale *world = world_of(arg);

    (void)err;
    for (int64_t i = 1; where != VEL_LOOK_OWED && i <= world->last_id; i++) {
        bool is_ours = world->datasets[i].launch == world->launch;
        bool is_asked = where == VEL_LOOK_ONE
                            ? i == of->id
                            : !world->datasets[i].is_flushed &&
                                  is_ours == (where == VEL_LOOK_SEALS);

        if (is_asked && scale_has(world, i))
            find_one(arg, i, ret);
    }
    return 0;
}

static int op_claim_owner(void *arg, int64_t id, int64_t *ret_owner,
                          struct vel_err *err)
{
    (void)err;
    *ret_owner = ++dataset_of(arg, id)->owner;
    return 0;
}

static int op_owner(void *arg, int64_t id, int64_t *ret_newest, bool *ret_is_ours,
                    struct vel_err *err)
{
    (void)err;
    *ret_newest = dataset_of(arg, id)->owner;
    *ret_is_ours = true;
    return 0;
}

static int op_entry(void *arg, const struct vel_seal *seal,
                    enum vel_place_on_prefix place, int64_t by, struct vel_err *err)
{
    struct scale_dataset *dataset = dataset_of(arg, seal->id);

    (void)by, (void)err;
    dataset->is_encoded = seal->is_encoded;
    dataset->is_flushed = place == VEL_ON_PREFIX;
    return 0;
}

static int op_go_on(void *arg, const struct vel_seal *seal, struct vel_err *err)
{
    (void)arg, (void)seal, (void)err;
    return 0;
}

static int op_is_dropped(void *arg, int64_t id, bool *ret_is_dropped,
                         struct vel_err *err)
{
    (void)arg, (void)id, (void)err;
    *ret_is_dropped = false;
    return 0;
}

static bool op_is_held(void *arg, int64_t id)
{
    (void)arg, (void)id;
    return true;
}

static bool op_is_before(void *arg, int64_t id)
{
    return dataset_of(arg, id)->launch < world_of(arg)->launch;
}

/* Each step has names of its own. */
static bool op_shares(void *arg, const struct vel_seal *seal,
                      const struct vel_seal *other, bool are_listed)
{
    (void)arg, (void)seal, (void)other, (void)are_listed;
    return false;
}

static int op_owe(void *arg, const struct vel_msg_owe *owe, unsigned *ret_before,
                  struct vel_err *err)
{
    (void)arg, (void)owe, (void)err;
    *ret_before = 0;
    return 0;
}

static int op_forget(void *arg, int64_t id, unsigned what, struct vel_err *err)
{
    (void)arg, (void)id, (void)what, (void)err;
    return 0;
}

static void op_failed(void *arg, int64_t id, const struct vel_err *why)
{
    bail_out("node %d: dataset %lld: %s", own_node(arg), (long long)id, why->text);
}

static void op_leave(void *arg)
{
    ((struct scale_leader *)arg)->has_left = true;
}

void scale_record_ops(struct vel_leader_ops *ret)
{
    ret->connect = op_connect;
    ret->send = op_send;
    ret->close = op_close;
    ret->endpoint = op_endpoint;
    ret->epoch = op_epoch;
    ret->chair = op_chair;
    ret->is_gone = op_is_gone;
    ret->is_last = op_is_last;
    ret->left = op_left;
    ret->claim_chair = op_claim_chair;
    ret->beat = op_beat;
    ret->is_ended = op_is_ended;
    ret->end = op_end;
    ret->over = op_over;
    ret->others = op_others;
    ret->end_other = op_end_other;
    ret->known = op_known;
    ret->make_view = op_make_view;
    ret->load_view = op_load_view;
    ret->seal = op_seal;
    ret->find = op_find;
    ret->claim_owner = op_claim_owner;
    ret->owner = op_owner;
    ret->entry = op_entry;
    ret->go_on = op_go_on;
    ret->is_dropped = op_is_dropped;
    ret->is_held = op_is_held;
    ret->is_before = op_is_before;
    ret->shares = op_shares;
    ret->owe = op_owe;
    ret->forget = op_forget;
    ret->failed = op_failed;
    ret->resign = op_leave;
    ret->leave = op_leave;
}
