/* SPDX-License-Identifier: BSD-3-Clause */
/* Where somebody has written since, at the names of a dataset that an owner before us
 * has staged: what its files were to replace is not known here, as it is on the nodes
 * that have them. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "jobs/anchor.h"
#include "jobs/flushing_in.h"
#include "jobs/stub.h"
#include "meta/cachename.h"
#include "meta/ids.h"
#include "xfer/stands.h"

static int is_patched(void *name, const struct vel_listed *file)
{
    return file->is_patch && strcmp(file->name, name) == 0;
}

/* Is the dataset, which is staged, at changing the file of this name in place? */
static bool patches(struct vel_fs *fs, const char *dir, int64_t id, const char *name)
{
    struct vel_entry entry = {0};
    bool is = false;

    if (vel_entry_load(fs, dir, id, &entry, NULL) < 0)
        return false;
    if (entry.place == VEL_ON_STAGED)
        is = vel_filelist_each(fs, dir, id, entry.lists, is_patched,
                               (void *)(uintptr_t)name) > 0;
    vel_entry_fini(&entry);
    return is;
}

bool vel_flushing_is_since(struct vel_fs *fs, const char *dir, int64_t id,
                           const char *name, const char *path)
{
    const struct vel_index_range older = {.below = id};
    char *mark = vel_id_launch_path(dir, id);
    struct vel_stub stub;
    struct stat its, st;
    bool is = mark && vel_fs_lstat(fs, mark, &its, NULL) == 0 &&
              vel_fs_lstat(fs, path, &st, NULL) == 0 &&
              (st.st_mtim.tv_sec != its.st_mtim.tv_sec
                   ? st.st_mtim.tv_sec > its.st_mtim.tv_sec
                   : st.st_mtim.tv_nsec > its.st_mtim.tv_nsec) &&
              vel_stub_read(fs, path, &stub, NULL) < 0 &&
              !vel_stands_put(fs, dir, &older, name, path) &&
              !patches(fs, dir, id, name);

    free(mark);
    return is;
}

/* *ret_path stays NULL: it has its name, or is to get it. */
static int put_beside(const struct vel_crew *crew, const struct vel_entry *entry,
                      const struct vel_listed *file, char **ret_path,
                      struct vel_err *err)
{
    int64_t id = entry->dataset.id;
    struct vel_flush_target target = {0};
    char *beside = NULL;
    int rc = vel_flush_target(crew, entry, file->name, &target, err);

    if (rc < 0 ||
        !vel_flushing_is_since(crew->fs, crew->dir, id, file->name, target.dest)) {
        vel_flush_target_fini(&target);
        return rc;
    }
    if (vel_fs_exists(crew->fs, target.temporary)) {
        rc = vel_anchor_publish_beside(crew->fs, target.dest, id, target.temporary,
                                       ret_path, err);
        if (rc == 0)
            vel_log(VEL_LOG_WARN,
                    "%s was written by someone else, and stays: the file of dataset "
                    "%" PRId64 " that was to come there is %s",
                    target.dest, id, *ret_path);
    } else { /* before a crash, perhaps */
        beside = vel_anchor_beside(target.dest, id);
        if (beside && vel_stands_untouched(crew->fs, beside, file)) {
            *ret_path = beside;
            beside = NULL;
        }
    }
    free(beside);
    vel_flush_target_fini(&target);
    return rc;
}

static int pass_by_list(const struct vel_crew *crew, const struct vel_entry *entry,
                        int list, struct vel_err *err)
{
    struct vel_vec files;
    bool has_changed = false;
    int rc =
        vel_filelist_load(crew->fs, crew->dir, entry->dataset.id, list, &files, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; rc == 0 && i < files.n; i++) {
        struct vel_listed *file = vel_vec_at(&files, i);
        char *path = NULL, *name = NULL;

        if (file->container >= 0 || file->is_patch)
            continue;
        rc = put_beside(crew, entry, file, &path, err);
        if (rc == 0 && path)
            rc = vel_cachename_of(crew->prefix, path, &name, err);
        if (rc == 0 && name) {
            free(file->name);
            file->name = name;
            has_changed = true;
        }
        free(path);
    }
    if (rc == 0 && has_changed)
        rc = vel_filelist_save(crew->fs, crew->dir, entry->dataset.id, list, &files,
                               err);
    vel_filelist_fini(&files);
    return rc;
}

int vel_flushing_pass_by(const struct vel_crew *crew, const struct vel_entry *entry,
                         struct vel_err *err)
{
    int rc = 0;

    for (int l = 0; rc == 0 && l < entry->lists; l++)
        rc = pass_by_list(crew, entry, l, err);
    return rc;
}
