/* SPDX-License-Identifier: BSD-3-Clause */
/* What HDF5 does at a path when it opens a file there, done for a file that is in the
 * cache: a new name is taken by an empty file, and what stands there is locked. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include "jobs/stub.h"
#include "process/files_in.h"
#include "xfer/stands.h"

enum { TRIES = 100 }; /* each means that something else has come to the path */

struct vel_hold {
    char *path;
    int fd; /* below 0: none any more */
    bool is_made, is_locked;
    struct stat was;
};

/* --- taken --- */

static int open_at(struct vel_hold *hold, enum vel_hold_how how)
{
    struct vel_fs *fs = vel_fs_posix();
    int flags = O_NOFOLLOW | O_NONBLOCK | (how == VEL_HOLD_READ ? O_RDONLY : O_RDWR);

    hold->is_made =
        how == VEL_HOLD_MAKE && vel_fs_open(fs, hold->path, O_RDWR | O_CREAT | O_EXCL,
                                            0666, &hold->fd, NULL) == 0;
    if (!hold->is_made && vel_fs_open(fs, hold->path, flags, 0, &hold->fd, NULL) < 0)
        return -1;
    if (vel_fs_stat(fs, hold->fd, hold->path, &hold->was, NULL) < 0) {
        close(hold->fd);
        hold->fd = -1;
        return -1;
    }
    return 0;
}

static bool stands(const struct vel_hold *hold, struct stat *ret)
{
    return vel_fs_lstat(vel_fs_posix(), hold->path, ret, NULL) == 0 &&
           vel_hold_is(hold, ret);
}

/* Has HDF5 it open in this process, at its own path? */
static bool is_open_here(const struct vel_hold *hold, const struct vel_files_of *of)
{
    struct stat st;
    int fd;

    for (size_t i = 0; of->descriptor && of->descriptor(i, &fd); i++)
        if (fd >= 0 && vel_fs_stat(vel_fs_posix(), fd, hold->path, &st, NULL) == 0 &&
            vel_hold_is(hold, &st))
            return true;
    return false;
}

/* -EAGAIN: another program has it locked. What HDF5 has open in this process at that
 * path, it locks and judges itself. */
static int lock(struct vel_hold *hold, const struct vel_files_of *of,
                enum vel_hold_how how)
{
    struct vel_fs *fs = vel_fs_posix();
    int kind = how == VEL_HOLD_READ ? LOCK_SH : LOCK_EX;
    int rc = fs->ops->flock(fs, hold->fd, kind | LOCK_NB);

    hold->is_locked = rc == 0;
    return rc == -EAGAIN && !is_open_here(hold, of)
               ? rc
               : 0; /* without, where the file system has no locks */
}

/* -EAGAIN, or 0: also without, since nothing stands there that can be opened. */
static int take(struct vel_hold *hold, const struct vel_files_of *of,
                enum vel_hold_how how)
{
    struct stat st;

    for (int i = 0; i < TRIES; i++) {
        int rc = open_at(hold, how);

        if (rc < 0)
            return 0;
        rc = of->locks ? lock(hold, of, how) : 0;
        if (rc == 0 && stands(hold, &st))
            return 0;
        close(hold->fd);
        hold->fd = -1;
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* The program needs the last quarter of its descriptors itself. */
static bool is_dear(int fd)
{
    struct rlimit most;

    return getrlimit(RLIMIT_NOFILE, &most) == 0 && most.rlim_cur != RLIM_INFINITY &&
           (rlim_t)fd >= most.rlim_cur / 4 * 3;
}

int vel_hold_take(const struct vel_files_of *of, const char *path,
                  enum vel_hold_how how, struct vel_hold **ret, struct vel_err *err)
{
    struct vel_hold *hold = calloc(1, sizeof *hold);

    *ret = NULL;
    if (hold)
        hold->path = strdup(path);
    if (!hold || !hold->path) {
        free(hold);
        return vel_out_of_memory(err, path);
    }
    hold->fd = -1;
    if (take(hold, of, how) < 0) { /* as HDF5 says it: programs look for it */
        vel_hold_end(hold);
        return vel_fail(err, VEL_EBUSY,
                        "unable to lock file, errno = %d, error message = 'Resource "
                        "temporarily unavailable': another program has %s open%s",
                        EAGAIN, path, how == VEL_HOLD_READ ? " to write it" : "");
    }
    if (hold->fd >= 0 && is_dear(hold->fd)) {
        close(hold->fd);
        hold->fd = -1;
    }
    if (hold->fd >= 0 || hold->is_made)
        *ret = hold;
    else
        vel_hold_end(hold);
    return 0;
}

/* --- while it is held --- */

bool vel_hold_is(const struct vel_hold *hold, const struct stat *file)
{
    return hold && hold->fd >= 0 && hold->was.st_ino == file->st_ino &&
           hold->was.st_dev == file->st_dev;
}

/* Where it is now, a new string; NULL: it was removed, or nobody knows. */
static char *find_path(const struct vel_hold *hold, struct stat *ret)
{
    char *path = NULL;

    if (vel_fs_path_of(hold->fd, &path, NULL) == 0 &&
        vel_fs_lstat(vel_fs_posix(), path, ret, NULL) == 0 && vel_hold_is(hold, ret))
        return path;
    free(path);
    return NULL;
}

static bool is_put(const char *name, const char *path)
{
    const struct vel_index_range any = {.below = INT64_MAX};

    return vel_stands_put(vel_files_index(), &any, name, path);
}

/* As it was; or, where nothing stood, empty or a stub. */
static bool is_as_before(const struct vel_hold *hold, const char *path,
                         const struct stat *now)
{
    struct vel_stub stub;

    if (now->st_size == hold->was.st_size &&
        (now->st_size == 0 || (now->st_mtim.tv_sec == hold->was.st_mtim.tv_sec &&
                               now->st_mtim.tv_nsec == hold->was.st_mtim.tv_nsec)))
        return true;
    return vel_stub_read(vel_fs_posix(), path, &stub, NULL) == 0;
}

enum vel_hold_now vel_hold_look(const struct vel_hold *hold, const char *name,
                                char **ret_path)
{
    struct stat st;

    *ret_path = NULL;
    if (!hold || hold->fd < 0)
        return VEL_HOLD_STANDS;
    *ret_path = find_path(hold, &st);
    if (!*ret_path)
        return is_put(name, hold->path) ? VEL_HOLD_STANDS : VEL_HOLD_GONE;
    return is_as_before(hold, *ret_path, &st) || is_put(name, *ret_path)
               ? VEL_HOLD_STANDS
               : VEL_HOLD_CHANGED;
}

void vel_hold_move(struct vel_hold *hold, int fd, bool locks)
{
    if (!hold)
        return;
    if (hold->is_locked && locks)
        vel_fs_posix()->ops->flock(vel_fs_posix(), fd, LOCK_EX | LOCK_NB);
    if (hold->fd >= 0)
        close(hold->fd);
    hold->fd = -1;
}

/* --- ended --- */

void vel_hold_give_up(struct vel_hold *hold)
{
    struct stat st;

    if (hold && hold->is_made &&
        vel_fs_lstat(vel_fs_posix(), hold->path, &st, NULL) == 0 &&
        st.st_ino == hold->was.st_ino && st.st_dev == hold->was.st_dev &&
        st.st_size == 0)
        vel_fs_unlink(vel_fs_posix(), hold->path, NULL);
    vel_hold_end(hold);
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
