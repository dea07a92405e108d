/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "jobs/anchor.h"

void vel_anchor_fini(struct vel_anchor *anchor)
{
    free(anchor->name);
    free(anchor->path);
    *anchor = (struct vel_anchor){0};
}

/* --- what stands there --- */

/* A stub, which may be that of an older file of this name; else the previous version.
 */
int vel_anchor_look(struct vel_fs *fs, const char *path, struct vel_anchor *ret,
                    struct vel_err *err)
{
    struct vel_err ignored = {0};
    struct vel_stub stub;
    struct stat st;
    int rc = vel_fs_lstat(fs, path, &st, err);

    if (rc < 0)
        return rc;
    if (!S_ISREG(st.st_mode))
        return vel_fail(err, VEL_EINVAL, "%s is no regular file", path);
    rc = vel_stub_read(fs, path, &stub, &ignored);
    if (rc < 0 && rc != VEL_EINVAL)
        return vel_fail(err, (enum vel_status)rc, "%s", ignored.text);
    ret->is_stub = rc == 0;
    ret->mark = rc == 0 ? stub.mark : 0;
    ret->inode = st.st_ino;
    ret->size = (uint64_t)st.st_size;
    ret->mtime_s = st.st_mtim.tv_sec;
    ret->mtime_ns = (uint32_t)st.st_mtim.tv_nsec;
    ret->is_patched = false;
    return 0;
}

int vel_anchor_renew_at(struct vel_fs *fs, const char *path, const char *launch,
                        struct vel_anchor *ret, struct vel_err *err)
{
    struct stat st;

    if (vel_fs_lstat(fs, path, &st, NULL) == 0 && S_ISREG(st.st_mode) &&
        st.st_size == 0)
        vel_stub_fill(fs, path, launch);
    return vel_anchor_look(fs, path, ret, err);
}

int vel_anchor_set(struct vel_fs *fs, const char *path, const char *name,
                   const struct vel_stub_maker *maker, struct vel_anchor *ret,
                   struct vel_err *err)
{
    struct vel_anchor anchor = {.name = strdup(name), .path = strdup(path)};
    struct vel_stub stub;
    int rc = anchor.name && anchor.path ? 0 : vel_out_of_memory(err, path);

    /* whoever takes a free name before us has made what stands there */
    if (rc == 0 && !vel_fs_exists(fs, path)) {
        rc = vel_stub_make(fs, path, maker, &stub, err);
        rc = rc == VEL_EEXIST ? 0 : rc;
    }
    if (rc == 0)
        rc = vel_anchor_renew_at(fs, path, maker->launch, &anchor, err);
    if (rc < 0)
        vel_anchor_fini(&anchor);
    else
        *ret = anchor;
    return rc;
}

int vel_anchor_renew(struct vel_fs *fs, const struct vel_anchor *older,
                     const char *path, struct vel_anchor *anchor,
                     struct vel_anchor_hold *hold, bool *ret_renewed,
                     struct vel_err *err)
{
    bool is_same = older->inode == anchor->inode && older->is_stub == anchor->is_stub &&
                   older->mark == anchor->mark;
    char *copy = is_same ? strdup(path) : NULL;
    int rc = 0;

    if (is_same)
        rc = copy ? vel_anchor_look(fs, path, anchor, err)
                  : vel_out_of_memory(err, path);
    if (rc < 0) {
        free(copy);
        return rc;
    }
    if (is_same) {
        free(anchor->path);
        anchor->path = copy;
        vel_anchor_release(fs, hold);
        vel_anchor_hold(fs, anchor, hold);
    }
    *ret_renewed = is_same;
    return 0;
}
