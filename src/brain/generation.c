/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of a key on this node: from their creation until they are parts of a dataset,
 * or were too late for it. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "brain/connector_in.h"

/* --- generations --- */

struct vel_generation *vel_generation_at(const struct vel_leader *leader, size_t i)
{
    return *(struct vel_generation **)vel_vec_at(&leader->connector->generations, i);
}

static bool is_of(const struct vel_generation *generation, const char *template,
                  const char *step)
{
    return strcmp(generation->template, template) == 0 &&
           strcmp(generation->step, step) == 0;
}

static struct vel_generation *find_generation(const struct vel_leader *leader,
                                              const char *template, const char *step,
                                              int64_t number)
{
    for (size_t i = leader->connector->generations.n; i > 0; i--) {
        struct vel_generation *generation = vel_generation_at(leader, i - 1);

        if (generation->number == number && is_of(generation, template, step))
            return generation;
    }
    return NULL;
}

struct vel_leader_key vel_generation_key(const struct vel_generation *generation)
{
    return (struct vel_leader_key){.template = generation->template,
                                   .step = generation->step,
                                   .generation = generation->number,
                                   .is_alone = generation->is_alone,
                                   .is_late = generation->is_late};
}

static void destroy_file(struct vel_file *file)
{
    free(file->name);
    free(file->path);
    free(file);
}

void vel_generation_destroy(struct vel_generation *generation)
{
    if (!generation)
        return;
    for (size_t i = 0; i < generation->files.n; i++)
        destroy_file(vel_generation_file(generation, i));
    vel_vec_fini(&generation->files);
    vel_lead_destroy(generation->lead);
    free(generation->template);
    free(generation->step);
    free(generation->told);
    free(generation);
}

struct vel_generation *vel_generation_make(struct vel_leader *leader,
                                           const struct vel_leader_key *key)
{
    struct vel_generation *made =
        find_generation(leader, key->template, key->step, key->generation);

    if (made)
        return made;
    made = calloc(1, sizeof *made);
    if (made) {
        vel_vec_init(&made->files, sizeof(struct vel_file *));
        made->template = strdup(key->template);
        made->step = strdup(key->step);
        made->number = key->generation;
        made->is_alone = key->is_alone;
        made->is_late = key->is_late;
        made->lead = vel_lead_create(0);
    }
    if (!made || !made->template || !made->step || !made->lead ||
        !vel_vec_push(&leader->connector->generations, &made)) {
        vel_generation_destroy(made);
        vel_leader_fail(leader, "files of a key");
        return NULL;
    }
    return made;
}

int64_t vel_generation_next(const struct vel_leader *leader, const char *template,
                            const char *step)
{
    int64_t next = 1;

    for (size_t i = 0; i < leader->connector->generations.n; i++) {
        const struct vel_generation *generation = vel_generation_at(leader, i);

        if (generation->is_decided && generation->number >= next &&
            is_of(generation, template, step))
            next = generation->number + 1;
    }
    return next;
}

/* --- files --- */

struct vel_file *vel_generation_file(const struct vel_generation *generation, size_t i)
{
    return *(struct vel_file **)vel_vec_at(&generation->files, i);
}

struct vel_file *vel_file_make(struct vel_leader *leader,
                               struct vel_generation *generation, int64_t rank,
                               const char *name)
{
    struct vel_file *file = calloc(1, sizeof *file);

    if (file) {
        file->number = ++leader->connector->last_file;
        file->rank = rank;
        file->name = strdup(name);
        file->generation = generation;
    }
    if (!file || !file->name || !vel_vec_push(&generation->files, &file)) {
        if (file)
            destroy_file(file);
        vel_leader_fail(leader, "a file");
        return NULL;
    }
    return file;
}

static void take_out(struct vel_file *file)
{
    struct vel_vec *files = &file->generation->files;

    for (size_t i = files->n; i > 0; i--)
        if (vel_generation_file(file->generation, i - 1) == file)
            vel_vec_remove(files, i - 1);
}

void vel_file_remove(struct vel_leader *leader, struct vel_file *file)
{
    vel_announce_changed(leader, file->generation);
    take_out(file);
    destroy_file(file);
}

struct vel_file *vel_file_get(const struct vel_leader *leader, uint64_t number)
{
    for (size_t i = leader->connector->generations.n; number && i > 0; i--) {
        const struct vel_generation *generation = vel_generation_at(leader, i - 1);

        for (size_t k = generation->files.n; k > 0; k--)
            if (vel_generation_file(generation, k - 1)->number == number)
                return vel_generation_file(generation, k - 1);
    }
    return NULL;
}

/* Above all that a leader before this one has given on this node. */
int64_t vel_file_next_order(struct vel_leader *leader)
{
    return leader->ops->epoch(leader->arg) << 32 |
           (int64_t)++leader->connector->last_order;
}

/* --- its seal --- */

static int64_t upto_of(const struct vel_leader *leader, const struct vel_seal *seal,
                       int64_t rank)
{
    const struct vel_seal_member *member = vel_seal_find(seal, rank);

    return member && strcmp(member->node, leader->conf.node) == 0 ? member->upto : 0;
}

