/* SPDX-License-Identifier: BSD-3-Clause */
/* A dataset on the prefix as its records tell of it, whoever flushed it: the entry that
 * says how far it is, and the lists by which it is finished or removed. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "meta/cachename.h"
#include "meta/paths.h"
#include "xfer/container.h"
#include "xfer/flush_in.h"
#include "xfer/stands.h"
#include "xfer/temp.h"

/* What the new place says must be true by now. After a failure the record may be
 * either. */
static int mark(const struct vel_crew *crew, struct vel_entry *entry,
                enum vel_place_on_prefix place, struct vel_err *err)
{
    enum vel_place_on_prefix before = entry->place;
    int rc;

    entry->place = place;
    rc = vel_entry_save(crew->index, entry, err);
    if (rc < 0)
        entry->place = before;
    return rc;
}

int vel_flush_target(const struct vel_crew *crew, int64_t id, int64_t owner,
                     const struct vel_listed *file, struct vel_flush_target *ret,
                     struct vel_err *err)
{
    int rc = 0;

    if (file->container < 0)
        rc = vel_cachename_path(crew->prefix, file->name, &ret->dest, err);
    else if (!(ret->dest = vel_container_path(crew->dir, id, file->container)))
        rc = vel_out_of_memory(err, "flushing");
    return rc < 0 ? rc
                  : vel_xfer_temp_owned(ret->dest, (uint64_t)id, (uint64_t)owner,
                                        &ret->temporary, err);
}

void vel_flush_target_fini(struct vel_flush_target *target)
{
    free(target->dest);
    free(target->temporary);
}

int vel_flush_remove_lists(const struct vel_crew *crew, int64_t id, struct vel_err *err)
{
    char *dir = vel_dataset_dir(crew->dir, id);
    struct vel_vec names = {0};
    struct vel_err why = {0};
    int rc = dir ? vel_fs_list(crew->fs, dir, &names, &why)
                 : vel_out_of_memory(&why, "removing a dataset");

    for (size_t i = 0; rc == 0 && i < names.n; i++) {
        const char *name = ((char **)names.items)[i];
        char *path;

        if (strncmp(name, "files.", 6) != 0 && strncmp(name, "hashes.", 7) != 0 &&
            strncmp(name, "container.", 10) != 0 && !vel_fs_is_temporary(name) &&
            !vel_xfer_temp_parse(name, NULL))
            continue;
        path = vel_path_join(dir, name);
        rc = path ? vel_fs_unlink(crew->fs, path, &why)
                  : vel_out_of_memory(&why, "removing a dataset");
        free(path);
    }
    if (rc == 0)
        crew->fs->ops->rmdir(crew->fs, dir);
    vel_fs_names_fini(&names);
    free(dir);
    return rc < 0 && rc != VEL_ENOENT
               ? vel_fail(err, (enum vel_status)rc, "%s", why.text)
               : 0;
}

/* What is done with each file of the lists; of those in a container it is the last one.
 * `last` is the number of the newest owner. */
typedef int listed_f(const struct vel_crew *crew, const struct vel_entry *entry,
                     const struct vel_listed *file, int64_t last, struct vel_err *err);

/* By a loss of power: it has not been published, and no list was synced yet. */
static bool may_be_torn(const struct vel_entry *entry)
{
    return entry->place == VEL_ON_FLUSHING ||
           (entry->place == VEL_ON_REMOVING && !entry->flushed);
}

static int for_each(const struct vel_crew *crew, const struct vel_entry *entry,
                    listed_f *act, struct vel_err *err)
{
    struct vel_err none = {0};
    int64_t newest = 0; /* of one that is gone nobody */
    int rc = vel_index_owner(crew->index, entry->dataset.id, &newest, NULL, &none);

    if (rc < 0 && rc != VEL_ENOENT)
        return vel_fail(err, (enum vel_status)rc, "%s", none.text);
    rc = 0;
    for (int l = 0; rc == 0 && l < entry->lists; l++) {
        struct vel_vec files;
        struct vel_listed *file;
        struct vel_err why = {0};
        int last = -1;

        rc = vel_index_files(crew->index, entry->dataset.id, l, &files, &why);
        if (rc == VEL_ENOENT && entry->place < VEL_ON_STAGED) {
            rc = 0; /* nothing is copied before all lists are there */
            continue;
        }
        if (rc == VEL_ECORRUPT && may_be_torn(entry)) {
            rc = 0; /* who has the files knows their names */
            vel_log(VEL_LOG_WARN,
                    "what has come to the prefix of dataset %" PRId64
                    " under temporary names may stay there: %s",
                    entry->dataset.id, why.text);
            continue;
        }
        if (rc < 0) {
            vel_fail(err, (enum vel_status)rc, "%s", why.text);
            break;
        }
        file = files.items;
        for (size_t i = files.n; rc == 0 && i-- > 0;)
            if (vel_container_ends(&file[i], &last))
                rc = act(crew, entry, &file[i], newest, err);
        vel_filelist_fini(&files);
    }
    return rc;
}

