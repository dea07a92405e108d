/* SPDX-License-Identifier: BSD-3-Clause */
/* What launches before this one have closed, or flushed, and not sealed: nodes tell it,
 * the chair seals what is whole before it makes the view (doc/life.txt, 13).
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/map.h"
#include "node/service_in.h"
#include "view/left.h"
#include "view/point.h"

/* --- what this node has --- */

/* What all open files have in common. */
static int note_points(struct vel_service *service, const char *dir,
                       const struct vel_batch_file *file, struct vel_left *left,
                       struct vel_err *err)
{
    struct vel_vec points;
    char *path = NULL;
    struct stat st;
    int rc = vel_batch_path(dir, left->rank, file->name, &path, err);

    if (rc == 0 && vel_fs_lstat(service->fs, path, &st, NULL) == 0)
        left->bytes += st.st_size; /* about so many */
    free(path);
    vel_vec_init(&points, sizeof(int64_t));
    if (rc == 0)
        rc = vel_point_list(service->fs, dir, left->rank, file->name, &points, err);
    if (rc == 0 && left->open == 1) {
        left->points = points;
        return 0;
    }
    vel_left_keep_common(&left->points, &points);
    vel_vec_fini(&points);
    return rc;
}

/* A file that is complete has the size that it was closed with: more is not known of it
 * before it is taken. */
static bool is_as_closed(struct vel_service *service, const struct vel_batch *part,
                         int64_t rank, const struct vel_batch_file *file)
{
    char *path = NULL;
    struct stat st = {0};
    bool is_there = vel_batch_path(part->dir, rank, file->name, &path, NULL) == 0 &&
                    vel_fs_lstat(service->fs, path, &st, NULL) == 0;
    bool is = is_there && st.st_size == file->size;

    if (is_there && !is)
        vel_log(VEL_LOG_WARN,
                "%s has %" PRId64 " bytes, and had %" PRId64
                " when it was closed: it is not restored",
                path, (int64_t)st.st_size, file->size);
    free(path);
    return is;
}

static int add_rank(struct vel_service *service, const struct vel_batch *part,
                    const struct vel_batch_rank *rank, struct vel_vec *ret,
                    struct vel_err *err)
{
    struct vel_left left;
    bool is_damaged = false;
    int rc;

    vel_left_init(&left);
    rc = vel_batch_key_copy(&part->key, &left.key, err);
    left.rank = rank->rank;
    for (size_t i = 0; i < rank->files.n; i++) {
        const struct vel_batch_file *file = vel_vec_at(&rank->files, i);
        bool is = file->order > 0 && is_as_closed(service, part, rank->rank, file);

        left.closed += is;
        left.open += !is;
        is_damaged = is_damaged || (file->order > 0 && !is);
        left.bytes += file->size;
        left.order = file->order > left.order ? file->order : left.order;
        if (rc == 0 && file->order == 0)
            rc = note_points(service, part->dir, file, &left, err);
    }
    if (is_damaged) /* no version point tells what it was */
        left.points.n = 0;
    if (rc == 0 && !vel_vec_push(ret, &left))
        rc = vel_out_of_memory(err, "what is left");
    if (rc < 0)
        vel_left_fini(&left);
    return rc;
}

static int add_part(struct vel_service *service, const struct vel_batch *part,
                    struct vel_vec *ret, struct vel_err *err)
{
    int rc = 0;

    for (size_t r = 0; rc == 0 && r < part->ranks.n; r++)
        if (((struct vel_batch_rank *)vel_vec_at(&part->ranks, r))->files.n > 0)
            rc = add_rank(service, part, vel_vec_at(&part->ranks, r), ret, err);
    return rc;
}

int vel_service_opened(struct vel_service *service, struct vel_vec *ret,
                       struct vel_err *err)
{
    struct vel_vec found;
    int rc = 0;

    vel_vec_init(&found, sizeof(struct vel_batch));
    for (size_t i = 0; rc == 0 && i < service->n_homes; i++)
        rc = vel_batches_read(service->fs, service->homes[i],
                              vel_batches_boot(service->batches[i]), &found, err);
    for (size_t i = 0; rc == 0 && i < found.n; i++)
        rc = add_part(service, vel_vec_at(&found, i), ret, err);
    vel_batch_list_fini(&found);
    return rc;
}

static int list_all(struct vel_service *service, struct vel_vec *ret,
                    struct vel_err *err)
{
    int rc = 0;

    vel_vec_init(ret, sizeof(struct vel_batch));
    for (size_t i = 0; rc == 0 && i < service->n_homes; i++)
        rc = vel_batches_list_all(service->batches[i], ret, err);
    return rc;
}

