/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the files of a new dataset are while it is written: directories in the cache,
 * or temporary names on the prefix. A store that refuses is left out: a program never
 * fails because one cache does. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "engine/session_in.h"
#include "meta/cache.h"
#include "meta/cachename.h"
#include "meta/paths.h"
#include "xfer/temp.h"

/* --- where --- */

int vel_session_place(const struct vel_session *s, const char *name, char **ret_path,
                      struct vel_err *err)
{
    const struct vel_writing *w = &s->writing;
    char *path = NULL;
    int rc;

    if (vel_map_has(w->through, name))
        return vel_cachename_path(s->prefix, name, ret_path, err);
    if (!w->is_bypass) {
        *ret_path = vel_path_join(w->dir, name);
        return *ret_path ? 0 : vel_out_of_memory(err, "the path of a file");
    }
    rc = vel_cachename_path(s->prefix, name, &path, err);
    if (rc == 0)
        rc = vel_xfer_temp_name(path, (uint64_t)w->map.dataset.id, ret_path, err);
    free(path);
    return rc;
}

uint64_t vel_session_written(const struct vel_session *s)
{
    const struct vel_writing *w = &s->writing;
    uint64_t bytes = 0;

    for (size_t i = 0; w->dir && i < vel_map_count(w->routed); i++) {
        char *path = vel_path_join(w->dir, vel_map_key(w->routed, i));
        struct stat st;

        if (path && vel_fs_lstat(s->fs, path, &st, NULL) == 0)
            bytes += (uint64_t)st.st_size;
        free(path);
    }
    return bytes;
}

/* --- removed --- */

/* What was written on the prefix is no more than a part of what failed. */
static void remove_written(struct vel_session *s, const struct vel_map *names)
{
    for (size_t i = 0; i < vel_map_count(names); i++) {
        char *path = NULL;
        struct vel_err why = {0};

        if (vel_session_place(s, vel_map_key(names, i), &path, &why) < 0 ||
            vel_fs_unlink(s->fs, path, &why) < 0)
            vel_log(VEL_LOG_WARN, "left of an incomplete dataset: %s", why.text);
        free(path);
    }
}

void vel_session_remove_place(struct vel_session *s)
{
    struct vel_writing *w = &s->writing;
    struct vel_err why = {0};

    if (w->is_bypass)
        remove_written(s, w->routed);
    remove_written(s, w->through);
    if (w->level && vel_cache_remove_part(s->fs, w->level, w->map.dataset.id,
                                          s->world->rank, &why) < 0)
        vel_log(VEL_LOG_WARN, "an incomplete dataset was left in the cache: %s",
                why.text);
}

/* --- made --- */

/* The level as it is for this dataset: without its scheme when encoding is not due. */
static int note_level(struct vel_session *s, struct vel_err *err)
{
    struct vel_writing *w = &s->writing;
    struct vel_reddesc desc = *w->desc;

    if (!w->is_encoded) {
        desc.scheme = VEL_SINGLE;
        desc.m = 0;
        desc.place = (struct vel_place){.set = (uint32_t)s->world->rank,
                                        .sets = (uint32_t)s->world->size,
                                        .rank = 0,
                                        .ranks = 1};
    }
    desc.is_bypass = w->is_bypass;
    w->map.descriptor = vel_reddesc_to_node(&desc);
    return w->map.descriptor ? 0 : vel_out_of_memory(err, "a dataset");
}

/* The directory that files will be in. */
static int make_place(struct vel_session *s, struct vel_err *err)
{
    struct vel_writing *w = &s->writing;
    int64_t id = w->map.dataset.id;
    char *dir;
    int rc = note_level(s, err);

    if (rc < 0 || w->is_bypass)
        return rc;
    w->level = strdup(w->desc->directory);
    w->dir = w->level ? vel_cache_rank_dir(w->level, id, s->world->rank) : NULL;
    dir = w->level ? vel_cache_dataset_dir(w->level, id) : NULL;
    rc = w->dir && dir ? vel_store_check(w->desc->store, s->fs, err)
                       : vel_out_of_memory(err, "a dataset");
    if (rc == 0)
        rc = vel_cache_make_dir(s->fs, dir, err);
    if (rc == 0)
        rc = vel_fs_make_dirs(s->fs, w->dir, 0700, err);
    free(dir);
    return rc;
}

/* The same on all ranks: a store that is full is asked again for the next dataset, one
 * that failed is not. */
static void leave_out(struct vel_session *s, const struct vel_err *why)
{
    struct vel_writing *w = &s->writing;
    const struct vel_store *store = w->desc->store;

    if (why->status == VEL_ENOSPC) {
        s->is_full[store->index] = true;
    } else {
        s->is_usable[store->index] = false;
        vel_log_shared(VEL_LOG_WARN, "store %s is not used any more: %s", store->name,
                       why->text);
    }
    free(w->level);
    free(w->dir);
    vel_node_destroy(w->map.descriptor);
    w->level = w->dir = NULL;
    w->map.descriptor = NULL;
}

int vel_session_make_place(struct vel_session *s, struct vel_err *err)
{
    struct vel_writing *w = &s->writing;
    struct vel_err why = {0};
    int rc;

    while ((rc = vel_comm_agree(s->world, make_place(s, &why), &why)) < 0) {
        vel_session_remove_place(s);
        if (w->is_bypass || rc == VEL_ENOMEM || vel_comm_barrier(s->world, NULL) < 0)
            break;
        leave_out(s, &why);
        memset(&why, 0, sizeof why);
        rc = vel_session_choose(s, w, 0, NULL, &why);
        if (rc < 0)
            break;
    }
    memset(s->is_full, 0, s->stores->n * sizeof *s->is_full);
    if (rc < 0)
        return vel_fail(err, (enum vel_status)rc, "%s", why.text);
    s->is_spilling[w->due] = w->is_bypass || w->desc != &s->descs->items[w->due];
    return 0;
}
