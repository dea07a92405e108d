/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of a key become parts of its dataset: those of this launch when it is sealed,
 * and what launches that are over have not come to take. */
#include "config.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "jobs/compose.h"
#include "jobs/take.h"
#include "meta/index.h"
#include "node/service_in.h"
#include "view/seals.h"
#include "node/service_room.h"
#include "topo/seats.h"
#include "view/point.h"

/* Of a level whose store is another one than that in which its files are written. */
static bool is_elsewhere(const struct vel_service *service, const struct vel_seal *seal,
                         size_t level)
{
    const struct vel_line *line = vel_service_line(service, seal->template);
    size_t first = 0;

    return vel_compose_first_level(service->conf, line ? line->data : NULL, &first,
                                   NULL) < 0 ||
           vel_seats_store_level(service->conf, first) !=
               vel_seats_store_level(service->conf, level);
}

/* Where this node's parts are made: files come to the store of the level when it is
 * another one than where such files are written, and has room. What was written in yet
 * another one, for want of room, does not go back. */
static const char *choose_home(void *arg, const struct vel_seal *seal, const char *from)
{
    struct vel_service *service = arg;
    size_t level = (size_t)vel_seal_level(seal);
    size_t at = vel_seats_home(service->conf, level, service->homes, service->n_homes);
    struct vel_err why = {0};
    uint64_t bytes = 0;

    for (size_t i = 0; i < seal->members.n; i++)
        if (strcmp(vel_seal_member(seal, i)->node, service->host.node) == 0)
            bytes += (uint64_t)vel_seal_member(seal, i)->bytes;
    if (!from)
        return vel_service_home_for(service, level, bytes);
    if (at == service->n_homes || service->homes[at] == from ||
        !is_elsewhere(service, seal, level))
        return from;
    if (vel_service_find_room(service, level, level, bytes, &at, &why) == 0)
        return service->homes[at];
    if (!atomic_exchange(&service->has_told_stays, true))
        vel_log(VEL_LOG_WARN, "datasets stay in the store where they were written: %s",
                why.text);
    return from;
}

static int take(struct vel_service *service, const char *launch,
                const struct vel_seal *seal, struct vel_err *err)
{
    struct vel_take what = {.fs = service->fs,
                            .conf = service->conf,
                            .node = service->host.node,
                            .launch = launch,
                            .prefix = service->prefix,
                            .homes = service->homes,
                            .batches = service->batches,
                            .n_homes = service->n_homes,
                            .placeholders = service->placeholders,
                            .is_over = strcmp(launch, service->launch) != 0,
                            .seal = seal,
                            .dataset = &seal->about,
                            .choose = choose_home,
                            .arg = service};
    char *home = vel_service_home_of(service, seal->id);
    char *after = seal->after ? vel_service_home_of(service, seal->after) : NULL;
    int rc;

    what.home = home;
    what.after = after;
    rc = vel_take(&what, err);
    free(after);
    free(home);
    return rc;
}

/* Of the launch that sealed it: this one may write a step of an earlier one again,
 * whose files have the same key and are none of that dataset. */
int vel_service_take(struct vel_service_job *job, struct vel_err *err)
{
    struct vel_service *service = job->service;
    char *launch = NULL;
    int rc = vel_index_maker(service->index, job->seal.id, &launch, NULL, err);

    if (rc == 0)
        rc = take(service, launch, &job->seal, err);
    free(launch);
    return rc;
}

/* --- what is left of launches that are over --- */

/* Of the launches that are over: struct vel_seals, by name. */
static int load_seals(struct vel_service *service, struct vel_map *all,
                      const char *launch, const struct vel_seals **ret,
                      struct vel_err *err)
{
    struct vel_seals *seals = vel_map_get(all, launch);
    int rc = seals ? 0 : vel_seals_load(service->fs, service->dir, launch, &seals, err);

    if (rc == 0 && !vel_map_has(all, launch) &&
        vel_map_set(all, launch, seals, NULL) < 0) {
        vel_seals_destroy(seals);
        rc = vel_out_of_memory(err, "seals");
    }
    *ret = seals;
    return rc;
}