/* Which launches that have files here are over? Keys of the map. */
static int find_over(struct vel_service *service, struct vel_map *ret,
                     struct vel_err *err)
{
    struct vel_vec found;
    int rc = list_all(service, &found, err);

    for (size_t i = 0; rc == 0 && i < found.n; i++) {
        const char *launch = ((struct vel_batch *)vel_vec_at(&found, i))->key.launch;
        bool is_over = false;

        if (vel_map_has(ret, launch) || strcmp(launch, service->launch) == 0)
            continue;
        rc = vel_service_is_launch_over(service, launch, &is_over, err);
        if (rc == 0 && is_over && vel_map_set(ret, launch, ret, NULL) < 0)
            rc = vel_out_of_memory(err, "batches");
    }
    vel_batch_list_fini(&found);
    return rc;
}

int vel_service_list_over(struct vel_service *service, struct vel_vec *ret,
                          struct vel_err *err)
{
    struct vel_map *over = vel_map_create();
    size_t n = 0;
    int rc = over ? find_over(service, over, err) : vel_out_of_memory(err, "batches");

    if (rc == 0 && vel_map_count(over) > 0)
        rc = list_all(service, ret, err); /* as they have left it */
    else
        vel_vec_init(ret, sizeof(struct vel_batch));
    for (size_t i = 0; i < ret->n; i++) {
        struct vel_batch *items = ret->items;

        if (vel_map_has(over, items[i].key.launch))
            items[n++] = items[i];
        else
            vel_batch_fini(&items[i]);
    }
    ret->n = n;
    if (over)
        vel_map_destroy(over, NULL);
    return rc;
}

int vel_service_left(struct vel_service *service, struct vel_vec *ret,
                     struct vel_err *err)
{
    struct vel_vec found;
    int rc = vel_service_list_over(service, &found, err);

    for (size_t i = 0; rc == 0 && i < found.n; i++)
        rc = add_part(service, vel_vec_at(&found, i), ret, err);
    vel_batch_list_fini(&found);
    return rc;
}

/* --- what was replaced --- */

static bool has_files(const struct vel_batch *part)
{
    for (size_t i = 0; i < part->ranks.n; i++)
        if (((struct vel_batch_rank *)vel_vec_at(&part->ranks, i))->files.n > 0)
            return true;
    return false;
}

static int drop(struct vel_service *service, const struct vel_left_of *of,
                const struct vel_batch *part, struct vel_err *err)
{
    int rc = 0;

    if (!vel_batches_has(vel_service_batches(service, part->dir), part->dir) ||
        (has_files(part) && !vel_left_is_replaced(of, &part->key)))
        return 0;
    rc = vel_placeholders_lose(service->placeholders, part->dir, err);
    return rc == 0 ? vel_batches_remove(vel_service_batches(service, part->dir),
                                        part->dir, err)
                   : rc;
}

int vel_service_drop_replaced(struct vel_service *service, const struct vel_vec *parts,
                              struct vel_err *err)
{
    struct vel_left_of of = {.node = service->host.node};
    struct vel_evidence evidence;
    struct vel_vec over;
    int rc;

    vel_vec_init(&over, sizeof(char *));
    rc = vel_service_ended(service, &over, err);
    if (rc < 0) {
        vel_fs_names_fini(&over);
        return rc;
    }
    rc = vel_evidence_load(service->index, &over, NULL, &evidence, err);
    if (rc < 0)
        return rc;
    of.seals = evidence.seals.items;
    of.n_seals = evidence.seals.n;
    for (size_t i = 0; rc == 0 && i < parts->n; i++)
        rc = drop(service, &of, *(struct vel_batch **)vel_vec_at(parts, i), err);
    vel_evidence_fini(&evidence);
    return rc;
}

/* --- the chair --- */

static void tell(const struct vel_left_key *key)
{
    const struct vel_batch_key *is = key->key;

    if (*key->why)
        vel_log(VEL_LOG_WARN,
                "files of %s, step '%s', of launch %s are no whole dataset: %s. They "
                "are kept until there is a newer one; h5veloc-ls shows them",
                is->template, is->step, is->launch, key->why);
    else if (key->seal.point > 0)
        vel_log(VEL_LOG_WARN,
                "%s, step '%s': launch %s was killed before it was closed; it is as "
                "H5Fflush has left it: dataset %" PRId64,
                is->template, is->step, is->launch, key->seal.id);
    else
        vel_log(VEL_LOG_INFO,
                "%s, step '%s': launch %s had closed all files, and is sealed now: "
                "dataset %" PRId64,
                is->template, is->step, is->launch, key->seal.id);
}

/* What launches have recorded goes when no view needs it. */
static bool has_record(const struct vel_service *service, const char *launch)
{
    char *dir = vel_launch_dir(service->dir, launch);
    bool has = dir && vel_fs_exists(service->fs, dir);

    free(dir);
    return has;
}

