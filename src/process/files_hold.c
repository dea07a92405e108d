/* SPDX-License-Identifier: BSD-3-Clause */
/* What HDF5 does at a path when it opens a file there, done for a file that is in the
 * cache: a new name is taken by an empty file, and what stands there is locked. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "process/files_in.h"

struct vel_hold {
    char *path;
    int fd;
    bool is_made; /* nothing stood there */
};

static bool stands(const char *path, int fd, struct stat *ret)
{
    struct vel_fs *fs = vel_fs_posix();
    struct stat there;

    return vel_fs_stat(fs, fd, path, ret, NULL) == 0 &&
           vel_fs_lstat(fs, path, &there, NULL) == 0 && ret->st_ino == there.st_ino &&
           ret->st_dev == there.st_dev;
}

static int open_at(const char *path, enum vel_hold_how how, bool *ret_is_made)
{
    int flags = (how == VEL_HOLD_READ ? O_RDONLY : O_RDWR) | O_NONBLOCK, fd = -1;

    *ret_is_made = how == VEL_HOLD_MAKE &&
                   vel_fs_open(vel_fs_posix(), path, O_RDWR | O_CREAT | O_EXCL, 0666,
                               &fd, NULL) == 0;
    if (!*ret_is_made && vel_fs_open(vel_fs_posix(), path, flags, 0, &fd, NULL) < 0)
        return -1;
    return fd;
}

/* False: another one has it locked. hold->fd below 0: nothing can be held there. */
static bool lock_at(const char *path, enum vel_hold_how how, struct vel_hold *hold)
{
    struct vel_fs *fs = vel_fs_posix();
    int kind = (how == VEL_HOLD_READ ? LOCK_SH : LOCK_EX) | LOCK_NB, rc;
    struct stat st;

    for (;;) {
        hold->fd = open_at(path, how, &hold->is_made);
        if (hold->fd < 0)
            return true;
        rc = fs->ops->flock(fs, hold->fd, kind);
        if (rc != -EAGAIN && stands(path, hold->fd, &st))
            return true; /* locked, if that is possible there */
        close(hold->fd);
        hold->fd = -1;
        if (rc == -EAGAIN)
            return false; /* else another one has come there since it was opened */
    }
}

int vel_hold_take(const char *path, enum vel_hold_how how, bool locks,
                  struct vel_hold **ret, struct vel_err *err)
{
    struct vel_hold *hold = calloc(1, sizeof *hold);
    int rc = 0;

    *ret = NULL;
    if (hold)
        hold->path = strdup(path);
    if (!hold || !hold->path) {
        free(hold);
        return vel_out_of_memory(err, path);
    }
    hold->fd = -1;
    if (!locks)
        hold->fd = open_at(path, how, &hold->is_made);
    else if (!lock_at(path, how, hold)) /* as HDF5 says it: programs look for it */
        rc = vel_fail(err, VEL_EBUSY,
                      "unable to lock file, errno = %d, error message = '%s': "
                      "another program has %s open%s",
                      EAGAIN, strerror(EAGAIN), path,
                      how == VEL_HOLD_READ ? " to write it" : "");
    if (rc == 0 && hold->fd >= 0)
        *ret = hold;
    else
        vel_hold_end(hold);
    return rc;
}

void vel_hold_give_up(struct vel_hold *hold)
{
    struct stat st;

    if (hold && hold->is_made && stands(hold->path, hold->fd, &st) && st.st_size == 0)
        vel_fs_unlink(vel_fs_posix(), hold->path, NULL);
    vel_hold_end(hold);
}

void vel_hold_move(struct vel_hold *hold, int fd)
{
    if (!hold)
        return;
    flock(fd, LOCK_EX | LOCK_NB);
    close(hold->fd);
    hold->fd = -1;
}

void vel_hold_end(struct vel_hold *hold)
{
    if (!hold)
        return;
    if (hold->fd >= 0)
        close(hold->fd);
    free(hold->path);
    free(hold);
}
