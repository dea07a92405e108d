/* SPDX-License-Identifier: BSD-3-Clause */
/* The last way: what was flushed. Files of their own are opened where they stand; what
 * is in a container comes into the cache, without redundancy. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "meta/cache.h"
#include "meta/paths.h"
#include "pull/pull_in.h"
#include "xfer/fetch.h"

/* The files of the part; all lists have to be there, since any may have some. */
static int find_files(const struct vel_crew *crew, const struct vel_pull *what,
                      struct vel_vec *ret, struct vel_err *err)
{
    int rc = 0;

    vel_vec_init(ret, sizeof(struct vel_listed));
    for (int l = 0; rc == 0 && l < what->entry->lists; l++) {
        struct vel_vec files;

        rc = vel_index_files(crew->index, what->entry->dataset.id, l, &files, err);
        if (rc < 0)
            break;
        for (size_t i = files.n; rc == 0 && i-- > 0;) {
            const struct vel_listed *f = vel_vec_at(&files, i);

            if (f->rank != what->rank)
                continue;
            if (vel_vec_push(ret, f))
                vel_vec_remove(&files, i);
            else
                rc = vel_out_of_memory(err, "pulling a part");
        }
        if (rc == 0)
            vel_filelist_fini(&files);
    }
    return rc;
}

static bool is_packed(const struct vel_vec *files)
{
    const struct vel_listed *f = files->items;

    for (size_t i = 0; i < files->n; i++)
        if (f[i].container >= 0)
            return true;
    return false;
}

static int fetch(struct vel_pulling *p, struct vel_crew *crew,
                 const struct vel_vec *files, struct vel_err *err)
{
    struct vel_comm *alone;
    char *dir = vel_cache_dataset_dir(p->level, p->what->dataset->about.id);
    int rc = dir ? vel_cache_make_dir(p->how->fs, dir, err)
                 : vel_out_of_memory(err, "pulling a part");

    free(dir);
    if (rc == 0)
        rc = vel_comm_self(&alone, err);
    if (rc < 0)
        return rc;
    crew->world = crew->node = crew->leaders = alone;
    crew->nodes = 1;
    rc = vel_fs_remove_tree(p->how->fs, p->fresh, err);
    if (rc == 0)
        rc = vel_fetch_files(crew, p->what->entry, files, p->fresh, err);
    vel_comm_destroy(alone);
    return rc < 0 ? rc : vel_pull_put_dir(p, err);
}

static int pull_files(struct vel_pulling *p, struct vel_crew *crew,
                      enum vel_pull_way *ret_way, struct vel_err *err)
{
    struct vel_vec files;
    int rc = find_files(crew, p->what, &files, err);

    if (rc == 0) {
        bool packed = is_packed(&files);

        if (packed && !p->how->may_fetch)
            rc = vel_fail(err, VEL_ENOENT,
                          "it is in a container, and with FETCH=0 nothing is read "
                          "back from the prefix");
        else
            rc = packed ? fetch(p, crew, &files, err)
                        : vel_fetch_check(crew, p->what->entry, &files, err);
        *ret_way = packed ? VEL_PULL_FETCHED : VEL_PULL_NATIVE;
    }
    vel_filelist_fini(&files);
    return rc;
}

int vel_pull_prefix(struct vel_pulling *p, enum vel_pull_way *ret_way,
                    struct vel_err *err)
{
    const struct vel_pull_how *how = p->how;
    const struct vel_entry *entry = p->what->entry;

    if (!how->prefix || !entry || !vel_entry_is_fetchable(entry))
        return vel_fail(err, VEL_ENOENT, "it is not there");
    struct vel_crew crew = {
        .fs = how->fs,
        .prefix = how->prefix,
        .dir = vel_index_dir(how->index),
        .index = how->index,
        .copy = {.fs = how->fs, .watch = how->watch, .keeps_metadata = true},
        .checks_crc = true};
    return pull_files(p, &crew, ret_way, err);
}
