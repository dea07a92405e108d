/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/vec.h"
#include "jobs/forget.h"
#include "jobs/sweep_temps.h"
#include "meta/paths.h"

int vel_forget_lists(struct vel_fs *fs, const char *dir, int64_t id,
                     struct vel_err *err)
{
    char *its = vel_dataset_dir(dir, id);
    bool has_files;
    struct vel_vec names;
    int listed, rc = 0;

    if (!its)
        return vel_out_of_memory(err, "a dataset");
    vel_vec_init(&names, sizeof(char *));
    listed = vel_fs_list(fs, its, &names, NULL);
    has_files = listed < 0 && listed != VEL_ENOENT;
    for (size_t i = 0; !has_files && i < names.n; i++)
        has_files = strncmp(*(char **)vel_vec_at(&names, i), "container.", 10) == 0;
    if (!has_files)
        rc = vel_fs_remove_tree(fs, its, err);
    vel_fs_names_fini(&names);
    free(its);
    return rc;
}

/* With half of its lists nobody would know any more what it has left on its way: that
 * goes first. */
static bool remove_temps(struct vel_index *index, const char *prefix, int64_t id)
{
    struct vel_err why = {0};
    int rc = vel_sweep_temps(index, prefix, id, true, &why);

    if (rc < 0)
        vel_log(VEL_LOG_DEBUG, "dataset %" PRId64 " is not forgotten yet: %s", id,
                why.text);
    return rc == 0;
}

/* Who is interrupted here leaves a directory, which a sweep removes. */
static bool remove_lists(struct vel_index *index, int64_t id)
{
    char *dataset = vel_dataset_dir(vel_index_dir(index), id);
    bool is_gone = dataset && vel_index_is_gone(index, id);

    if (is_gone)
        vel_fs_remove_tree(vel_index_fs(index), dataset, NULL);
    free(dataset);
    return is_gone;
}

int64_t vel_forget_datasets(struct vel_index *index, const char *prefix,
                            const int64_t *ids, size_t n)
{
    struct vel_vec ready;
    struct vel_err why = {0};
    int64_t forgotten = 0;

    vel_vec_init(&ready, sizeof *ids);
    for (size_t i = 0; i < n; i++)
        if (remove_temps(index, prefix, ids[i]))
            vel_vec_push(&ready, &ids[i]);
    if (ready.n > 0 && vel_index_forget(index, ready.items, ready.n, &why) < 0)
        vel_log(VEL_LOG_DEBUG, "not all that is to be forgotten is: %s", why.text);
    for (size_t i = 0; i < ready.n; i++)
        forgotten += remove_lists(index, *(int64_t *)vel_vec_at(&ready, i));
    vel_vec_fini(&ready);
    return forgotten;
}
