/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tap/fs_fault.h"

enum { FDS_MOST = 4096 };

struct vel_fs_fault {
    struct vel_fs fs;
    struct vel_fs *under;
    struct vel_fs_undo *undo; /* NULL without aside; else `under` is its file system */
    pthread_mutex_t lock;     /* guards what follows */
    struct vel_fs_fault_plan plan;
    uint64_t count;
    bool has_fired;
    bool is_dead;
    bool is_below[FDS_MOST]; /* descriptors of files in the plan's directory */
};

static struct vel_fs_fault *fault_of(struct vel_fs *fs)
{
    return (struct vel_fs_fault *)fs; /* its first member */
}

/* Is this operation one that the plan speaks of? A path of NULL: ask the descriptor. */
static bool is_meant(const struct vel_fs_fault *f, enum vel_fs_kind kind,
                     const char *path, int fd)
{
    const struct vel_fs_fault_plan *plan = &f->plan;
    size_t len = plan->below ? strlen(plan->below) : 0;

    if (plan->kinds && !(plan->kinds & kind))
        return false;
    if (!plan->below)
        return true;
    if (!path)
        return fd >= 0 && fd < FDS_MOST && f->is_below[fd];
    return strncmp(path, plan->below, len) == 0 &&
           (path[len] == '\0' || path[len] == '/');
}

/* Every operation passes here: 0, or the negative errno that it fails with. */
static int pass(struct vel_fs_fault *f, enum vel_fs_kind kind, const char *path, int fd)
{
    void (*crash)(void *arg) = NULL;
    void *arg;
    int rc = 0;

    pthread_mutex_lock(&f->lock);
    const struct vel_fs_fault_plan *plan = &f->plan;
    bool is_counted = is_meant(f, kind, path, fd);
    f->count += is_counted;
    if (f->is_dead) {
        rc = -EIO;
    } else if (is_counted && plan->mode != VEL_FS_FAULT_NONE &&
               (f->count == plan->at ||
                (f->count > plan->at && plan->mode == VEL_FS_FAULT_LASTING))) {
        f->has_fired = true;
        f->is_dead = plan->mode == VEL_FS_FAULT_CRASH;
        crash = f->is_dead ? plan->crash : NULL;
        rc = f->is_dead || !plan->errnum ? -EIO : -plan->errnum;
    }
    arg = plan->arg;
    pthread_mutex_unlock(&f->lock);
    if (crash)
        crash(arg);
    return rc;
}

/* A descriptor belongs to the plan under which it was opened. */
static int note_open(struct vel_fs_fault *f, const char *path, int fd)
{
    pthread_mutex_lock(&f->lock);
    if (fd >= 0 && fd < FDS_MOST)
        f->is_below[fd] = f->plan.below && is_meant(f, VEL_FS_KIND_ALL, path, -1);
    pthread_mutex_unlock(&f->lock);
    return fd;
}

static size_t shorten(struct vel_fs_fault *f, size_t len)
{
    pthread_mutex_lock(&f->lock);
    size_t most = f->plan.most_at_once;
    pthread_mutex_unlock(&f->lock);
    return most && len > most ? most : len;
}

static int fault_open(struct vel_fs *fs, const char *path, int flags, mode_t mode)
{
    struct vel_fs_fault *f = fault_of(fs);
    int rc = pass(f, VEL_FS_KIND_OPEN, path, -1);

    return rc < 0
               ? rc
               : note_open(f, path, f->under->ops->open(f->under, path, flags, mode));
}

static int fault_close(struct vel_fs *fs, int fd)
{
    struct vel_fs_fault *f = fault_of(fs);
    int rc = pass(f, VEL_FS_KIND_CLOSE, NULL, fd);
    int closed = f->under->ops->close(f->under, fd); /* a dead process closes too */

    return rc < 0 ? rc : closed;
}

static ssize_t fault_pread(struct vel_fs *fs, int fd, void *buf, size_t len, off_t at)
{
    struct vel_fs_fault *f = fault_of(fs);
    int rc = pass(f, VEL_FS_KIND_READ, NULL, fd);

    return rc < 0 ? rc : f->under->ops->pread(f->under, fd, buf, shorten(f, len), at);
}

static ssize_t fault_pwrite(struct vel_fs *fs, int fd, const void *buf, size_t len,
                            off_t at)
{
    struct vel_fs_fault *f = fault_of(fs);
    int rc = pass(f, VEL_FS_KIND_WRITE, NULL, fd);

    return rc < 0 ? rc : f->under->ops->pwrite(f->under, fd, buf, shorten(f, len), at);
}