int vel_flush_sync_names(const struct vel_crew *crew,
                         const struct vel_flush_target *targets, size_t n,
                         struct vel_err *err)
{
    char *last = NULL;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++) {
        char *dir;

        if (!targets[i].temporary)
            continue;
        dir = vel_path_dir(targets[i].temporary);
        if (!dir)
            rc = vel_out_of_memory(err, "flushing");
        if (rc == 0 && (!last || strcmp(last, dir) != 0)) { /* mostly all are in one */
            /* its own name, too; that of the prefix is there since .veloc was made */
            if (!crew->prefix || strcmp(dir, crew->prefix) != 0)
                rc = vel_fs_make_dirs(crew->fs, dir, 0777, err);
            if (rc == 0)
                rc = vel_fs_sync_dir(crew->fs, dir, err);
        }
        free(last);
        last = dir;
    }
    free(last);
    return rc;
}

int vel_flush_patch(const struct vel_crew *crew, int64_t id,
                    const struct vel_flush_target *target,
                    const struct vel_listed *file, bool is_alone, struct vel_err *err)
{
    struct vel_patch patch = {.fs = crew->fs,
                              .path = target->temporary,
                              .dest = target->dest,
                              .file = file,
                              .keeps_mode = crew->copy.keeps_metadata,
                              .is_alone = is_alone,
                              .watch = crew->copy.watch};
    char *work = NULL;
    int rc = vel_patch_work(target->temporary, id, &work, err);

    patch.work = work;
    if (rc == 0)
        rc = vel_patch_apply(&patch, err);
    free(work);
    return rc;
}

/* What carrying out a patch may have left. */
static int remove_work(const struct vel_crew *crew, int64_t id, const char *temporary,
                       struct vel_err *err)
{
    char *work;
    int rc = vel_patch_work(temporary, id, &work, err);

    if (rc == 0) {
        rc = vel_fs_unlink(crew->fs, work, err);
        free(work);
    }
    return rc;
}

int vel_flush_remove_temporaries(const struct vel_crew *crew, int64_t id,
                                 const struct vel_listed *file, int64_t first,
                                 int64_t last, struct vel_err *err)
{
    int rc = 0;

    for (int64_t owner = first; rc == 0 && owner <= last; owner++) {
        struct vel_flush_target target = {0};

        rc = vel_flush_target(crew, id, owner, file, &target, err);
        if (rc == 0 && file->is_patch)
            rc = remove_work(crew, id, target.temporary, err);
        if (rc == 0)
            rc = vel_fs_unlink(crew->fs, target.temporary, err);
        vel_flush_target_fini(&target);
    }
    return rc;
}

int vel_flush_name_one(const struct vel_crew *crew, const struct vel_entry *entry,
                       const struct vel_listed *file, struct vel_err *err)
{
    struct vel_flush_target target = {0};
    struct vel_err why = {0};
    int64_t id = entry->dataset.id;
    int rc = vel_flush_target(crew, id, entry->owner, file, &target, &why);

    if (rc == 0 && file->is_patch) { /* somebody else may be at it, and freeze */
        rc = vel_flush_patch(crew, id, &target, file, false, &why);
        if (rc == VEL_EEXIST)
            rc = VEL_ECORRUPT; /* what it needs is not there any more */
    } else if (rc == 0) {
        rc = vel_copy_publish(crew->fs, target.temporary, target.dest, &why);
    }
    if (rc == VEL_ENOENT) { /* it has its name already, perhaps not on disk yet */
        rc = file->container < 0 ? vel_stands_check(crew, target.dest, file, err)
                                 : vel_container_stands(crew, target.dest, file, err);
        if (rc == 0)
            rc = vel_fs_sync_parent(crew->fs, target.dest, err);
    } else if (rc < 0) {
        vel_fail(err, (enum vel_status)rc, "%s", why.text);
    }
    vel_flush_target_fini(&target);
    return rc;
}

/* --- removal --- */

/* Directories that a removal left empty, up to the prefix. */
static void remove_empty(const struct vel_crew *crew, const char *path)
{
    char *dir = vel_path_dir(path);

    while (dir) {
        const char *below = vel_path_below(crew->prefix, dir);
        char *above;

        if (!below || !*below || crew->fs->ops->rmdir(crew->fs, dir) < 0)
            break;
        above = vel_path_dir(dir);
        free(dir);
        dir = above;
    }
    free(dir);
}

static int remove_one(const struct vel_crew *crew, const struct vel_entry *entry,
                      const struct vel_listed *file, int64_t last, struct vel_err *err)
{
    char *dest;
    int rc;

    if (file->container >= 0)
        return 0; /* it goes with the lists */
    rc = vel_cachename_path(crew->prefix, file->name, &dest, err);
    if (rc < 0)
        return rc;
    if (!(file->is_through && entry->place == VEL_ON_FLUSHING))
        rc = vel_stands_remove(crew->fs, dest, file, err);
    if (rc == 0)
        rc = vel_flush_remove_temporaries(crew, entry->dataset.id, file, 0,
                                          last > entry->owner ? last : entry->owner,
                                          err);
    if (rc == 0)
        remove_empty(crew, dest);
    free(dest);
    return rc;
}

