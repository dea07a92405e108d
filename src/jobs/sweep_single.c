/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "jobs/compose.h"
#include "jobs/sweep_single.h"
#include "meta/cachename.h"
#include "meta/filelist.h"

/* Its name is made of the path, as without a line. */
static bool has_own_name(struct vel_index *index, const char *prefix,
                         const struct vel_dataset *dataset)
{
    struct vel_vec files;
    char *path = NULL, *name = NULL;
    bool has = vel_index_files(index, dataset->id, 0, &files, NULL) == 0;

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

/* All nodes that had parts have told the view what they hold; or had done so when its
 * seal was left out. */
static bool are_nodes_here(struct vel_seals_of *seals, const struct vel_view *view,
                           int64_t id)
{
    struct vel_seal seal;
    int rc = vel_seals_of_dataset(seals, id, &seal);
    bool are = true;

    if (rc < 0)
        return rc == VEL_ENOENT;
    for (size_t i = 0; are && i < seal.members.n; i++)
        are = vel_view_has_node(view, vel_seal_member(&seal, i)->node);
    vel_seal_fini(&seal);
    return are;
}

bool vel_sweep_is_single(struct vel_index *index, struct vel_seals_of *seals,
                         const char *prefix, const struct vel_view *view,
                         const struct vel_entry *entry)
{
    return entry->place == VEL_ON_PREFIX && entry->dataset.files == 1 &&
           entry->lists == 1 && has_own_name(index, prefix, &entry->dataset) &&
           are_nodes_here(seals, view, entry->dataset.id);
}
