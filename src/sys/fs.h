/* SPDX-License-Identifier: BSD-3-Clause */
/* fs - the one door to files: every byte that the engine moves to or from a file
 * system.
 *
 * A file system is a table of operations: the posix one, and twins that wrap another
 * one (sys/fs_twin.h). Operations return what the system call returns, or a
 * negative errno; the functions below them turn a failure into a sentence that names
 * the path.
 */
#ifndef VEL_SYS_FS_H
#define VEL_SYS_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <time.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"

struct vel_fs {
    const struct vel_fs_ops *ops; /* a twin embeds struct vel_fs as its first member */
};

/* Interrupted calls are repeated. A read or a write may be short. */
struct vel_fs_ops {
    /* descriptors are close-on-exec whatever the flags say */
    int (*open)(struct vel_fs *fs, const char *path, int flags, mode_t mode);
    int (*close)(struct vel_fs *fs, int fd);
    ssize_t (*pread)(struct vel_fs *fs, int fd, void *buf, size_t len, off_t at);
    ssize_t (*pwrite)(struct vel_fs *fs, int fd, const void *buf, size_t len, off_t at);
    /* to the end of a file opened with O_APPEND, in one piece where the system can */
    ssize_t (*append)(struct vel_fs *fs, int fd, const void *buf, size_t len);
    /* kernel-side copy; -EXDEV, -EOPNOTSUPP, -EINVAL: not for these two files */
    ssize_t (*copy)(struct vel_fs *fs, int from, off_t from_at, int to, off_t to_at,
                    size_t len);
    /* `to`, which is empty, gets all bytes of `from` and shares its blocks: at once,
     * and nothing is written but what changes later; -EXDEV, -EOPNOTSUPP, -EINVAL,
     * -ENOTTY: not for these two files */
    int (*clone)(struct vel_fs *fs, int from, int to);
    int (*truncate)(struct vel_fs *fs, int fd, off_t size);
    int (*fsync)(struct vel_fs *fs, int fd);
    /* what was written there begins its way to the disk, and nobody waits for it: a
     * hint that changes no result; NULL: none is taken */
    void (*hasten)(struct vel_fs *fs, int fd, off_t at, off_t len);
    /* `how` is LOCK_EX or LOCK_SH with LOCK_NB (-EAGAIN: not now), or LOCK_UN, as
     * flock(2): the lock belongs to the open file, so that the death of its process
     * releases it */
    int (*flock)(struct vel_fs *fs, int fd, int how);
    int (*fstat)(struct vel_fs *fs, int fd, struct stat *ret);
    int (*set_times)(struct vel_fs *fs, int fd, const struct timespec times[2]);
    int (*set_mode)(struct vel_fs *fs, int fd, mode_t mode);
    /* lstat and list do not follow a link in the last place; `path` + "/." does */
    int (*lstat)(struct vel_fs *fs, const char *path, struct stat *ret);
    /* appends strdup()ed names, without "." and ".."; nothing on failure */
    int (*list)(struct vel_fs *fs, const char *path, struct vel_vec *ret_names);
    int (*rename)(struct vel_fs *fs, const char *from, const char *to);
    int (*link)(struct vel_fs *fs, const char *from, const char *to);
    int (*unlink)(struct vel_fs *fs, const char *path);
    int (*mkdir)(struct vel_fs *fs, const char *path, mode_t mode);
    int (*rmdir)(struct vel_fs *fs, const char *path);
    int (*space)(struct vel_fs *fs, const char *path, struct statvfs *ret);
    /* 1: what anybody has done in a directory is seen at once, as in the file systems
     * of one machine; 0: nobody knows */
    int (*shows_all)(struct vel_fs *fs, const char *path);
};

/* The operating system's files. Never destroyed, used by any thread. */
struct vel_fs *vel_fs_posix(void);

/* Open `path`; flags as open(2). *ret_fd is written only on success. */
int vel_fs_open(struct vel_fs *fs, const char *path, int flags, mode_t mode,
                int *ret_fd, struct vel_err *err);

/* Close and tell: a failed close of a written file is a failed write. fd -1 is nothing.
 * The descriptor is gone in any case. `path` is for the sentence. */
int vel_fs_close(struct vel_fs *fs, int fd, const char *path, struct vel_err *err);

/* Exactly `len` bytes, whatever the system splits them into. A file that ends before is
 * VEL_ECORRUPT for the reader. */
int vel_fs_read_at(struct vel_fs *fs, int fd, void *buf, size_t len, off_t at,
                   const char *path, struct vel_err *err);
int vel_fs_write_at(struct vel_fs *fs, int fd, const void *buf, size_t len, off_t at,
                    const char *path, struct vel_err *err);

/* `len` bytes to the end of a file opened with O_APPEND. */
int vel_fs_append(struct vel_fs *fs, int fd, const void *buf, size_t len,
                  const char *path, struct vel_err *err);

