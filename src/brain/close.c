/* SPDX-License-Identifier: BSD-3-Clause */
/* A process closes a file, or is gone; it looks for a name, or removes one. */
#include "config.h"

#include <string.h>

#include "brain/connector_in.h"

enum {
    WRITER_PART = 100
}; /* of T: between looks whether another launch still writes */

/* --- close --- */

static bool refuse(struct vel_leader *leader, const struct vel_leader_wait *wait,
                   int rc, const char *text)
{
    vel_leader_no(leader, wait->link, wait->seq, rc, text);
    return true;
}

static bool agree(struct vel_leader *leader, const struct vel_leader_wait *wait)
{
    vel_leader_yes(leader, wait->link, wait->seq, 0);
    return true;
}

/* A name that several nodes may write, one after the other: who closes it later has the
 * newer version, and that is known when the earlier one is sealed. */
static bool needs_seal(const struct vel_leader *leader,
                       const struct vel_generation *generation)
{
    return generation->is_alone && !(leader->is_chair && leader->roster.members.n <= 1);
}

static bool is_sealed(const struct vel_leader *leader, const struct vel_file *file)
{
    const struct vel_lead *lead = vel_lead_get(leader, file->generation->id);
    const struct vel_seal_member *member =
        lead && lead->has_seal ? vel_seal_find(&lead->seal, file->rank) : NULL;

    return member && member->files > 0 && member->upto >= file->order;
}

/* Answered in any case: it is complete in the cache. */
static bool try_sealed(struct vel_leader *leader, struct vel_leader_wait *wait,
                       const struct vel_file *file)
{
    if (file && !file->id && !is_sealed(leader, file) && !leader->is_ended &&
        leader->now < wait->since + leader->conf.limit)
        return false;
    return agree(leader, wait);
}

/* Its process copies it to its own path. */
static void set_native(struct vel_leader *leader, struct vel_file *file)
{
    file->state = VEL_FILE_NATIVE;
    file->order = 0;
    vel_announce_changed(leader, file->generation);
}

int vel_file_give(struct vel_leader *leader, struct vel_file *file, struct vel_err *err)
{
    const struct vel_leader_file one = {
        .part = file->part, .rank = file->rank, .name = file->name};
    int rc = leader->ops->part_give(leader->arg, &one, file->id, err);

    if (rc < 0)
        return rc;
    if (file->id == 0)
        file->state = VEL_FILE_GIVEN;
    file->is_given = true;
    vel_announce_changed(leader, file->generation);
    return 0;
}

/* All that is closed of a name here, but where one of a name is all. */
static int give_all(struct vel_leader *leader, const char *name, struct vel_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < leader->connector->generations.n; i++) {
        const struct vel_generation *generation = vel_generation_at(leader, i);

        for (size_t k = 0; rc == 0 && k < generation->files.n; k++) {
            struct vel_file *file = vel_generation_file(generation, k);

            if (!generation->is_alone && file->state >= VEL_FILE_CLOSED &&
                !file->is_given && strcmp(file->name, name) == 0)
                rc = vel_file_give(leader, file, err);
        }
    }
    return rc;
}

int vel_leader_give(struct vel_leader *leader, const char *name, struct vel_err *err)
{
    if (!leader->ops->part_give)
        return 0;
    vel_file_set_in_turn(leader, name);
    return give_all(leader, name, err);
}

static bool begin_close(struct vel_leader *leader, struct vel_leader_wait *wait,
                        struct vel_file *file)
{
    struct vel_err err = {0};
    int rc;

    if (file->state >= VEL_FILE_CLOSED) {
        file->link = 0; /* asked again, of a new leader */
        wait->is_done = true;
        return leader->conf.is_sync && wait->how == VEL_CLOSE_COMPLETE
                   ? vel_sync_try(leader, wait, file)
                   : agree(leader, wait);
    }
    if (leader->is_ended && wait->how != VEL_CLOSE_GIVEN_UP)
        return refuse(leader, wait, VEL_ECANCEL, "the launch is over");
    /* in a dataset of all ranks it would come after this one, which is by itself */
    if (wait->how == VEL_CLOSE_COMPLETE && file->generation->is_alone &&
        leader->ops->part_give && (rc = give_all(leader, file->name, &err)) < 0) {
        set_native(leader, file);
        return refuse(leader, wait, rc, err.text);
    }
    if (wait->how == VEL_CLOSE_COMPLETE) {
        file->state = VEL_FILE_CLOSING;
        file->order = vel_file_next_order(leader);
        file->size = (int64_t)wait->size;
    }
    wait->job = vel_file_start(
        leader, wait->how == VEL_CLOSE_GIVEN_UP ? VEL_WORK_DROP : VEL_WORK_CLOSE, file,
        wait->how == VEL_CLOSE_GIVEN_UP ? 0 : wait->how);
    return false;
}