/* The seal of a key, if it counts as one that has files. */
static int load_seal(struct vel_service *service, struct vel_map *all,
                     const struct vel_batch *part, struct vel_seal *ret,
                     struct vel_err *err)
{
    const struct vel_seal of = {.template = part->key.template,
                                .step = part->key.step,
                                .generation = part->key.generation};
    const struct vel_seals *seals;
    char key[VEL_SEALS_KEY];
    int rc = load_seals(service, all, part->key.launch, &seals, err);

    vel_seals_key(&of, key);
    return rc == 0 ? vel_seals_find(seals, key, ret, err) : rc;
}

/* Files that were open become what they were at the version point that is sealed; the
 * point is needed until that is on the disk. */
static int close_at_point(struct vel_service *service, const struct vel_batch *batch,
                          const struct vel_batch_rank *rank, int64_t point,
                          struct vel_err *err)
{
    struct vel_batches *batches = vel_service_batches(service, batch->dir);
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < rank->files.n; i++) {
        struct vel_batch_file file =
            *(struct vel_batch_file *)vel_vec_at(&rank->files, i);

        if (file.order > 0)
            continue;
        rc = vel_point_restore(service->fs, batch->dir, rank->rank, file.name, point,
                               &file.size, err);
        if (rc == 0) /* nothing follows */
            rc = vel_batches_close(batches, batch->dir, rank->rank, file.name,
                                   INT64_MAX, file.size, err);
        if (rc == 0)
            rc = vel_batches_settle(batches, err);
        if (rc == 0)
            rc = vel_point_remove(service->fs, batch->dir, rank->rank, file.name, err);
    }
    return rc;
}

/* *ret_is_left: nobody has sealed them. */
static int take_one(struct vel_service *service, struct vel_map *seals,
                    const struct vel_batch *part, bool *ret_is_left,
                    struct vel_err *err)
{
    struct vel_seal seal;
    int rc;

    vel_seal_init(&seal);
    rc = load_seal(service, seals, part, &seal, err);
    *ret_is_left = rc == VEL_ENOENT || (rc == 0 && seal.verdict == VEL_VERDICT_VOID);
    if (rc == 0 && seal.point > 0 &&
        !vel_batches_has(vel_service_batches(service, part->dir), part->dir))
        rc = VEL_ENOENT; /* who has it in his ledger does that */
    for (size_t i = 0; rc == 0 && seal.point > 0 && i < part->ranks.n; i++)
        rc =
            close_at_point(service, part, vel_vec_at(&part->ranks, i), seal.point, err);
    if (rc == 0 && !*ret_is_left)
        rc = take(service, part->key.launch, &seal, err);
    vel_seal_fini(&seal);
    return rc == VEL_ENOENT ? 0 : rc;
}

static void seals_free(void *seals)
{
    vel_seals_destroy(seals);
}

static void take_all(struct vel_service *service, const struct vel_vec *found,
                     struct vel_vec *ret_left)
{
    struct vel_map *seals = vel_map_create();

    for (size_t i = 0; seals && i < found->n; i++) {
        const struct vel_batch *part = vel_vec_at(found, i);
        struct vel_err why = {0};
        bool is_left;

        if (!vel_fs_exists(service->fs, part->dir))
            continue;
        if (take_one(service, seals, part, &is_left, &why) < 0)
            vel_log(VEL_LOG_WARN,
                    "files of %s, step '%s', of launch %s do not count: %s",
                    part->key.template, part->key.step, part->key.launch, why.text);
        else if (is_left)
            vel_vec_push(ret_left, &part); /* else they stay until the next time */
    }
    if (seals)
        vel_map_destroy(seals, seals_free);
}

/* Is there a part of it to be made here, and none that has files? Those that had some
 * and are nowhere are lost. */
static bool lacks_empty(struct vel_service *service, const struct vel_seal *seal)
{
    char *home = vel_service_home_of(service, seal->id);
    bool lacks = false, has_lost = false;

    for (size_t i = 0; i < seal->members.n; i++) {
        const struct vel_seal_member *member = vel_seal_member(seal, i);
        char *dir;

        if (strcmp(member->node, service->host.node) != 0)
            continue;
        dir = home ? vel_batch_numbered(home, "rank", member->rank) : NULL;
        if (!dir || !vel_fs_exists(service->fs, dir)) {
            lacks = true;
            has_lost = has_lost || member->files > 0;
        }
        free(dir);
    }
    free(home);
    return lacks && !has_lost;
}

