/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>

#include "base/path.h"
#include "jobs/sweep_temps.h"
#include "meta/filelist.h"
#include "meta/paths.h"
#include "xfer/flush_in.h"
#include "xfer/temp.h"

struct of_dataset {
    struct vel_fs *fs;
    const char *prefix, *dir;
    int64_t id;
    bool keeps_lists;
    int64_t last; /* the number of its newest owner; 0: it has no directory */
};

static int remove_all(const struct of_dataset *of, const struct vel_vec *files,
                      struct vel_err *err)
{
    const struct vel_crew crew = {.fs = of->fs, .prefix = of->prefix, .dir = of->dir};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < files->n; i++) {
        const struct vel_listed *file = vel_vec_at(files, i);

        if (file->container < 0)
            rc = vel_flush_remove_temporaries(&crew, of->id, file, 0, of->last, err);
    }
    return rc;
}

/* A list that cannot be read stays, and what it lists. */
static int remove_list(const struct of_dataset *of, int list, struct vel_err *err)
{
    char *path = vel_files_path(of->dir, of->id, list);
    struct vel_vec files;
    int rc = path ? vel_filelist_load_at(of->fs, path, &files, err)
                  : vel_out_of_memory(err, "a list of files");

    if (rc < 0) {
        free(path);
        return rc == VEL_ENOMEM ? rc : 0;
    }
    rc = remove_all(of, &files, err);
    vel_filelist_fini(&files);
    if (rc == 0 && !of->keeps_lists)
        rc = vel_fs_unlink(of->fs, path, err);
    free(path);
    return rc;
}

/* What its entry lists: that may be of a flush before, and others than the records. */
static int remove_told(const struct of_dataset *of, struct vel_index *index,
                       struct vel_err *err)
{
    struct vel_entry entry;
    int rc = 0;

    if (vel_entry_load(index, of->id, &entry, NULL) < 0)
        return 0;
    for (int l = 0; rc == 0 && l < entry.lists; l++) {
        struct vel_vec files;

        if (vel_index_told_files(index, of->id, l, &files) < 0)
            continue;
        rc = remove_all(of, &files, err);
        vel_filelist_fini(&files);
    }
    vel_entry_fini(&entry);
    return rc;
}

/* A container on its way, whoever owned it. */
static int remove_container(const struct of_dataset *of, const char *its,
                            const char *name, struct vel_err *err)
{
    char *path = vel_path_join(its, name);
    int rc =
        path ? vel_fs_unlink(of->fs, path, err) : vel_out_of_memory(err, "a dataset");

    free(path);
    return rc;
}

int vel_sweep_temps(struct vel_index *index, const char *prefix, int64_t id,
                    bool keeps_lists, struct vel_err *err)
{
    struct of_dataset of = {.fs = vel_index_fs(index),
                            .prefix = prefix,
                            .dir = vel_index_dir(index),
                            .id = id,
                            .keeps_lists = keeps_lists};
    char *its = vel_dataset_dir(of.dir, id);
    struct vel_vec names;
    int64_t list;
    struct vel_err why = {0};
    int rc = its ? vel_index_owner(index, id, &of.last, NULL, &why)
                 : vel_out_of_memory(&why, "a dataset");

    if (rc == VEL_ENOENT) { /* nobody has claimed it after its first owner */
        of.last = 1;
    } else if (rc < 0) {
        free(its);
        return vel_fail(err, (enum vel_status)rc, "%s", why.text);
    }
    vel_vec_init(&names, sizeof(char *));
    rc = vel_fs_list(of.fs, its, &names, &why);
    if (rc == VEL_ENOENT) /* nothing was ever written there */
        rc = 0;
    else if (rc < 0)
        vel_fail(err, (enum vel_status)rc, "%s", why.text);
    for (size_t i = 0; rc == 0 && i < names.n; i++) {
        const char *name = *(char **)vel_vec_at(&names, i);

        if (vel_xfer_temp_parse(name, NULL))
            rc = remove_container(&of, its, name, err);
        else if (vel_number_behind(name, "files.", &list) && list >= 0 &&
                 list <= INT32_MAX)
            rc = remove_list(&of, (int)list, err);
    }
    if (rc == 0)
        rc = remove_told(&of, index, err);
    vel_fs_names_fini(&names);
    free(its);
    return rc;
}
