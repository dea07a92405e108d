/* SPDX-License-Identifier: BSD-3-Clause */
/* Work that is started, and what follows when it is done. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "node/leader_in.h"

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

static void work_done(struct vel_leader *leader, struct vel_lead *lead,
                      const struct vel_leader_task *task)
{
    struct vel_msg_done done = vel_part_done(leader, lead, VEL_DID_RENAME + 1);

    switch (task->work) {
    case VEL_WORK_ENCODE:
        if (task->attempt == lead->attempt && lead->sets_left > 0 &&
            --lead->sets_left == 0)
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
    default:
        break;
    }
}

static void work_failed(struct vel_leader *leader, struct vel_lead *lead,
                        const struct vel_leader_task *task, int rc, const char *text)
{
    switch (task->work) {
    case VEL_WORK_ENCODE:
        if (task->attempt != lead->attempt)
            break;
        vel_part_stop(leader, lead->id, 1U << VEL_WORK_ENCODE);
        lead->attempt = -1; /* told again it is tried again */
        lead->sets_left = 0;
        vel_part_fail(leader, lead, rc, text);
        break;
    case VEL_WORK_COPY:
    case VEL_WORK_RENAME:
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

void vel_leader_job_done(struct vel_leader *leader, uint64_t job, int rc,
                         const struct vel_err *why, const void *bytes, size_t len)
{
    struct vel_leader_task *found = task_of(leader, job), task;

    if (!found || leader->is_over)
        return;
    task = *found;
    vel_vec_remove(&leader->tasks,
                   (size_t)(found - (struct vel_leader_task *)leader->tasks.items));
    struct vel_lead *lead = vel_lead_get(leader, task.id);
    leader->msg = NULL;
    if (rc == 0 && task.work != VEL_WORK_REMOVE_TEMPS) /* that follows a failure */
        leader->moved_at = leader->now;
    if (task.work == VEL_WORK_HOLD)
        vel_round_held(leader, rc < 0 ? "" : bytes, rc < 0 ? 0 : len);
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
