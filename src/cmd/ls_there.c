/* SPDX-License-Identifier: BSD-3-Clause */
/* Are the files of datasets on the prefix still there? Whoever cleans up removes them
 * by hand, and the records stay. Their bytes are not read, and there may be millions:
 * those of the newest datasets are looked for. */
#include "config.h"

#include <stdlib.h>

#include "cmd/ls.h"
#include "meta/cachename.h"
#include "meta/filelist.h"
#include "meta/paths.h"

enum { LOOKED_MOST = 10000 }; /* files of one prefix: a second or two */

static bool is_there(const struct vel_ls *ls, const struct vel_ls_unit *unit,
                     int64_t id, const struct vel_listed *listed)
{
    bool is_contained = listed->container >= 0;
    char *path = NULL;
    struct stat st;

    if (is_contained)
        path = vel_ls_need(vel_container_path(unit->dir, id, listed->container));
    else if (vel_cachename_path(unit->prefix, listed->name, &path, NULL) < 0)
        return false;
    bool is = vel_fs_lstat(ls->fs, path, &st, NULL) == 0 && S_ISREG(st.st_mode) &&
              (is_contained ? (uint64_t)st.st_size >= listed->offset + listed->size
                            : (uint64_t)st.st_size == listed->size);
    free(path);
    return is;
}

static bool has_files(const struct vel_ls *ls, const struct vel_ls_unit *unit,
                      const struct vel_entry *entry, size_t *left)
{
    bool has = true;

    for (int l = 0; has && *left > 0 && l < entry->lists; l++) {
        struct vel_vec files;

        if (vel_index_files(unit->index, entry->dataset.id, l, &files, NULL) < 0)
            return false;
        for (size_t i = 0; has && *left > 0 && i < files.n; i++, (*left)--)
            has = is_there(ls, unit, entry->dataset.id, vel_vec_at(&files, i));
        vel_filelist_fini(&files);
    }
    return has;
}

void vel_ls_there(const struct vel_ls *ls, struct vel_ls_unit *unit)
{
    size_t left = LOOKED_MOST;

    for (size_t i = 0; left > 0 && i < unit->evidence.entries.n; i++) {
        const struct vel_entry *entry = vel_vec_at(&unit->evidence.entries, i);

        bool counts = entry->place == VEL_ON_PREFIX && !entry->replaced &&
                      !entry->failed && !entry->refused;

        if (counts && vel_ls_wants(ls, entry->dataset.id) &&
            !has_files(ls, unit, entry, &left))
            vel_ls_push(&unit->damaged, &entry->dataset.id);
    }
}