/* 1: it can be sealed. A key that cannot is none of the view's. */
static int compose(struct vel_service *service, struct vel_left_key *key,
                   struct vel_err *err)
{
    struct vel_err why = {0};
    int rc;

    if (!*key->why && !has_record(service, key->key->launch))
        snprintf(key->why, sizeof key->why, "what its launch has recorded is gone");
    if (*key->why) {
        tell(key);
        return 0;
    }
    rc = vel_service_compose_for(service, key->key->launch, &key->seal, &why);
    snprintf(key->seal.by, sizeof key->seal.by, "%s", service->launch);
    if (rc == VEL_ENOMEM)
        return vel_out_of_memory(err, "a seal");
    if (rc < 0)
        vel_log(VEL_LOG_WARN, "files of %s, step '%s', of launch %s: %s",
                key->key->template, key->key->step, key->key->launch, why.text);
    return rc == 0;
}

/* Of one launch, in one go. What another has sealed since is told as well. */
static int seal_launch(struct vel_service *service, const struct vel_vec *keys,
                       const char *launch, unsigned *ret_made, struct vel_err *err)
{
    struct vel_seal **seals = calloc(keys->n, sizeof *seals);
    struct vel_left_key **of = calloc(keys->n, sizeof *of);
    bool *are_ours = calloc(keys->n, sizeof *are_ours);
    struct vel_err why = {0};
    size_t n = 0;
    int rc = seals && of && are_ours ? 0 : vel_out_of_memory(err, "a seal");

    for (size_t i = 0; rc >= 0 && i < keys->n; i++) {
        struct vel_left_key *key = vel_vec_at(keys, i);

        if (strcmp(key->key->launch, launch) != 0)
            continue;
        rc = compose(service, key, err);
        if (rc > 0) {
            of[n] = key;
            seals[n++] = &key->seal;
        }
    }
    if (rc >= 0 && n > 0) {
        rc = vel_service_seal_again(service, launch, seals, n, are_ours, &why);
        if (rc < 0)
            vel_log(VEL_LOG_WARN, "files of launch %s are not sealed: %s", launch,
                    why.text);
        for (size_t i = 0; rc == 0 && i < n; i++)
            if (are_ours[i])
                tell(of[i]);
        *ret_made += rc == 0 ? (unsigned)n : 0;
        rc = rc == VEL_ENOMEM ? vel_out_of_memory(err, "a seal") : 0;
    }
    free(seals);
    free(of);
    free(are_ours);
    return rc < 0 ? rc : 0;
}

static bool is_first(const struct vel_vec *keys, size_t i)
{
    const char *launch = ((struct vel_left_key *)vel_vec_at(keys, i))->key->launch;

    for (size_t k = 0; k < i; k++)
        if (strcmp(((struct vel_left_key *)vel_vec_at(keys, k))->key->launch, launch) ==
            0)
            return false;
    return true;
}

static int seal_all(struct vel_service *service, const struct vel_left_of *of,
                    unsigned *ret_made, struct vel_err *err)
{
    struct vel_vec keys;
    int rc;

    vel_vec_init(&keys, sizeof(struct vel_left_key));
    rc = vel_left_weigh(of, &keys, err);
    for (size_t i = 0; rc == 0 && i < keys.n; i++)
        if (is_first(&keys, i))
            rc = seal_launch(service, &keys,
                             ((struct vel_left_key *)vel_vec_at(&keys, i))->key->launch,
                             ret_made, err);
    vel_left_keys_fini(&keys);
    return rc;
}

int vel_service_again(struct vel_service *service, const struct vel_vec *nodes,
                      const struct vel_evidence *evidence, unsigned *ret_made,
                      struct vel_err *err)
{
    struct vel_left_of of = {.node = service->host.node,
                             .seals = evidence->seals.items,
                             .n_seals = evidence->seals.n};
    size_t n_left = 0;
    int rc = 0;

    *ret_made = 0;
    for (size_t i = 0; i < nodes->n; i++)
        n_left += ((struct vel_inventory *)vel_vec_at(nodes, i))->left.n;
    if (n_left == 0)
        return 0;
    of.nodes = calloc(nodes->n, sizeof *of.nodes);
    if (!of.nodes)
        return vel_out_of_memory(err, "what is left");
    for (; rc == 0 && of.n_nodes < nodes->n; of.n_nodes++) {
        const struct vel_inventory *inventory = vel_vec_at(nodes, of.n_nodes);

        of.nodes[of.n_nodes].node = inventory->node;
        of.nodes[of.n_nodes].left = &inventory->left;
    }
    if (rc == 0)
        rc = seal_all(service, &of, ret_made, err);
    free(of.nodes);
    return rc;
}
