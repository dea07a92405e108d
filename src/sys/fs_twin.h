/* SPDX-License-Identifier: BSD-3-Clause */
/* fs_twin - a file system over another one, with one function for all operations.
 *
 * A twin turns each operation into a description of the call and hands that to its
 * hook. The hook carries the call out, with vel_fs_call_run() or by asking another
 * thread; before and after that it does what the twin is for.
 */
#ifndef VEL_SYS_FS_TWIN_H
#define VEL_SYS_FS_TWIN_H

#include "sys/fs.h"

/* The operations of struct vel_fs_ops, in its order. */
enum vel_fs_op {
    VEL_FS_OP_OPEN,
    VEL_FS_OP_CLOSE,
    VEL_FS_OP_PREAD,
    VEL_FS_OP_PWRITE,
    VEL_FS_OP_APPEND,
    VEL_FS_OP_COPY,
    VEL_FS_OP_CLONE,
    VEL_FS_OP_TRUNCATE,
    VEL_FS_OP_FSYNC,
    VEL_FS_OP_HASTEN,
    VEL_FS_OP_FLOCK,
    VEL_FS_OP_FSTAT,
    VEL_FS_OP_SET_TIMES,
    VEL_FS_OP_SET_MODE,
    VEL_FS_OP_LSTAT,
    VEL_FS_OP_LIST,
    VEL_FS_OP_RENAME,
    VEL_FS_OP_LINK,
    VEL_FS_OP_UNLINK,
    VEL_FS_OP_MKDIR,
    VEL_FS_OP_RMDIR,
    VEL_FS_OP_SPACE,
    VEL_FS_OP_SHOWS_ALL,
};

/* An operation and its arguments. `path` or `fd` is what the operation looks at or
 * changes: for rename, link, copy and clone the destination, and `from_path` or
 * `from_fd` is the source. A path that the operation does not have is NULL, a
 * descriptor -1. */
struct vel_fs_call {
    enum vel_fs_op op;
    const char *path, *from_path;
    int fd, from_fd;
    off_t at, from_at;
    off_t size; /* of truncate and hasten */
    int how;    /* the flags of open, the lock of flock */
    mode_t mode;
    const void *bytes; /* what pwrite, append and set_times read; NULL: nothing */
    void *ret;         /* what pread, fstat, lstat and space fill in; NULL: nothing */
    size_t len;        /* of bytes, ret or what copy copies */
    struct vel_vec *names; /* what list adds to */
};

/* Carry the call out on `under`; returns what the operation returns. */
ssize_t vel_fs_call_run(struct vel_fs *under, const struct vel_fs_call *call);

/* Can it change anything? */
bool vel_fs_call_changes(const struct vel_fs_call *call);

struct vel_fs_twin;

/* Carries the call out, and returns what the operation returns to its caller. The hook
 * may change the call before. Any thread may be in it. */
typedef ssize_t vel_fs_hook_f(struct vel_fs_twin *twin, struct vel_fs_call *call);

struct vel_fs_twin {
    struct vel_fs fs; /* to be used; the first member */
    struct vel_fs *under;
    vel_fs_hook_f *hook;
};

/* `under` is borrowed. A twin owns nothing, so there is no fini. A hook that needs more
 * embeds the twin as the first member of its own struct. */
void vel_fs_twin_init(struct vel_fs_twin *twin, struct vel_fs *under,
                      vel_fs_hook_f *hook);

#endif
