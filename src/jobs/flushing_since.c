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
#include "meta/ids.h"
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
        is = vel_filelist_each(f->fs, f->dir, id, entry.lists, is_patched,
                               (void *)(uintptr_t)name) > 0;
    vel_entry_fini(&entry);
    return is;
}

bool vel_flushing_is_since(const struct vel_flushing *flushing, int64_t id,
                           const char *name, const char *path)
{
    const struct vel_index_range older = {.below = id};
    struct vel_fs *fs = flushing->fs;
    char *mark = vel_id_launch_path(flushing->dir, id);
    struct vel_stub stub;
    struct stat its, st;
    bool is = mark && vel_fs_lstat(fs, mark, &its, NULL) == 0 &&
              vel_fs_lstat(fs, path, &st, NULL) == 0 &&
              (st.st_mtim.tv_sec != its.st_mtim.tv_sec
                   ? st.st_mtim.tv_sec > its.st_mtim.tv_sec
                   : st.st_mtim.tv_nsec > its.st_mtim.tv_nsec) &&
              vel_stub_read(fs, path, &stub, NULL) < 0 &&
              !vel_stands_put(flushing->index, &older, name, path) &&
              !patches(flushing, id, name);

    free(mark);
    return is;
}
