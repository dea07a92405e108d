/* SPDX-License-Identifier: BSD-3-Clause */
/* scalelab's files: which key they are of, what a dataset of them is, and jobs. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap/scalelab.h"
#include "tap/tap.h"

#define TEMPLATE "ckpt out/ckpt-{step}-{rank}.h5"

static struct scale *world_of(void *arg)
{
    return ((struct scale_leader *)arg)->world;
}

/* --- keys --- */

static int op_rule(void *arg, const char *name, struct vel_leader_rule *ret,
                   struct vel_err *err)
{
    char step[16];

    (void)arg, (void)err;
    snprintf(step, sizeof step, "%ld", strtol(strchr(name, '-') + 1, NULL, 10));
    ret->is_there = true;
    ret->template = strdup(TEMPLATE);
    ret->step = strdup(step);
    return ret->template && ret->step ? 0 : VEL_ENOMEM;
}

static int op_part_new(void *arg, const struct vel_leader_key *key, int64_t *ret_part,
                       struct vel_err *err)
{
    (void)key, (void)err;
    *ret_part = ++((struct scale_leader *)arg)->parts;
    return 0;
}

static int op_part_renumber(void *arg, int64_t part, const struct vel_leader_key *key,
                            struct vel_err *err)
{
    (void)arg, (void)part, (void)key, (void)err;
    return 0;
}

static int op_parts(void *arg, struct vel_vec *ret, struct vel_err *err)
{
    (void)arg, (void)ret, (void)err;
    return 0;
}

static int op_sealed(void *arg, const char *template, const char *step,
                     int64_t generation, int64_t *ret_id, enum vel_verdict *ret_verdict,
                     struct vel_err *err)
{
    const struct scale *world = world_of(arg);

    (void)template, (void)generation;
    for (int64_t i = 1; i <= world->last_id; i++)
        if (world->datasets[i].launch == world->launch &&
            world->datasets[i].seal.len > 0 &&
            strcmp(world->datasets[i].step, step) == 0) {
            *ret_id = i;
            *ret_verdict = VEL_VERDICT_SEALED;
            return 0;
        }
    return vel_fail(err, VEL_ENOENT, "no seal");
}

/* Every rank had one file in each. */
static int op_previous(void *arg, const char *template, struct vel_leader_previous *ret,
                       struct vel_err *err)
{
    const struct scale *world = world_of(arg);
    int64_t ranks = (int64_t)world->nodes * world->per_node;

    (void)template;
    if (world->view == 0)
        return vel_fail(err, VEL_ENOENT, "its first");
    ret->id = world->view;
    ret->ranks = ranks;
    for (int64_t i = 0; i < ranks; i++) {
        struct vel_leader_one one = {i, 1};

        if (!vel_vec_push(&ret->ones, &one))
            return vel_out_of_memory(err, "the ranks");
    }
    return 0;
}

static int op_has_whole(void *arg, const char *template, const char *step,
                        int64_t generation, bool *ret_has, struct vel_err *err)
{
    (void)arg, (void)template, (void)step, (void)generation, (void)err;
    *ret_has = false;
    return 0;
}

static bool op_is_promise(void *arg, const char *template)
{
    (void)arg, (void)template;
    return true;
}

static int op_compose(void *arg, struct vel_seal *seal,
                      const struct vel_leader_key *key, struct vel_err *err)
{
    struct scale *world = world_of(arg);
    struct scale_dataset *dataset;

    (void)err;
    if (world->last_id + 1 >= SCALE_STEPS)
        bail_out("too many datasets");
    seal->id = ++world->last_id;
    seal->what = VEL_OWED_FLUSH | VEL_OWED_ENCODE;
    dataset = &world->datasets[seal->id];
    dataset->launch = world->launch;
    snprintf(dataset->step, sizeof dataset->step, "%s", key->step);
    for (size_t i = 0; i < seal->members.n; i++) {
        struct vel_seal_member *member = vel_vec_at(&seal->members, i);
        int64_t node = member->rank / world->per_node;

        member->set =
            node / SCALE_SET * world->per_node + member->rank % world->per_node;
        member->place = node % SCALE_SET;
        member->scheme = VEL_RS;
        member->failures = 2;
    }
    return 0;
}

static int64_t op_keep(void *arg, const struct vel_seal *seal, int64_t *ret_store,
                       bool *ret_has_line)
{
    (void)arg, (void)seal;
    *ret_store = 0;
    *ret_has_line = true;
    return 2;
}

/* --- work --- */

static void op_start(void *arg, const struct vel_leader_job *job)
{
    struct scale_event event = {
        .kind = SCALE_JOB,
        .node = (int)((struct scale_leader *)arg - world_of(arg)->leaders),
        .job = job->number,
        .work = job->work};
    bool is_large = job->work == VEL_WORK_ENCODE || job->work == VEL_WORK_COPY;

    scale_post(world_of(arg), &event,
               SCALE_MS + scale_chance(world_of(arg), (is_large ? 100 : 1) * SCALE_MS));
}

static void op_cancel(void *arg, uint64_t job) /* the brain knows no such job then */
{
    (void)arg, (void)job;
}

static bool op_is_busy(void *arg, int64_t id)
{
    (void)arg, (void)id;
    return false;
}

static void op_rate(void *arg, uint64_t job, uint64_t rate)
{
    (void)arg, (void)job, (void)rate;
}

static int op_health(void *arg, int what)
{
    (void)arg, (void)what;
    return 0;
}

void scale_file_ops(struct vel_leader_ops *ret)
{
    ret->rule = op_rule;
    ret->part_new = op_part_new;
    ret->part_renumber = op_part_renumber;
    ret->parts = op_parts;
    ret->sealed = op_sealed;
    ret->previous = op_previous;
    ret->has_whole = op_has_whole;
    ret->is_promise = op_is_promise;
    ret->compose = op_compose;
    ret->keep = op_keep;
    ret->start = op_start;
    ret->cancel = op_cancel;
    ret->is_busy = op_is_busy;
    ret->rate = op_rate;
    ret->health = op_health;
}