/* Only the newest step of a template is asked about what it had. */
static void forget_names(struct vel_leader *leader, const char *template,
                         const char *step)
{
    for (size_t i = 0; i < leader->connector->generations.n; i++) {
        const struct vel_generation *older = vel_generation_at(leader, i);

        if (strcmp(older->template, template) != 0 || strcmp(older->step, step) == 0)
            continue;
        for (size_t k = older->files.n; k > 0; k--) {
            struct vel_file *file = vel_generation_file(older, k - 1);

            if (file->state != VEL_FILE_TAKEN || file->link)
                continue;
            take_out(file);
            destroy_file(file);
        }
    }
}

struct vel_lead *vel_generation_lead(struct vel_leader *leader,
                                     const struct vel_seal *seal)
{
    struct vel_generation *generation =
        find_generation(leader, seal->template, seal->step, seal->generation);
    struct vel_lead *lead = generation ? generation->lead : NULL;

    if (!lead || vel_lead_get(leader, seal->id))
        return vel_lead_make(leader, seal->id);
    generation->lead = NULL;
    lead->id = lead->seal.id = seal->id;
    return vel_lead_insert(leader, lead) ? lead : NULL;
}

void vel_generation_sealed(struct vel_leader *leader, const struct vel_seal *seal)
{
    struct vel_leader_key key = {
        .template = seal->template, .step = seal->step, .generation = seal->generation};
    struct vel_generation *generation = vel_generation_make(leader, &key);
    const struct vel_lead *lead = vel_lead_get(leader, seal->id);

    if (!generation || generation->is_decided)
        return;
    generation->is_decided = true;
    generation->id = seal->id;
    generation->is_taken = !vel_seal_has_node(seal, leader->conf.node) ||
                           (lead && (lead->has_parts || lead->is_removed));
    for (size_t i = 0; i < generation->files.n; i++) {
        struct vel_file *file = vel_generation_file(generation, i);

        if ((file->state != VEL_FILE_CLOSED && file->state != VEL_FILE_GIVEN) ||
            file->order > upto_of(leader, seal, file->rank))
            continue;
        file->state = VEL_FILE_CLOSED;
        file->id = seal->id;
    }
    forget_names(leader, seal->template, seal->step);
    leader->steps++;
}

void vel_generation_taken(struct vel_leader *leader, const struct vel_lead *lead)
{
    struct vel_generation *generation = find_generation(
        leader, lead->seal.template, lead->seal.step, lead->seal.generation);

    if (!generation || !generation->is_decided || generation->id != lead->id)
        return;
    for (size_t i = 0; i < generation->files.n; i++) {
        struct vel_file *file = vel_generation_file(generation, i);

        if (file->id != lead->id)
            continue;
        file->state = VEL_FILE_TAKEN;
        if (file->is_given) /* maybe while it was taken */
            vel_file_give(leader, file, NULL);
    }
    generation->is_taken = true;
    leader->steps++;
}

/* --- what came too late --- */

static bool has_newer(const struct vel_leader *leader, const struct vel_file *file)
{
    for (size_t i = 0; i < leader->connector->generations.n; i++) {
        const struct vel_generation *newer = vel_generation_at(leader, i);

        if (newer->number <= file->generation->number ||
            !is_of(newer, file->generation->template, file->generation->step))
            continue;
        for (size_t k = 0; k < newer->files.n; k++) {
            const struct vel_file *other = vel_generation_file(newer, k);

            if (other->rank == file->rank && strcmp(other->name, file->name) == 0 &&
                other->state >= VEL_FILE_CLOSED)
                return true;
        }
    }
    return false;
}

static void drop_replaced(struct vel_leader *leader, struct vel_generation *generation)
{
    for (size_t i = generation->files.n; i > 0; i--) {
        struct vel_file *file = vel_generation_file(generation, i - 1);

        bool is_given = file->state == VEL_FILE_GIVEN;

        if (!is_given && (generation->id != 0 || file->state != VEL_FILE_CLOSED ||
                          file->link || !has_newer(leader, file)))
            continue;
        vel_file_start(leader, VEL_WORK_DROP, file, is_given ? VEL_DROP_NAME_STAYS : 0);
        vel_file_remove(leader, file);
    }
}

/* What nobody has open, and nobody has closed, stays what it is. */
static bool is_late(const struct vel_file *file)
{
    return file->state == VEL_FILE_CLOSED ||
           (file->link && file->state != VEL_FILE_TAKEN &&
            file->state != VEL_FILE_NATIVE);
}

static bool renumber(struct vel_leader *leader, struct vel_generation *from,
                     const struct vel_leader_key *key)
{
    int64_t part = 0;

    for (size_t i = 0; i < from->files.n; i++) {
        const struct vel_file *file = vel_generation_file(from, i);

        if (!is_late(file) || file->part == part)
            continue;
        part = file->part;
        if (leader->ops->part_renumber(leader->arg, part, key, NULL) < 0)
            return false;
    }
    return true;
}

