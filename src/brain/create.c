/* SPDX-License-Identifier: BSD-3-Clause */
/* A process creates a file: which key it belongs to, and its place in the cache. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "brain/connector_in.h"

enum { TEMPLATE_MOST = 4095, NUMBERS_MOST = 1023 };

/* --- answers --- */

void vel_place_send(struct vel_leader *leader, const struct vel_leader_wait *wait,
                    const struct vel_msg_place *place)
{
    struct vel_msg msg = {.kind = VEL_MSG_PLACE, .seq = wait->seq};

    msg.u.place = *place;
    msg.u.place.path = place->path ? place->path : "";
    msg.u.place.why = place->why ? place->why : "";
    vel_leader_send(leader, wait->link, &msg);
}

static bool answer_own(struct vel_leader *leader, const struct vel_leader_wait *wait,
                       enum vel_leader_where where, const char *why)
{
    struct vel_msg_place place = {.where = where, .why = why};

    vel_place_send(leader, wait, &place);
    return true;
}

static bool answer_native(struct vel_leader *leader, const struct vel_leader_wait *wait,
                          const char *why)
{
    return answer_own(leader, wait, VEL_PLACE_NATIVE, why);
}

static bool answer_live(struct vel_leader *leader, const struct vel_leader_wait *wait)
{
    leader->connector->has_made = true;
    return answer_own(leader, wait, VEL_PLACE_LIVE, "");
}

/* What was to be protected cannot be: the first is told to all. */
static bool refuse(struct vel_leader *leader, const struct vel_leader_wait *wait,
                   const char *why)
{
    vel_log(leader->connector->has_refused ? VEL_LOG_INFO : VEL_LOG_WARN,
            "%s is written to its own path, and is not protected: %s", wait->record,
            why);
    leader->connector->has_refused = true;
    return answer_native(leader, wait, why);
}

static void answer_path(struct vel_leader *leader, const struct vel_leader_wait *wait,
                        const struct vel_file *file)
{
    struct vel_msg_place place = {.where = VEL_PLACE_CACHE,
                                  .file = file->number,
                                  .dataset = (uint64_t)file->id,
                                  .size = (uint64_t)file->size,
                                  .path = file->path};

    vel_place_send(leader, wait, &place);
}

/* --- how often was it created? --- */

/* The count of creates of a name under a key by a rank; NULL: out of memory. */
static int64_t *count_of(struct vel_leader *leader, const char *template,
                         const char *step, int64_t rank, const char *name)
{
    struct vel_buf key;
    int64_t *count = NULL;

    vel_buf_init(&key);
    vel_buf_printf(&key, "%" PRId64 "\n%s\n%s\n%s", rank, template, step, name);
    if (vel_buf_status(&key, NULL) == 0)
        count = vel_names_number(&leader->connector->counts, vel_buf_text(&key));
    if (!count)
        vel_leader_fail(leader, "a count of creates");
    vel_buf_fini(&key);
    return count;
}

void vel_file_count(struct vel_leader *leader, const struct vel_file *file)
{
    const struct vel_generation *generation = file->generation;
    int64_t *count = count_of(leader, generation->template, generation->step,
                              file->rank, file->name);

    if (count && *count < generation->number)
        *count = generation->number;
}

/* --- its key --- */

/* Without a rule: a file of a template whose {rank} is known, or one by itself, which
 * may be live. VEL_EBUSY: the chair is asked. */
static int infer(struct vel_leader *leader, struct vel_leader_wait *wait,
                 struct vel_leader_rule *rule)
{
    struct vel_buf split, numbers, template, step;
    const char *below = wait->record + rule->plain;
    const struct vel_leader_family *family = NULL;
    bool waits = false;

    vel_buf_init(&split);
    vel_buf_init(&numbers);
    vel_buf_init(&template);
    vel_buf_init(&step);
    vel_buf_append(&split, wait->record, rule->plain);
    if (vel_template_split(below, &split, &numbers) > 0 && split.len <= TEMPLATE_MOST &&
        numbers.len <= NUMBERS_MOST)
        family = vel_announce_guess(leader, wait, vel_buf_text(&split),
                                    vel_buf_text(&numbers), &waits);
    if (family)
        vel_template_apply(vel_buf_text(&split), vel_buf_text(&numbers), family->place,
                           &template, &step);
    rule->is_alone =
        !family || vel_guess_has_step(family->steps, vel_buf_text(&step), wait->count);
    if (rule->is_alone) {
        vel_buf_clear(&template);
        vel_buf_clear(&step);
        vel_buf_puts(&template, wait->record);
    }
    rule->is_live = rule->is_live && rule->is_alone;
    rule->template = vel_buf_take(&template, NULL);
    vel_buf_append(&step, "", 0);
    rule->step = strdup(vel_buf_text(&step));
    vel_buf_fini(&step);
    vel_buf_fini(&numbers);
    vel_buf_fini(&split);
    return !rule->template || !rule->step ? VEL_ENOMEM : waits ? VEL_EBUSY : 0;
}

