/* SPDX-License-Identifier: BSD-3-Clause */
/* Has somebody written since, at the name of a file that is to come there? What it was
 * to replace is not known here, as it is on the node that has it. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "jobs/anchor.h"
#include "jobs/flushing_in.h"
#include "jobs/stub.h"
#include "meta/cachename.h"
#include "xfer/stands.h"

static int is_patched(void *name, const struct vel_listed *file)
{
    return file->is_patch && strcmp(file->name, name) == 0;
}

/* Is the dataset, which is staged, at changing the file of this name in place? */
static bool patches(const struct vel_flushing *f, int64_t id, const char *name)
{
    struct vel_entry entry = {0};
    bool is = false;

    if (vel_entry_load(f->index, id, &entry, NULL) < 0)
        return false;
    if (entry.place == VEL_ON_STAGED)
        is = vel_index_each_file(f->index, &entry, is_patched,
                                 (void *)(uintptr_t)name) > 0;
    vel_entry_fini(&entry);
    return is;
}

bool vel_flushing_is_since(const struct vel_flushing *flushing,
                           const struct vel_dataset *about, const char *name,
                           const char *path)
{
    const struct vel_index_range older = {.below = about->id};
    struct vel_fs *fs = flushing->fs;
    struct vel_stub stub;
    struct stat st;

    return vel_fs_lstat(fs, path, &st, NULL) == 0 &&
           (st.st_mtim.tv_sec != about->created
                ? st.st_mtim.tv_sec > about->created
                : st.st_mtim.tv_nsec > about->created_ns) &&
           vel_stub_read(fs, path, &stub, NULL) < 0 &&
           !vel_stands_put(flushing->index, &older, name, path) &&
           !patches(flushing, about->id, name);
}

int vel_flushing_find_since(const struct vel_flushing *flushing, int64_t id,
                            const char *name, const char *path, struct vel_err *err)
{
    struct vel_entry entry = {0};
    int rc = vel_entry_load(flushing->index, id, &entry, err);

    if (rc == 0)
        rc = vel_flushing_is_since(flushing, &entry.dataset, name, path);
    vel_entry_fini(&entry);
    return rc == VEL_ENOENT ? 0 : rc;
}