/* Where a program wrote nothing there is nothing to be found of what it sealed, and
 * without its empty parts the dataset is not whole. */
static void take_one_empty(struct vel_service *service, const struct vel_seal *seal)
{
    struct vel_err why = {0};
    char *launch = NULL;
    bool is_over = false;
    int rc = vel_index_maker(service->index, seal->id, &launch, NULL, &why);

    if (rc == 0)
        rc = vel_service_is_launch_over(service, launch, &is_over, &why);
    if (rc == 0 && is_over)
        rc = take(service, launch, seal, &why);
    if (rc < 0 && rc != VEL_ENOENT)
        vel_log(VEL_LOG_WARN, "dataset %" PRId64 " may not count: %s", seal->id,
                why.text);
    free(launch);
}

/* --- empty parts of nodes that stay away --- */

static bool decides(struct vel_service *service)
{
    struct vel_leader_chair chair = {0};

    return vel_service_chair(service, &chair, NULL) == 0 && chair.term > 0 &&
           strcmp(chair.node, service->host.node) == 0;
}

/* Is it in caches alone, and each part of it in one alone? */
static bool needs_all(struct vel_service *service, const struct vel_seal *seal)
{
    struct vel_index_where where;
    bool is_single = true;

    if (vel_index_where(service->index, seal->id, &where, NULL) < 0)
        return seal->verdict == VEL_VERDICT_SEALED;
    for (size_t i = 0; i < seal->members.n; i++)
        is_single = is_single && vel_seal_member(seal, i)->scheme == VEL_SINGLE;
    return (is_single || !where.is_encoded) && where.place != VEL_ON_PREFIX &&
           !where.is_replaced && seal->verdict == VEL_VERDICT_SEALED;
}

/* They hold nothing, and are made here then. */
static void seat_empty(struct vel_service *service, struct vel_seal *seal)
{
    for (size_t i = 0; i < seal->members.n; i++) {
        struct vel_seal_member *member = vel_vec_at(&seal->members, i);
        char *node;

        if (member->files > 0 || strcmp(member->node, service->host.node) == 0 ||
            !vel_service_has_left(service, member->node))
            continue;
        node = strdup(service->host.node);
        if (!node)
            return;
        free(member->node);
        member->node = node;
    }
}

/* Where a program wrote nothing there is nothing to be found of what it sealed, and
 * without its empty parts the dataset is not whole. */
static void take_empty(struct vel_service *service)
{
    struct vel_vec seals;
    bool is_chair = decides(service);
    int rc;

    vel_vec_init(&seals, sizeof(struct vel_seal));
    rc = vel_service_old_seals(service, VEL_VERDICT_SEALED, &seals, NULL);
    for (size_t i = 0; i < seals.n; i++) {
        struct vel_seal *seal = vel_vec_at(&seals, i);

        if (rc == 0 && is_chair && *seal->template && needs_all(service, seal))
            seat_empty(service, seal);
        if (rc == 0 && *seal->template && lacks_empty(service, seal))
            take_one_empty(service, seal);
        vel_seal_fini(seal);
    }
    vel_vec_fini(&seals);
}

static int is_over(void *arg, const char *launch, bool *ret_is, struct vel_err *err)
{
    return vel_service_is_launch_over(arg, launch, ret_is, err);
}

void vel_service_take_old(struct vel_service *service)
{
    struct vel_vec found, left;
    struct vel_err why = {0};

    vel_vec_init(&left, sizeof(struct vel_batch *));
    for (size_t i = 0; i < service->n_homes; i++) {
        if (vel_batches_take_over(service->batches[i], is_over, service, &why) < 0)
            vel_log(VEL_LOG_WARN,
                    "what launches before have left in %s is not restored: %s",
                    service->homes[i], why.text);
    }
    if (vel_service_list_over(service, &found, &why) < 0)
        vel_log(VEL_LOG_WARN, "what launches before have left is not restored: %s",
                why.text);
    take_all(service, &found, &left);
    take_empty(service);
    if (left.n > 0 && vel_service_drop_replaced(service, &left, &why) < 0)
        vel_log(VEL_LOG_DEBUG, "%s", why.text);
    vel_vec_fini(&left);
    vel_batch_list_fini(&found);
}