/* VEL_EBUSY: the chair is asked. */
static int find_key(struct vel_leader *leader, struct vel_leader_wait *wait,
                    struct vel_leader_rule *ret, struct vel_err *err)
{
    int rc = leader->ops->rule(leader->arg, wait->record, ret, err);

    if (rc == 0 && ret->is_native)
        return vel_fail(err, VEL_EUNSUP, "%s", ret->why);
    if (rc == 0 && !ret->is_there)
        rc = infer(leader, wait, ret);
    if (rc == VEL_ENOMEM)
        rc = vel_out_of_memory(err, "a template");
    if (rc == 0 && (strlen(ret->template) > TEMPLATE_MOST ||
                    strlen(ret->step) > VEL_TEMPLATE_STEP))
        rc = vel_fail(err, VEL_EUNSUP, "its step has more than %d bytes",
                      VEL_TEMPLATE_STEP);
    return rc;
}

/* --- a place for it --- */

/* A file of that name that was begun, and that nobody has any more: it was not
 * answered, or its process is a new one. */
static struct vel_file *find_begun(const struct vel_leader *leader,
                                   const struct vel_leader_rule *rule, int64_t rank,
                                   const char *name)
{
    for (size_t i = leader->connector->generations.n; i > 0; i--) {
        const struct vel_generation *generation = vel_generation_at(leader, i - 1);

        if (generation->is_decided ||
            strcmp(generation->template, rule->template) != 0 ||
            strcmp(generation->step, rule->step) != 0)
            continue;
        for (size_t k = 0; k < generation->files.n; k++) {
            struct vel_file *file = vel_generation_file(generation, k);

            if (file->state == VEL_FILE_OPEN && !file->link && file->rank == rank &&
                strcmp(file->name, name) == 0)
                return file;
        }
    }
    return NULL;
}

static struct vel_file *find_in(const struct vel_generation *generation, int64_t rank,
                                const char *name)
{
    for (size_t i = generation->files.n; i > 0; i--) {
        struct vel_file *file = vel_generation_file(generation, i - 1);

        if (file->rank == rank && file->part == generation->part &&
            strcmp(file->name, name) == 0)
            return file;
    }
    return NULL;
}

static bool is_stalled(const struct vel_leader *leader,
                       const struct vel_leader_wait *wait)
{
    uint64_t since = leader->moved_at > wait->since ? leader->moved_at : wait->since;

    return leader->now >= since + leader->conf.stall;
}

/* Cache full: what is flushed makes room. */
static bool may_wait(const struct vel_leader *leader,
                     const struct vel_leader_wait *wait)
{
    for (size_t i = 0; i < leader->leads.n; i++)
        if (vel_lead_left(vel_lead_at(leader, i)) > 0)
            return !is_stalled(leader, wait);
    return false;
}

/* 0, or VEL_EBUSY: it waits for room; else why it is written natively. */
static int make_part(struct vel_leader *leader, const struct vel_leader_wait *wait,
                     struct vel_generation *generation, struct vel_err *err)
{
    const struct vel_file *old = find_in(generation, wait->rank, wait->record);
    struct vel_leader_key key = vel_generation_key(generation);
    int rc;

    if (old && old->state >= VEL_FILE_CLOSED) /* it came late, and stays until then */
        generation->part = 0;
    rc = generation->part
             ? 0
             : leader->ops->part_new(leader->arg, &key, &generation->part, err);

    if (rc == VEL_ENOSPC && may_wait(leader, wait))
        return VEL_EBUSY;
    vel_lead_event(leader, generation->lead, VEL_DATASET_ON_CREATE,
                   rc == 0 ? VEL_DATASET_IF(ROOM) : 0);
    return rc;
}

/* The generation that this create is of: the next of its name, unless that is decided.
 */