static ssize_t fault_append(struct vel_fs *fs, int fd, const void *buf, size_t len)
{
    struct vel_fs_fault *f = fault_of(fs);
    int rc = pass(f, VEL_FS_KIND_WRITE, NULL, fd);

    return rc < 0 ? rc : f->under->ops->append(f->under, fd, buf, shorten(f, len));
}

static ssize_t fault_copy(struct vel_fs *fs, int from, off_t from_at, int to,
                          off_t to_at, size_t len)
{
    struct vel_fs_fault *f = fault_of(fs);
    int rc = pass(f, VEL_FS_KIND_COPY, NULL, to);

    return rc < 0 ? rc
                  : f->under->ops->copy(f->under, from, from_at, to, to_at,
                                        shorten(f, len));
}

static int fault_clone(struct vel_fs *fs, int from, int to)
{
    struct vel_fs_fault *f = fault_of(fs);
    int rc = pass(f, VEL_FS_KIND_COPY, NULL, to);

    return rc < 0 ? rc : f->under->ops->clone(f->under, from, to);
}

static int fault_truncate(struct vel_fs *fs, int fd, off_t size)
{
    struct vel_fs_fault *f = fault_of(fs);
    int rc = pass(f, VEL_FS_KIND_TRUNCATE, NULL, fd);

    return rc < 0 ? rc : f->under->ops->truncate(f->under, fd, size);
}

static int fault_fsync(struct vel_fs *fs, int fd)
{
    struct vel_fs_fault *f = fault_of(fs);
    int rc = pass(f, VEL_FS_KIND_SYNC, NULL, fd);

    return rc < 0 ? rc : f->under->ops->fsync(f->under, fd);
}

static int fault_flock(struct vel_fs *fs, int fd, int how)
{
    struct vel_fs_fault *f = fault_of(fs);
    int rc = pass(f, VEL_FS_KIND_LOCK, NULL, fd);

    return rc < 0 ? rc : f->under->ops->flock(f->under, fd, how);
}

static int fault_fstat(struct vel_fs *fs, int fd, struct stat *ret)
{
    struct vel_fs_fault *f = fault_of(fs);
    int rc = pass(f, VEL_FS_KIND_STAT, NULL, fd);

    return rc < 0 ? rc : f->under->ops->fstat(f->under, fd, ret);
}

static int fault_set_times(struct vel_fs *fs, int fd, const struct timespec times[2])
{
    struct vel_fs_fault *f = fault_of(fs);
    int rc = pass(f, VEL_FS_KIND_ATTR, NULL, fd);

    return rc < 0 ? rc : f->under->ops->set_times(f->under, fd, times);
}

static int fault_set_mode(struct vel_fs *fs, int fd, mode_t mode)
{
    struct vel_fs_fault *f = fault_of(fs);
    int rc = pass(f, VEL_FS_KIND_ATTR, NULL, fd);

    return rc < 0 ? rc : f->under->ops->set_mode(f->under, fd, mode);
}

static int fault_lstat(struct vel_fs *fs, const char *path, struct stat *ret)
{
    struct vel_fs_fault *f = fault_of(fs);
    int rc = pass(f, VEL_FS_KIND_STAT, path, -1);

    return rc < 0 ? rc : f->under->ops->lstat(f->under, path, ret);
}

static int fault_list(struct vel_fs *fs, const char *path, struct vel_vec *ret_names)
{
    struct vel_fs_fault *f = fault_of(fs);
    int rc = pass(f, VEL_FS_KIND_LIST, path, -1);

    return rc < 0 ? rc : f->under->ops->list(f->under, path, ret_names);
}

static int fault_rename(struct vel_fs *fs, const char *from, const char *to)
{
    struct vel_fs_fault *f = fault_of(fs);
    int rc = pass(f, VEL_FS_KIND_RENAME, to, -1);

    return rc < 0 ? rc : f->under->ops->rename(f->under, from, to);
}

static int fault_link(struct vel_fs *fs, const char *from, const char *to)
{
    struct vel_fs_fault *f = fault_of(fs);
    int rc = pass(f, VEL_FS_KIND_LINK, to, -1);

    return rc < 0 ? rc : f->under->ops->link(f->under, from, to);
}