/* Exactly `len` bytes from one open file to another, inside the kernel where it can
 * (which shares the blocks on some file systems), else through memory. VEL_ECORRUPT
 * when `from` ends before. The paths are for the sentence. */
int vel_fs_copy_at(struct vel_fs *fs, int from, off_t from_at, const char *from_path,
                   int to, off_t to_at, const char *to_path, size_t len,
                   struct vel_err *err);

/* Make `to`, which is empty, a copy of `from` that shares its blocks. VEL_EUNSUP where
 * the file system cannot, or not between these two. */
int vel_fs_clone(struct vel_fs *fs, int from, const char *from_path, int to,
                 const char *to_path, struct vel_err *err);

/* Make `to` a copy of the regular file `from`, with its mode, sharing its blocks where
 * the file system can; what stands at `to` is overwritten. Links are not followed.
 * Nothing is synced, and nothing removed on failure. */
int vel_fs_copy(struct vel_fs *fs, const char *from, const char *to,
                struct vel_err *err);

/* What ftruncate, fsync and fstat do, with a sentence. */
int vel_fs_truncate(struct vel_fs *fs, int fd, off_t size, const char *path,
                    struct vel_err *err);
int vel_fs_sync(struct vel_fs *fs, int fd, const char *path, struct vel_err *err);
int vel_fs_stat(struct vel_fs *fs, int fd, const char *path, struct stat *ret_stat,
                struct vel_err *err);

/* What was written there begins its way to the disk, so that a later sync finds less to
 * do. Nobody waits for it, and it promises nothing. */
void vel_fs_hasten(struct vel_fs *fs, int fd, uint64_t at, uint64_t len);

/* About the name itself, should it be a link. VEL_ENOENT when there is none. */
int vel_fs_lstat(struct vel_fs *fs, const char *path, struct stat *ret_stat,
                 struct vel_err *err);

/* The whole of a regular file, appended to *buf; VEL_ECORRUPT when it is longer than
 * `most`, VEL_EINVAL when it is no regular file. On failure *buf is as before. */
int vel_fs_read_file(struct vel_fs *fs, const char *path, size_t most,
                     struct vel_buf *buf, struct vel_err *err);

/* Replace `path` by these bytes: a crash at any moment, power loss included, leaves the
 * old file or the new one whole. Writes a temporary name beside it
 * (vel_fs_is_temporary), fsync, rename, fsync of the directory. On failure the old file
 * stands and the temporary is gone; one that a crash left behind is taken over by the
 * next replace. (When the last step fails, the fsync of the directory, the new file
 * stands already but may not survive.) A link at `path` is replaced, not followed; mode
 * is subject to the umask. One writer per path. */
int vel_fs_replace(struct vel_fs *fs, const char *path, const void *bytes, size_t len,
                   mode_t mode, struct vel_err *err);

/* The same where several write at once, each with a number of its own, above 0: of one
 * that crashed the temporary stays until whoever has its number writes again. */
int vel_fs_replace_by(struct vel_fs *fs, const char *path, int64_t writer,
                      const void *bytes, size_t len, mode_t mode, struct vel_err *err);

/* The same, but a power loss may leave the old file, the new one, or a torn one. */
int vel_fs_replace_unsynced(struct vel_fs *fs, const char *path, int64_t writer,
                            const void *bytes, size_t len, mode_t mode,
                            struct vel_err *err);

/* Such a number for a writer who does not know the others; its temporary goes with the
 * directory that it is in. */
int vel_fs_writer(int64_t *ret_writer, struct vel_err *err);

/* Is `name`, without directory, such a temporary? No reader should look at one. */
bool vel_fs_is_temporary(const char *name);

/* What a loss of power leaves of a file that is made once. */
enum vel_fs_lasts {
    VEL_FS_LASTS_NOT,   /* it, nothing, or a torn one: who needs it lives */
    VEL_FS_LASTS_WHOLE, /* it, or nothing; its name is synced later */
    VEL_FS_LASTS,       /* it */
};

/* Make a file of these bytes, some of which nobody else can have. It is written under a
 * name of its own and linked to `path`, where it is never replaced: of many that try,
 * on many nodes, one succeeds, and all read the same afterwards. *ret_is_mine: false
 * when another was there before, which lasts as well when this returns. VEL_EUNSUP: the
 * file system has no link(2). After another failure it may have been made or not; the
 * same call with the same bytes tells. */
int vel_fs_once(struct vel_fs *fs, const char *path, const void *bytes, size_t len,
                enum vel_fs_lasts lasts, bool *ret_is_mine, struct vel_err *err);

/* Remove the temporary files in `dir` of what is made. Safe at any time: whoever still
 * needs one finds it gone, and reads what is there. */
int vel_fs_once_sweep(struct vel_fs *fs, const char *dir, struct vel_err *err);

int vel_fs_rename(struct vel_fs *fs, const char *from, const char *to,
                  struct vel_err *err);

/* A second name for a file. Never for what a link points to. */
int vel_fs_link(struct vel_fs *fs, const char *from, const char *to,
                struct vel_err *err);

