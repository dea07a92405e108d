/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "meta/settlement.h"
#include "jobs/compose.h"
#include "jobs/sweep_single.h"
#include "meta/cachename.h"
#include "meta/filelist.h"

/* Its name is made of the path, as without a line. */
static bool has_own_name(struct vel_fs *fs, const char *prefix, const char *dir,
                         const struct vel_dataset *dataset)
{
    struct vel_vec files;
    char *path = NULL, *name = NULL;
    bool has = vel_filelist_load(fs, dir, dataset->id, 0, &files, NULL) == 0;

    if (!has)
        return false;
    if (files.n == 1) {
        const struct vel_listed *file = vel_vec_at(&files, 0);

        if (file->container < 0 &&
            vel_cachename_path(prefix, file->name, &path, NULL) == 0)
            name = vel_compose_name(NULL, path);
    }
    has = name && strcmp(name, dataset->name) == 0;
    free(name);
    free(path);
    vel_filelist_fini(&files);
    return has;
}

/* All nodes that had parts have told the view what they hold. */
static bool are_nodes_here(struct vel_fs *fs, const char *dir,
                           const struct vel_view *view, int64_t id)
{
    struct vel_made made;
    bool are = vel_settled_made(fs, dir, id, &made, NULL) == 0;

    if (!are)
        return false;
    for (size_t i = 0; are && i < made.n_nodes; i++)
        are = vel_view_has_node(view, made.nodes[i]);
    vel_made_fini(&made);
    return are;
}

bool vel_sweep_is_single(struct vel_fs *fs, const char *prefix, const char *dir,
                         const struct vel_view *view, const struct vel_entry *entry)
{
    return entry->place == VEL_ON_PREFIX && entry->dataset.files == 1 &&
           entry->lists == 1 && has_own_name(fs, prefix, dir, &entry->dataset) &&
           are_nodes_here(fs, dir, view, entry->dataset.id);
}
