/* SPDX-License-Identifier: BSD-3-Clause */
/* Work that is started, and what follows when it is done. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "brain/connector_in.h"
#include "brain/mark_in.h"

static struct vel_leader_task *task_at(const struct vel_leader *leader, size_t i)
{
    return vel_vec_at(&leader->tasks, i);
}

uint64_t vel_part_start(struct vel_leader *leader, struct vel_lead *lead,
                        enum vel_leader_work work, int64_t set, const char *node)
{
    struct vel_leader_task task = {.number = ++leader->last_job,
                                   .work = work,
                                   .id = lead ? lead->id : 0,
                                   .attempt = lead ? lead->seal.attempt : 0,
                                   .node = node ? strdup(node) : NULL};
    struct vel_leader_job job = {.number = task.number,
                                 .work = work,
                                 .id = task.id,
                                 .set = set,
                                 .attempt = task.attempt,
                                 .node = node};

    if ((node && !task.node) || !vel_vec_push(&leader->tasks, &task)) {
        free(task.node);
        vel_leader_fail(leader, "a job");
        return 0;
    }
    if (lead) {
        job.seal = &lead->seal;
        job.owner = lead->seal.owner;
        job.rate = lead->rate;
    }
    leader->ops->start(leader->arg, &job);
    return task.number;
}

static uint64_t start_like(struct vel_leader *leader,
                           const struct vel_leader_task *like,
                           struct vel_leader_job *job)
{
    struct vel_leader_task task = *like;

    task.number = ++leader->last_job;
    if (!vel_vec_push(&leader->tasks, &task)) {
        vel_leader_fail(leader, "a job");
        return 0;
    }
    job->number = task.number;
    job->work = task.work;
    job->how = task.how;
    leader->ops->start(leader->arg, job);
    return task.number;
}

uint64_t vel_file_start(struct vel_leader *leader, enum vel_leader_work work,
                        const struct vel_file *file, int how)
{
    struct vel_leader_task task = {.work = work, .file = file->number, .how = how};
    struct vel_leader_key key = vel_generation_key(file->generation);
    struct vel_leader_file one = {.part = file->part,
                                  .rank = file->rank,
                                  .name = file->name,
                                  .order = file->order,
                                  .size = file->size,
                                  .is_from_others = file->is_from_others};
    struct vel_leader_job job = {.file = &one, .key = &key, .name = file->name};

    return start_like(leader, &task, &job);
}

uint64_t vel_name_start(struct vel_leader *leader, enum vel_leader_work work,
                        const struct vel_leader_wait *wait)
{
    struct vel_leader_task task = {.work = work, .how = wait->how};
    struct vel_leader_file one = {.rank = wait->rank, .name = wait->record};
    struct vel_leader_job job = {.file = &one, .name = wait->record};

    return start_like(leader, &task, &job);
}

/* No work on a dataset: what stops that does not stop this. */
uint64_t vel_mark_start(struct vel_leader *leader, const struct vel_leader_wait *wait)
{
    struct vel_leader_task task = {.work = VEL_WORK_MARK, .how = wait->how};
    struct vel_leader_job job = {.id = wait->id, .record = {wait->record, wait->len}};

    return start_like(leader, &task, &job);
}

bool vel_part_has(const struct vel_leader *leader, int64_t id,
                  enum vel_leader_work work)
{
    for (size_t i = 0; i < leader->tasks.n; i++)
        if (task_at(leader, i)->id == id && task_at(leader, i)->work == work)
            return true;
    return false;
}

void vel_part_stop(struct vel_leader *leader, int64_t id, unsigned works)
{
    for (size_t i = leader->tasks.n; i > 0; i--) {
        struct vel_leader_task *task = task_at(leader, i - 1);

        if (task->id != id || !(works & 1U << task->work))
            continue;
        leader->ops->cancel(leader->arg, task->number);
        free(task->node);
        vel_vec_remove(&leader->tasks, i - 1);
    }
}

uint64_t vel_part_job(const struct vel_leader *leader, int64_t id,
                      enum vel_leader_work work)
{
    for (size_t i = 0; i < leader->tasks.n; i++)
        if (task_at(leader, i)->id == id && task_at(leader, i)->work == work &&
            !task_at(leader, i)->node)
            return task_at(leader, i)->number;
    return 0;
}

/* --- what jobs say --- */

static void step_done(struct vel_leader *leader, struct vel_lead *lead,
                      enum vel_step_done step, enum vel_dataset_event event)
{
    lead->did[step] = true;
    leader->did = step;
    vel_lead_event(leader, lead, event, 0);
}

static void taken(struct vel_leader *leader, struct vel_lead *lead)
{
    lead->has_parts = !lead->has_more;
    vel_generation_taken(leader, lead);
    if (lead->state == VEL_DATASET_SEALED)
        vel_part_take(leader, lead);
    else if (lead->state == VEL_DATASET_FLUSHING)
        vel_part_copy(leader, lead);
    else if (lead->is_removed)
        vel_part_start(leader, lead, VEL_WORK_REMOVE_PARTS, 0, NULL);
}

/* A newer attempt may have been told, and waits for parts to be taken: what comes of
 * this one is none of that. */