bool vel_close_try(struct vel_leader *leader, struct vel_leader_wait *wait)
{
    struct vel_file *file = vel_file_get(leader, wait->file);

    if (wait->job)
        return false;
    if (wait->is_done)
        return leader->conf.is_sync ? vel_sync_try(leader, wait, file)
                                    : try_sealed(leader, wait, file);
    if (!file || file->link != wait->link || file->state == VEL_FILE_OPENING ||
        file->state == VEL_FILE_CLOSING ||
        (file->state == VEL_FILE_NATIVE && wait->how != VEL_CLOSE_GIVEN_UP))
        return refuse(leader, wait, VEL_ESTATE,
                      "this leader does not know the file as open");
    return begin_close(leader, wait, file);
}

/* Is it one that a rank has closed before another did? */
static bool is_given(const struct vel_file *file, const struct vel_file *last)
{
    return file->state == VEL_FILE_CLOSED && file->rank != last->rank &&
           file->order < last->order && strcmp(file->name, last->name) == 0;
}

void vel_file_take_over(struct vel_leader *leader, const struct vel_file *last)
{
    const struct vel_generation *of = last->generation;

    for (size_t i = 0; !of->is_alone && i < leader->connector->generations.n; i++) {
        struct vel_generation *generation = vel_generation_at(leader, i);

        if (generation->is_decided || strcmp(generation->template, of->template) != 0 ||
            strcmp(generation->step, of->step) != 0)
            continue;
        for (size_t k = 0; k < generation->files.n; k++) {
            struct vel_file *file = vel_generation_file(generation, k);

            if (!is_given(file, last))
                continue;
            file->state = VEL_FILE_GIVEN;
            vel_announce_changed(leader, generation);
        }
    }
}

static void closed(struct vel_leader *leader, struct vel_file *file)
{
    file->state = VEL_FILE_CLOSED;
    file->link = 0;
    vel_file_take_over(leader, file);
    vel_announce_changed(leader, file->generation);
    if (file->generation->lead)
        vel_lead_event(leader, file->generation->lead, VEL_DATASET_ON_CLOSE, 0);
}

static void close_done(struct vel_leader *leader, const struct vel_leader_task *task,
                       struct vel_leader_wait *wait, int rc, const char *text)
{
    struct vel_file *file = vel_file_get(leader, task->file);

    if (file && task->how == VEL_CLOSE_COMPLETE && rc == 0) {
        closed(leader, file);
    } else if (file && task->how == VEL_CLOSE_COMPLETE) {
        set_native(leader, file);
    }
    if (!wait)
        return;
    wait->job = 0;
    if (rc < 0) {
        refuse(leader, wait, rc, text);
    } else if (task->how == VEL_CLOSE_COMPLETE && file &&
               (leader->conf.is_sync || needs_seal(leader, file->generation))) {
        wait->is_done = true;
        leader->steps++;
        return;
    } else {
        agree(leader, wait);
    }
    vel_serve_end(leader, wait);
}

/* Given up: it counts no more, whatever became of its bytes. Where others have files of
 * the same key, who has opened and not changed his has been through this one. */
static void dropped(struct vel_leader *leader, const struct vel_leader_task *task,
                    struct vel_leader_wait *wait)
{
    struct vel_file *file = vel_file_get(leader, task->file);

    if (file && file->state != VEL_FILE_TAKEN && file->state != VEL_FILE_NATIVE) {
        if (file->generation->is_alone)
            vel_create_forget(leader, file);
        else
            vel_file_remove(leader, file);
    }
    if (!wait)
        return;
    agree(leader, wait);
    vel_serve_end(leader, wait);
}

/* What it has not closed stays where it is, and is never complete. */
void vel_file_gone(struct vel_leader *leader, uint64_t link)
{
    for (size_t i = 0; i < leader->connector->generations.n; i++) {
        struct vel_generation *generation = vel_generation_at(leader, i);

        for (size_t k = 0; k < generation->files.n; k++) {
            struct vel_file *file = vel_generation_file(generation, k);

            if (file->link != link)
                continue;
            file->link = 0;
            vel_announce_changed(leader, generation);
        }
    }
}

/* --- look, remove --- */

static const struct vel_file *find_open(const struct vel_leader *leader,
                                        const char *name)
{
    for (size_t i = leader->connector->generations.n; i > 0; i--) {
        const struct vel_generation *generation = vel_generation_at(leader, i - 1);

        for (size_t k = generation->files.n; k > 0; k--) {
            const struct vel_file *file = vel_generation_file(generation, k - 1);

            if (file->state == VEL_FILE_OPEN && file->link &&
                strcmp(file->name, name) == 0)
                return file;
        }
    }
    return NULL;
}

/* A launch that was killed is over when there is a view. */
static bool try_writer(struct vel_leader *leader, struct vel_leader_wait *wait)
{
    const struct vel_msg_place none = {.where = VEL_PLACE_NOWHERE};
    uint64_t limit = leader->conf.limit;
    struct vel_err err = {0};

    if (leader->is_ended || !leader->ops->writer ||
        leader->ops->writer(leader->arg, wait->record, &err) != VEL_EBUSY) {
        vel_place_send(leader, wait, &none);
        return true;
    }
    if (leader->has_view && leader->now >= wait->since + limit)
        return refuse(leader, wait, VEL_EBUSY, err.text);
    wait->again_at = leader->now + limit / WRITER_PART;
    vel_leader_at(leader, VEL_TIMER_SOON, wait->again_at);
    return false;
}

