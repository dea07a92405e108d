/* SPDX-License-Identifier: BSD-3-Clause */
/* The directory vanishes as a whole, and its entry with it: with half of it nobody
 * would know any more that the dataset is to go. */
#include "config.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/path.h"
#include "jobs/forget.h"
#include "jobs/sweep_temps.h"
#include "meta/paths.h"

static char *gone_path(const char *dir, const char *dataset)
{
    struct vel_buf path;

    vel_buf_init(&path);
    vel_buf_printf(&path, "%s/.%s" VEL_GONE, dir, vel_path_base(dataset));
    return vel_buf_take(&path, NULL);
}

int vel_forget_dataset(struct vel_index *index, const char *prefix, int64_t id,
                       struct vel_err *err)
{
    const char *dir = vel_index_dir(index);
    char *dataset = vel_dataset_dir(dir, id);
    char *gone = dataset ? gone_path(dir, dataset) : NULL;
    int rc = gone ? vel_sweep_temps(index, prefix, id, true, err)
                  : vel_out_of_memory(err, "records");

    if (rc == 0)
        rc = vel_fs_rename(vel_index_fs(index), dataset, gone, err);
    if (rc == 0 || rc == VEL_ENOENT) /* somebody else is at it */
        rc = vel_fs_remove_tree(vel_index_fs(index), gone, err);
    free(gone);
    free(dataset);
    return rc;
}