static struct vel_generation *generation_for(struct vel_leader *leader,
                                             const struct vel_leader_rule *rule,
                                             int64_t count)
{
    int64_t least = vel_generation_next(leader, rule->template, rule->step);
    bool is_late = count + 1 < least;
    struct vel_leader_key key = {.template = rule->template,
                                 .step = rule->step,
                                 .generation = is_late ? least : count + 1,
                                 .is_alone = rule->is_alone,
                                 .is_late = is_late};
    struct vel_generation *generation = vel_generation_make(leader, &key);

    if (generation && is_late)
        generation->is_late = true;
    return generation;
}

static void set_native(struct vel_leader *leader, struct vel_file *file)
{
    const struct vel_leader_key key = vel_generation_key(file->generation);

    file->state = VEL_FILE_NATIVE;
    file->link = 0;
    if (leader->ops->note_native) /* without, the next leader here knows less */
        leader->ops->note_native(leader->arg, &key, file->rank, file->name, NULL);
    vel_announce_changed(leader, file->generation);
}

static void begin_file(struct vel_leader *leader, struct vel_leader_wait *wait,
                       struct vel_generation *generation, bool has_place)
{
    struct vel_file *file = find_in(generation, wait->rank, wait->record);

    if (!file)
        file = vel_file_make(leader, generation, wait->rank, wait->record);
    if (!file)
        return;
    if (!has_place) {
        set_native(leader, file);
        return;
    }
    file->state = VEL_FILE_OPENING;
    file->link = wait->link;
    file->part = generation->part;
    file->order = 0;
    wait->file = file->number;
    wait->job = vel_file_start(leader, VEL_WORK_CREATE, file, wait->how);
    vel_announce_changed(leader, generation);
}

/* Of a family without a rule the first files were live, and another leader may have
 * counted: the process knows. */
static int64_t *count_for(struct vel_leader *leader, const struct vel_leader_wait *wait,
                          const struct vel_leader_rule *rule)
{
    int64_t *count =
        count_of(leader, rule->template, rule->step, wait->rank, wait->record);

    if (count && !rule->is_there && !rule->is_alone && *count < wait->count - 1)
        *count = wait->count - 1;
    return count;
}

/* True: answered. */
static bool begin(struct vel_leader *leader, struct vel_leader_wait *wait,
                  const struct vel_leader_rule *rule)
{
    struct vel_file *begun = find_begun(leader, rule, wait->rank, wait->record);
    int64_t *count = count_for(leader, wait, rule);
    struct vel_generation *generation =
        begun && count && begun->generation->number >= *count ? begun->generation
        : count ? generation_for(leader, rule, *count)
                : NULL;
    struct vel_err err = {0};
    int rc = generation ? make_part(leader, wait, generation, &err)
                        : vel_out_of_memory(&err, "a file");

    if (rc == VEL_EBUSY)
        return false;
    if (generation && *count < generation->number)
        *count = generation->number; /* what is native counts as well */
    if (generation)
        begin_file(leader, wait, generation, rc == 0);
    return rc < 0 ? refuse(leader, wait, err.text) : false;
}

/* --- a file that was open before this leader came --- */

static bool is_better(const struct vel_file *a, const struct vel_file *b)
{
    if (!b)
        return true;
    if ((a->state == VEL_FILE_OPEN) != (b->state == VEL_FILE_OPEN))
        return a->state == VEL_FILE_OPEN;
    return a->order >= b->order;
}

static struct vel_file *find_own(const struct vel_leader *leader,
                                 const struct vel_leader_wait *wait)
{
    struct vel_file *best = NULL;

    for (size_t i = 0; i < leader->connector->generations.n; i++) {
        const struct vel_generation *generation = vel_generation_at(leader, i);

        for (size_t k = 0; k < generation->files.n; k++) {
            struct vel_file *file = vel_generation_file(generation, k);

            if (file->state > VEL_FILE_OPENING && file->rank == wait->rank &&
                strcmp(file->name, wait->record) == 0 && is_better(file, best))
                best = file;
        }
    }
    return best;
}

static bool take_back(struct vel_leader *leader, struct vel_leader_wait *wait)
{
    struct vel_file *file = find_own(leader, wait);

    if (!file) { /* it was taken, maybe */
        wait->job = vel_name_start(leader, VEL_WORK_CREATE, wait);
        return false;
    }
    file->link = wait->link;
    vel_announce_changed(leader, file->generation);
    answer_path(leader, wait, file);
    return true;
}