bool vel_look_try(struct vel_leader *leader, struct vel_leader_wait *wait)
{
    uint64_t since = leader->moved_at > wait->since ? leader->moved_at : wait->since;
    const struct vel_file *file = find_open(leader, wait->record);
    struct vel_msg_place place = {.where = VEL_PLACE_CACHE};

    if (wait->job || leader->now < wait->again_at)
        return false;
    if (wait->kind == VEL_MSG_LOOK && wait->how == VEL_LOOK_WRITER)
        return try_writer(leader, wait);
    if (wait->kind == VEL_MSG_LOOK && file && wait->how == VEL_LOOK_HOME)
        return refuse(leader, wait, VEL_EBUSY,
                      "another process of the program has it open to write it");
    if (wait->kind == VEL_MSG_LOOK && file) {
        place.path = file->path;
        place.size = (uint64_t)file->size;
        vel_place_send(leader, wait, &place);
        return true;
    }
    if (leader->now >= since + leader->conf.stall)
        return refuse(leader, wait, VEL_EBUSY,
                      "it is on another node, and nothing has moved for FLUSH_STALL");
    if (wait->kind == VEL_MSG_REMOVE)
        leader->connector->has_made = true;
    wait->job = vel_name_start(
        leader, wait->kind == VEL_MSG_LOOK ? VEL_WORK_LOOK : VEL_WORK_REMOVE, wait);
    return false;
}

void vel_look_again(struct vel_leader *leader)
{
    for (size_t i = 0; i < leader->waits.n; i++) {
        struct vel_leader_wait *wait = vel_vec_at(&leader->waits, i);

        if (wait->kind != VEL_MSG_CLOSE)
            wait->again_at = 0;
    }
}

static struct vel_file *find_closed(const struct vel_leader *leader, int64_t order)
{
    for (size_t i = 0; order > 0 && i < leader->connector->generations.n; i++) {
        const struct vel_generation *generation = vel_generation_at(leader, i);

        for (size_t k = 0; k < generation->files.n; k++) {
            struct vel_file *file = vel_generation_file(generation, k);

            if (file->order == order && file->state == VEL_FILE_CLOSED && !file->id)
                return file;
        }
    }
    return NULL;
}

/* What is sealed goes on; the unlinked placeholder cancels what is published. */
static void removed(struct vel_leader *leader, const struct vel_leader_wait *wait,
                    const struct vel_msg_place *place)
{
    struct vel_file *file = find_closed(leader, (int64_t)place->file);

    if (file) {
        vel_file_start(leader, VEL_WORK_DROP, file, VEL_DROP_NAME_STAYS);
        vel_file_remove(leader, file);
    }
    if (wait)
        agree(leader, wait);
}

/* --- jobs --- */

void vel_file_placed(struct vel_leader *leader, const struct vel_leader_task *task,
                     const struct vel_msg_place *place)
{
    struct vel_leader_wait *wait = vel_serve_wait_of(leader, task->number);

    if (task->work == VEL_WORK_CREATE)
        vel_create_placed(leader, task, wait, place);
    else if (task->work == VEL_WORK_REMOVE)
        removed(leader, wait, place);
    else if (wait)
        vel_place_send(leader, wait, place);
    if (wait)
        vel_serve_end(leader, wait);
}

/* It is there, but not to be had yet. */
static void try_later(struct vel_leader *leader, const struct vel_leader_task *task,
                      struct vel_leader_wait *wait)
{
    uint64_t limit = leader->conf.limit, pause = (leader->now - wait->since) / 4;

    if (task->work == VEL_WORK_CREATE)
        vel_create_undo(leader, task);
    pause = pause < limit / 100 ? limit / 100 : pause > limit / 4 ? limit / 4 : pause;
    wait->job = 0;
    wait->again_at = leader->now + pause;
    vel_leader_at(leader, VEL_TIMER_SOON, wait->again_at);
}

void vel_file_done(struct vel_leader *leader, const struct vel_leader_task *task,
                   int rc, const char *text)
{
    struct vel_leader_wait *wait = vel_serve_wait_of(leader, task->number);

    if (wait && rc == VEL_EBUSY && task->work != VEL_WORK_CLOSE &&
        task->work != VEL_WORK_DROP) {
        try_later(leader, task, wait);
        return;
    }
    switch (task->work) {
    case VEL_WORK_CLOSE:
        close_done(leader, task, wait, rc, text);
        return;
    case VEL_WORK_DROP:
        dropped(leader, task, wait);
        return;
    case VEL_WORK_CREATE:
        vel_create_failed(leader, task, wait, rc, text);
        break;
    default:
        if (wait)
            refuse(leader, wait, rc, text);
        break;
    }
    if (wait)
        vel_serve_end(leader, wait);
}