/* Removing what is not there succeeds. */
int vel_fs_unlink(struct vel_fs *fs, const char *path, struct vel_err *err);

/* Make what was renamed, created or removed in a directory survive a power loss.
 * Nothing on file systems that cannot sync a directory. */
int vel_fs_sync_dir(struct vel_fs *fs, const char *dir, struct vel_err *err);

/* The same for the directory that `path` is in. */
int vel_fs_sync_parent(struct vel_fs *fs, const char *path, struct vel_err *err);

/* Make `dir` and the directories above it, for one who syncs them all later: before
 * that a power loss may take each of them away. */
int vel_fs_make_dirs_unsynced(struct vel_fs *fs, const char *dir, mode_t mode,
                              struct vel_err *err);

/* Make `dir` and the directories above it; those that are there stay as they are.
 * Several processes may do so at once. When it returns `dir` survives a power loss,
 * whichever of them made it. VEL_EINVAL when something on the way is no directory. */
int vel_fs_make_dirs(struct vel_fs *fs, const char *dir, mode_t mode,
                     struct vel_err *err);

/* The same of one directory, where the one above lasts, and nobody puts anything into
 * `dir` who has not called this before: then the name of one that is not empty is on
 * the disk. */
int vel_fs_make_own_dir(struct vel_fs *fs, const char *dir, mode_t mode,
                        struct vel_err *err);

/* Refuse (VEL_EUNSAFE) a directory that is a link, belongs to another user, or in which
 * others may write. Nobody else can then put a link into what lies below. */
int vel_fs_check_private_dir(struct vel_fs *fs, const char *dir, struct vel_err *err);

/* Is there anything of that name, a dangling link included? false when we cannot know.
 */
bool vel_fs_exists(struct vel_fs *fs, const char *path);

/* The names in a directory, sorted, without "." and "..": items of *ret_names are char
 * *, freed by vel_fs_names_fini(). VEL_ENOENT: no directory has this name. */
int vel_fs_list(struct vel_fs *fs, const char *dir, struct vel_vec *ret_names,
                struct vel_err *err);
void vel_fs_names_fini(struct vel_vec *names);

/* What others have done in a directory is seen from now on: a client of NFS remembers
 * what was not there until the directory changes, which it knows best when it has
 * changed it: by a name that comes and goes, where the file system does not show all.
 * *ret_now (may be NULL): what time it was, by the file system's clock. */
int vel_fs_see_anew(struct vel_fs *fs, const char *dir, struct timespec *ret_now,
                    struct vel_err *err);

/* Is that a name that it has made? Remove those of processes that were killed. */
bool vel_fs_is_look(const char *name);
int vel_fs_sweep_looks(struct vel_fs *fs, const char *dir, struct vel_err *err);

enum vel_fs_visit {
    VEL_FS_FILE,  /* anything that is no directory; links are not followed */
    VEL_FS_ENTER, /* a directory, before what is in it */
    VEL_FS_LEAVE, /* the same directory, after it */
};

/* Called with the path below the root of the walk ("" for the root itself) and its
 * lstat. A negative return ends the walk with that status. */
typedef int vel_fs_visit_f(void *arg, enum vel_fs_visit what, const char *below,
                           const struct stat *st, struct vel_err *err);

/* Visit `root` and everything below in sorted order. What vanishes meanwhile is left
 * out. VEL_ENOENT when there is no root. */
int vel_fs_walk(struct vel_fs *fs, const char *root, vel_fs_visit_f *visit, void *arg,
                struct vel_err *err);

/* Remove `root` and everything below; a link is removed, never followed. Absent is
 * success. Meant for trees whose directories only we may write
 * (vel_fs_check_private_dir). */
int vel_fs_remove_tree(struct vel_fs *fs, const char *root, struct vel_err *err);

/* The working directory as a new string. It belongs to the process, not to a file
 * system. */
int vel_fs_working_dir(char **ret_dir, struct vel_err *err);

/* Is the last name of a path no link, and none of "." and ".."? It need not be there.
 */
bool vel_fs_ends_without_link(const char *path);

/* The path without links, as a new string; the last name need not be there yet. */
int vel_fs_real_path(const char *path, char **ret_path, struct vel_err *err);

/* May this process write, or read, what is there, or write into a directory? */
bool vel_fs_is_allowed(const char *path, bool writes);

/* The path that an open file has now, as a new string, when this node's kernel knows;
 * it may be anything by the time one looks at it. */
int vel_fs_path_of(int fd, char **ret_path, struct vel_err *err);

/* Is `path` on a file system of this node alone, whose times follow its clock? */
bool vel_fs_is_local(const char *path);

/* Does what is stored in a mapped page of a file there need no new room? Where it does,
 * a full disk kills who stores it. */
bool vel_fs_overwrites_in_place(const char *path);

/* Bytes that an unprivileged writer may still put where `path` lies. */
int vel_fs_space(struct vel_fs *fs, const char *path, uint64_t *ret_free,
                 struct vel_err *err);

#endif