bool vel_create_try(struct vel_leader *leader, struct vel_leader_wait *wait)
{
    struct vel_leader_rule rule = {0};
    struct vel_err err = {0};
    bool is_answered = false;
    int rc;

    if (wait->job || leader->now < wait->again_at)
        return false;
    if (wait->how == VEL_CREATE_IS_OPEN)
        return take_back(leader, wait);
    if (wait->again_at && is_stalled(leader, wait)) {
        vel_leader_no(
            leader, wait->link, wait->seq, VEL_EBUSY,
            "another has its newest version, which is not flushed: nothing has "
            "moved for FLUSH_STALL");
        return true;
    }
    if (leader->is_ended)
        return answer_native(leader, wait, "the launch is over");
    rc = find_key(leader, wait, &rule, &err);
    if (rc < 0)
        is_answered = rc != VEL_EBUSY && answer_native(leader, wait, err.text);
    else if (rule.is_live && wait->how == VEL_CREATE_NEW)
        is_answered = answer_live(leader, wait);
    else
        is_answered = begin(leader, wait, &rule); /* a cache may have what is there */
    free(rule.template);
    free(rule.step);
    return is_answered;
}

/* --- its place is made --- */

/* One of a process that has it open, and that is a part of a dataset already. */
static void made_taken(struct vel_leader *leader, const struct vel_leader_wait *wait,
                       const struct vel_msg_place *place)
{
    struct vel_leader_key key = {.template = wait->record, .step = ""};
    struct vel_generation *generation = vel_generation_make(leader, &key);
    struct vel_file *file =
        generation ? vel_file_make(leader, generation, wait->rank, wait->record) : NULL;

    if (!file)
        return;
    generation->is_decided = generation->is_taken = true;
    file->state = VEL_FILE_TAKEN;
    file->link = wait->link;
    file->id = (int64_t)place->dataset;
    file->size = (int64_t)place->size;
    vel_leader_text(leader, &file->path, place->path);
    answer_path(leader, wait, file);
}

static void made(struct vel_leader *leader, struct vel_file *file,
                 const struct vel_leader_wait *wait, const struct vel_msg_place *place)
{
    file->state = VEL_FILE_OPEN;
    if (place->file)
        vel_file_set_in_turn(leader, file->name);
    file->is_from_others = vel_file_is_in_turn(leader, file->name);
    file->size = (int64_t)place->size;
    vel_leader_text(leader, &file->path, place->path);
    if (wait)
        answer_path(leader, wait, file);
    else
        file->link = 0; /* its process is gone */
    vel_announce_changed(leader, file->generation);
}

void vel_create_forget(struct vel_leader *leader, struct vel_file *file)
{
    int64_t *count = count_of(leader, file->generation->template,
                              file->generation->step, file->rank, file->name);

    if (count && *count == file->generation->number)
        --*count;
    vel_file_remove(leader, file);
}

void vel_create_placed(struct vel_leader *leader, const struct vel_leader_task *task,
                       const struct vel_leader_wait *wait,
                       const struct vel_msg_place *place)
{
    struct vel_file *file = vel_file_get(leader, task->file);

    if (!file && wait && task->file == 0) {
        made_taken(leader, wait, place);
    } else if (file && place->where == VEL_PLACE_CACHE) {
        made(leader, file, wait, place);
    } else {
        if (file)
            vel_create_forget(leader, file);
        if (wait)
            vel_place_send(leader, wait, place);
    }
}

/* Nothing has happened: it will be tried again. */
void vel_create_undo(struct vel_leader *leader, const struct vel_leader_task *task)
{
    struct vel_file *file = vel_file_get(leader, task->file);

    if (file)
        vel_create_forget(leader, file);
}

/* It is written natively then; but not one whose newest bytes are elsewhere, and one
 * that is open somewhere must be said to be lost. */
void vel_create_failed(struct vel_leader *leader, const struct vel_leader_task *task,
                       const struct vel_leader_wait *wait, int rc, const char *text)
{
    struct vel_file *file = vel_file_get(leader, task->file);

    if (file && rc == VEL_ELOST)
        vel_create_forget(leader, file);
    else if (file)
        set_native(leader, file);
    if (wait && (wait->how == VEL_CREATE_IS_OPEN || rc == VEL_ELOST))
        vel_leader_no(leader, wait->link, wait->seq, rc, text);
    else if (wait)
        refuse(leader, wait, text);
}
