/* SPDX-License-Identifier: BSD-3-Clause */
/* The directory vanishes as a whole: with half of it nobody would know any more that
 * the dataset is to go. And it does so before the entry, for a directory without one is
 * of a dataset that is not on the prefix; what is left of it goes last, for the entry
 * is found by it. */
#include "config.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/path.h"
#include "jobs/forget.h"
#include "jobs/sweep_temps.h"
#include "meta/entry.h"
#include "meta/paths.h"

static char *gone_path(const char *dir, const char *dataset)
{
    struct vel_buf path;

    vel_buf_init(&path);
    vel_buf_printf(&path, "%s/.%s" VEL_GONE, dir, vel_path_base(dataset));
    return vel_buf_take(&path, NULL);
}

int vel_forget_rest(struct vel_fs *fs, const char *dir, int64_t id, const char *gone,
                    struct vel_err *err)
{
    int rc = vel_entry_remove(fs, dir, id, err);

    return rc < 0 ? rc : vel_fs_remove_tree(fs, gone, err);
}

int vel_forget_dataset(struct vel_fs *fs, const char *prefix, const char *dir,
                       int64_t id, struct vel_err *err)
{
    char *dataset = vel_dataset_dir(dir, id);
    char *gone = dataset ? gone_path(dir, dataset) : NULL;
    int rc = gone ? vel_sweep_temps(fs, prefix, dir, id, true, err)
                  : vel_out_of_memory(err, "records");

    if (rc == 0)
        rc = vel_fs_rename(fs, dataset, gone, err);
    if (rc == 0 || rc == VEL_ENOENT) /* somebody else is at it */
        rc = vel_forget_rest(fs, dir, id, gone, err);
    free(gone);
    free(dataset);
    return rc;
}