static bool is_current(const struct vel_lead *lead, const struct vel_leader_task *task)
{
    return task->attempt == lead->attempt && task->attempt == lead->seal.attempt;
}

static void work_done(struct vel_leader *leader, struct vel_lead *lead,
                      const struct vel_leader_task *task)
{
    struct vel_msg_done done = vel_part_done(leader, lead, VEL_DID_RENAME + 1);

    switch (task->work) {
    case VEL_WORK_ENCODE:
        if (is_current(lead, task) && lead->sets_left > 0 && --lead->sets_left == 0)
            step_done(leader, lead, VEL_DID_ENCODE, VEL_DATASET_ON_PART);
        break;
    case VEL_WORK_COPY:
        step_done(leader, lead, VEL_DID_COPY, VEL_DATASET_ON_COPIED);
        break;
    case VEL_WORK_RENAME:
        if (!task->node)
            step_done(leader, lead, VEL_DID_RENAME, VEL_DATASET_ON_RENAMED);
        else if (vel_part_leads(leader, lead)) {
            done.nodes = task->node;
            vel_chair_done(leader, lead, &done);
        }
        break;
    case VEL_WORK_REMOVE_TEMPS:
        if (lead->state == VEL_DATASET_FLUSHING && !lead->is_staged)
            vel_part_copy(leader, lead); /* it was told to wait for this */
        break;
    case VEL_WORK_TAKE:
        taken(leader, lead);
        break;
    default:
        break;
    }
}

static void work_failed(struct vel_leader *leader, struct vel_lead *lead,
                        const struct vel_leader_task *task, int rc, const char *text)
{
    bool counts = is_current(lead, task);

    switch (task->work) {
    case VEL_WORK_ENCODE:
        if (task->attempt != lead->attempt)
            break;
        vel_part_stop(leader, lead->id, 1U << VEL_WORK_ENCODE);
        lead->attempt = -1; /* told again it is tried again */
        lead->sets_left = 0;
        if (counts)
            vel_part_fail(leader, lead, rc, text);
        break;
    case VEL_WORK_COPY:
    case VEL_WORK_RENAME:
    case VEL_WORK_TAKE:
        vel_part_fail(leader, lead, rc, text);
        break;
    case VEL_WORK_REMOVE_TEMPS: /* the next copy removes what is left */
        if (lead->state == VEL_DATASET_FLUSHING && !lead->is_staged)
            vel_part_copy(leader, lead);
        break;
    default: /* what is not removed now is found and removed by the next who looks */
        vel_lead_failed(leader, lead, rc, text);
        break;
    }
}

static struct vel_leader_task *task_of(const struct vel_leader *leader, uint64_t job)
{
    for (size_t i = 0; i < leader->tasks.n; i++)
        if (task_at(leader, i)->number == job)
            return task_at(leader, i);
    return NULL;
}

static bool is_of_file(enum vel_leader_work work)
{
    return work >= VEL_WORK_CREATE && work != VEL_WORK_TAKE;
}

/* It is none of ours any more. */
static struct vel_leader_task end_task(struct vel_leader *leader,
                                       struct vel_leader_task *found)
{
    struct vel_leader_task task = *found;

    vel_vec_remove(&leader->tasks,
                   (size_t)(found - (struct vel_leader_task *)leader->tasks.items));
    leader->msg = NULL;
    return task;
}

void vel_leader_job_placed(struct vel_leader *leader, uint64_t job,
                           const struct vel_msg_place *place)
{
    struct vel_leader_task *found = task_of(leader, job), task;

    if (!found || leader->is_over || !is_of_file(found->work))
        return;
    task = end_task(leader, found);
    leader->moved_at = leader->now;
    vel_file_placed(leader, &task, place);
    vel_leader_tick(leader, leader->now);
}

void vel_leader_job_done(struct vel_leader *leader, uint64_t job, int rc,
                         const struct vel_err *why, const void *bytes, size_t len)
{
    struct vel_leader_task *found = task_of(leader, job), task;

    if (!found || leader->is_over)
        return;
    task = end_task(leader, found);
    struct vel_lead *lead = vel_lead_get(leader, task.id);
    if (rc == 0 && task.work != VEL_WORK_REMOVE_TEMPS) /* that follows a failure */
        leader->moved_at = leader->now;
    if (task.work == VEL_WORK_MARK)
        vel_mark_done(leader, job, rc, why ? why->text : vel_status_text(rc));
    else if (task.work == VEL_WORK_HOLD)
        vel_round_held(leader, rc < 0 ? "" : bytes, rc < 0 ? 0 : len);
    else if (is_of_file(task.work))
        vel_file_done(leader, &task, rc, why ? why->text : vel_status_text(rc));
    else if (lead && rc == 0)
        work_done(leader, lead, &task);
    else if (lead)
        work_failed(leader, lead, &task, rc, why ? why->text : vel_status_text(rc));
    free(task.node);
    vel_leader_tick(leader, leader->now);
}

void vel_leader_job_moved(struct vel_leader *leader, uint64_t job, uint64_t bytes)
{
    const struct vel_leader_task *task = task_of(leader, job);
    struct vel_lead *lead = task ? vel_lead_get(leader, task->id) : NULL;

    if (lead && task->work == VEL_WORK_COPY)
        lead->moved += bytes;
    leader->moved_at = leader->now;
}