/* They belong to the next one that is not decided. */
static void move_late(struct vel_leader *leader, struct vel_generation *from)
{
    struct vel_leader_key key = vel_generation_key(from);
    struct vel_generation *to;

    key.generation = vel_generation_next(leader, from->template, from->step);
    key.is_late = true;
    from->retry_at = leader->now + leader->conf.limit / 4;
    if (!renumber(leader, from, &key))
        return;
    to = vel_generation_make(leader, &key);
    for (size_t i = from->files.n; to && i > 0; i--) {
        struct vel_file *file = vel_generation_file(from, i - 1);

        if (!is_late(file))
            continue;
        if (!vel_vec_insert(&to->files, 0, &file)) {
            vel_leader_fail(leader, "a file");
            return;
        }
        vel_vec_remove(&from->files, i - 1);
        file->generation = to;
        file->id = 0;
    }
    if (!to)
        return;
    to->is_late = true;
    if (!to->part)
        to->part = from->part;
    from->part = 0;
    vel_announce_changed(leader, to);
}

/* All of it is in its dataset, and no process has any of it open. The chair knows it,
 * should a file of it come late. */
static bool is_over(const struct vel_generation *generation)
{
    bool is_over = generation->is_decided && generation->is_taken;

    for (size_t i = 0; is_over && i < generation->files.n; i++) {
        const struct vel_file *file = vel_generation_file(generation, i);

        is_over = file->state == VEL_FILE_TAKEN && !file->link;
    }
    return is_over;
}

/* A program may write files for weeks. */
static void forget_over(struct vel_leader *leader)
{
    struct vel_vec *all = &leader->connector->generations;
    struct vel_generation **items = all->items;
    size_t n = 0;

    for (size_t i = 0; i < all->n; i++)
        if (is_over(items[i]))
            vel_generation_destroy(items[i]);
        else
            items[n++] = items[i];
    all->n = n;
    leader->connector->many =
        n < VEL_GENERATIONS_MANY / 2 ? VEL_GENERATIONS_MANY : 2 * n;
}

void vel_generation_advance(struct vel_leader *leader)
{
    if (leader->connector->generations.n > leader->connector->many)
        forget_over(leader);
    for (size_t i = 0; i < leader->connector->generations.n; i++) {
        struct vel_generation *generation = vel_generation_at(leader, i);
        bool has_late = false;

        if (!generation->is_taken || leader->now < generation->retry_at)
            continue;
        drop_replaced(leader, generation);
        for (size_t k = 0; k < generation->files.n; k++)
            has_late = has_late || is_late(vel_generation_file(generation, k));
        if (has_late)
            move_late(leader, generation);
    }
}

/* --- what is on disk --- */

static void load_one(struct vel_leader *leader, struct vel_leader_part *part)
{
    struct vel_generation *generation = vel_generation_make(leader, &part->key);
    struct vel_file *file =
        generation ? vel_file_make(leader, generation, part->file.rank, part->file.name)
                   : NULL;

    if (!file)
        return;
    generation->is_dirty = true;
    if (part->is_native) {
        file->state = VEL_FILE_NATIVE;
        vel_file_count(leader, file);
        return;
    }
    generation->part = file->part = part->file.part;
    file->order = part->file.order;
    file->size = part->file.size;
    file->state = part->is_given    ? VEL_FILE_GIVEN
                  : file->order > 0 ? VEL_FILE_CLOSED
                                    : VEL_FILE_OPEN;
    file->is_given = part->is_given;
    file->is_from_others = true; /* for all that is known */
    file->path = part->path;
    part->path = NULL;
    vel_file_count(leader, file);
    vel_lead_event(leader, generation->lead, VEL_DATASET_ON_CREATE,
                   VEL_DATASET_IF(ROOM));
}

void vel_generation_load(struct vel_leader *leader)
{
    struct vel_vec parts;

    vel_vec_init(&parts, sizeof(struct vel_leader_part));
    leader->ops->parts(leader->arg, &parts, NULL); /* else the next who looks */
    leader->connector->has_work = leader->leads.n > 0 || parts.n > 0;
    for (size_t i = 0; i < parts.n; i++) {
        struct vel_leader_part *part = vel_vec_at(&parts, i);

        load_one(leader, part);
        free((char *)part->key.template);
        free((char *)part->key.step);
        free((char *)part->file.name);
        free(part->path);
    }
    vel_vec_fini(&parts);
    for (size_t i = 0; i < leader->connector->generations.n; i++) {
        const struct vel_generation *generation = vel_generation_at(leader, i);

        for (size_t k = 0; k < generation->files.n; k++)
            if (vel_generation_file(generation, k)->state == VEL_FILE_CLOSED)
                vel_file_take_over(leader, vel_generation_file(generation, k));
    }
}

uint64_t vel_generation_left(const struct vel_leader *leader)
{
    uint64_t left = 0;

    for (size_t i = 0; i < leader->connector->generations.n; i++) {
        const struct vel_generation *generation = vel_generation_at(leader, i);

        for (size_t k = 0; k < generation->files.n; k++) {
            const struct vel_file *file = vel_generation_file(generation, k);

            if (file->state == VEL_FILE_CLOSED && !file->id)
                left += file->size > 0 ? (uint64_t)file->size : 1;
        }
    }
    return left;
}