static int fault_unlink(struct vel_fs *fs, const char *path)
{
    struct vel_fs_fault *f = fault_of(fs);
    int rc = pass(f, VEL_FS_KIND_UNLINK, path, -1);

    return rc < 0 ? rc : f->under->ops->unlink(f->under, path);
}

static int fault_mkdir(struct vel_fs *fs, const char *path, mode_t mode)
{
    struct vel_fs_fault *f = fault_of(fs);
    int rc = pass(f, VEL_FS_KIND_MKDIR, path, -1);

    return rc < 0 ? rc : f->under->ops->mkdir(f->under, path, mode);
}

static int fault_rmdir(struct vel_fs *fs, const char *path)
{
    struct vel_fs_fault *f = fault_of(fs);
    int rc = pass(f, VEL_FS_KIND_RMDIR, path, -1);

    return rc < 0 ? rc : f->under->ops->rmdir(f->under, path);
}

static int fault_space(struct vel_fs *fs, const char *path, struct statvfs *ret)
{
    struct vel_fs_fault *f = fault_of(fs);
    int rc = pass(f, VEL_FS_KIND_SPACE, path, -1);

    return rc < 0 ? rc : f->under->ops->space(f->under, path, ret);
}

static const struct vel_fs_ops fault_ops = {
    .open = fault_open,
    .close = fault_close,
    .pread = fault_pread,
    .pwrite = fault_pwrite,
    .append = fault_append,
    .copy = fault_copy,
    .clone = fault_clone,
    .truncate = fault_truncate,
    .fsync = fault_fsync,
    .flock = fault_flock,
    .fstat = fault_fstat,
    .set_times = fault_set_times,
    .set_mode = fault_set_mode,
    .lstat = fault_lstat,
    .list = fault_list,
    .rename = fault_rename,
    .link = fault_link,
    .unlink = fault_unlink,
    .mkdir = fault_mkdir,
    .rmdir = fault_rmdir,
    .space = fault_space,
};

int vel_fs_fault_create(struct vel_fs *under, const char *aside,
                        struct vel_fs_fault **ret_fault, struct vel_err *err)
{
    struct vel_fs_fault *f = calloc(1, sizeof *f);

    if (!f)
        return vel_out_of_memory(err, "making a fault twin");
    f->fs.ops = &fault_ops;
    f->under = under;
    pthread_mutex_init(&f->lock, NULL);
    if (aside) {
        int rc = vel_fs_undo_create(under, aside, &f->undo, err);
        if (rc < 0) {
            vel_fs_fault_destroy(f);
            return rc;
        }
        f->under = vel_fs_undo_fs(f->undo);
    }
    *ret_fault = f;
    return 0;
}

void vel_fs_fault_destroy(struct vel_fs_fault *fault)
{
    if (!fault)
        return;
    vel_fs_undo_destroy(fault->undo);
    pthread_mutex_destroy(&fault->lock);
    free(fault);
}

struct vel_fs *vel_fs_fault_fs(struct vel_fs_fault *fault)
{
    return &fault->fs;
}

void vel_fs_fault_arm(struct vel_fs_fault *fault, const struct vel_fs_fault_plan *plan)
{
    pthread_mutex_lock(&fault->lock);
    fault->plan = *plan;
    fault->count = 0;
    fault->has_fired = false;
    fault->is_dead = false;
    pthread_mutex_unlock(&fault->lock);
}

bool vel_fs_fault_fired(struct vel_fs_fault *fault)
{
    pthread_mutex_lock(&fault->lock);
    bool has_fired = fault->has_fired;
    pthread_mutex_unlock(&fault->lock);
    return has_fired;
}

uint64_t vel_fs_fault_count(struct vel_fs_fault *fault)
{
    pthread_mutex_lock(&fault->lock);
    uint64_t count = fault->count;
    pthread_mutex_unlock(&fault->lock);
    return count;
}

int vel_fs_fault_power_loss(struct vel_fs_fault *fault, enum vel_fs_loss loss,
                            uint64_t seed, struct vel_err *err)
{
    static const struct vel_fs_fault_plan only_count = {.mode = VEL_FS_FAULT_NONE};

    if (!fault->undo)
        return vel_fail(err, VEL_EUNSUP,
                        "this fault twin has no directory aside to restore from");
    vel_fs_fault_arm(fault, &only_count);
    return vel_fs_undo_power_loss(fault->undo, loss, seed, err);
}