struct syncing {
    const struct vel_crew *crew;
    char *last; /* directory that was synced */
    struct vel_err *err;
};

/* Where its name was: its directory, or the first above that which is there. */
static int sync_name(void *arg, const struct vel_listed *file)
{
    struct syncing *s = arg;
    char *dest = NULL, *dir = NULL;
    struct stat st;
    int rc = file->container < 0
                 ? vel_cachename_path(s->crew->prefix, file->name, &dest, s->err)
                 : 0;

    if (rc == 0 && dest)
        dir = vel_path_dir(dest);
    while (dir && vel_fs_lstat(s->crew->fs, dir, &st, NULL) == VEL_ENOENT) {
        char *above = vel_path_dir(dir);

        free(dir);
        dir = above;
    }
    if (dir && (!s->last || strcmp(dir, s->last) != 0)) {
        rc = vel_fs_sync_dir(s->crew->fs, dir, s->err);
        free(s->last);
        s->last = dir;
        dir = NULL;
    }
    free(dir);
    free(dest);
    return rc;
}

/* On the disk, for after that nobody knows of them any more. */
static int sync_names(const struct vel_crew *crew, const struct vel_entry *entry,
                      struct vel_err *err)
{
    struct syncing s = {.crew = crew, .err = err};
    int rc = vel_index_each_file(crew->index, entry, sync_name, &s);

    free(s.last);
    return rc;
}

/* The files of a dataset that nobody takes for a whole one, and its lists. */
static int remove_files(const struct vel_crew *crew, const struct vel_entry *entry,
                        struct vel_err *err)
{
    int rc = for_each(crew, entry, remove_one, err);

    if (rc == 0 && entry->place == VEL_ON_REMOVING)
        rc = sync_names(crew, entry, err);
    return rc == 0 ? vel_flush_remove_lists(crew, entry->dataset.id, err) : rc;
}

/* From here on nobody takes it for a dataset that can be fetched. */
static int begin_removal(const struct vel_crew *crew, struct vel_entry *entry,
                         enum vel_place_on_prefix place, struct vel_err *err)
{
    return entry->place == place ? 0 : mark(crew, entry, place, err);
}

/* What the entry lists, and was published, no record has: one from before the copy may
 * have come back with a loss of power. */
static int drop_records(const struct vel_crew *crew, const struct vel_entry *entry,
                        struct vel_err *err)
{
    char *dir = vel_dataset_dir(crew->dir, entry->dataset.id);
    int rc = dir ? 0 : vel_out_of_memory(err, "taking back a dataset");

    for (int l = 0; rc == 0 && l < entry->lists; l++)
        if (vel_index_has_list(crew->index, entry->dataset.id, l))
            vel_filelist_remove(crew->fs, crew->dir, entry->dataset.id, l);
    if (rc == 0 && vel_fs_exists(crew->fs, dir))
        rc = vel_fs_sync_dir(crew->fs, dir, err);
    free(dir);
    return rc;
}

int vel_flush_take_back(const struct vel_crew *crew, struct vel_entry *entry,
                        struct vel_err *err)
{
    int rc = entry->place == VEL_ON_PREFIX ? drop_records(crew, entry, err) : 0;

    if (rc == 0)
        rc = begin_removal(crew, entry, VEL_ON_FLUSHING, err);
    if (rc == 0)
        rc = remove_files(crew, entry, err);
    if (rc == 0)
        rc = mark(crew, entry, VEL_ON_CACHE, err);
    return rc < 0 ? vel_wrap(err, rc, "taking back the flush of dataset %" PRId64,
                             entry->dataset.id)
                  : 0;
}

/* An owner that finds it gone stops. */
static int forget(const struct vel_crew *crew, int64_t id, struct vel_err *err)
{
    char *dir = vel_dataset_dir(crew->dir, id);
    int rc = dir ? vel_index_forget(crew->index, &id, 1, err)
                 : vel_out_of_memory(err, "removing a dataset");

    if (rc == 0)
        rc = vel_fs_remove_tree(crew->fs, dir, err);
    free(dir);
    return rc;
}

int vel_flush_remove(const struct vel_crew *crew, struct vel_entry *entry,
                     struct vel_err *err)
{
    int64_t id = entry->dataset.id;
    int rc = 0;

    if (entry->place != VEL_ON_CACHE) {
        rc = begin_removal(crew, entry, VEL_ON_REMOVING, err);
        if (rc == 0)
            rc = remove_files(crew, entry, err);
    }
    if (rc == 0)
        rc = forget(crew, id, err);
    return rc < 0
               ? vel_wrap(err, rc, "removing dataset %" PRId64 " from the prefix", id)
               : 0;
}
