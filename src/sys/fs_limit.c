/* SPDX-License-Identifier: BSD-3-Clause */
/* The operations: done here, or asked of the thread (fs_limit_call). */
#include "config.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "sys/fs_limit_in.h"

static struct vel_fs_limit *limit_of(struct vel_fs *fs)
{
    return (struct vel_fs_limit *)fs; /* its first member */
}

static bool is_bound(const struct vel_fs_limit *l)
{
    return atomic_load(&l->is_bound) && pthread_equal(l->bound, pthread_self());
}

static bool is_below(const struct vel_fs_limit *l, const char *path)
{
    return path && vel_path_below(l->below, path);
}

static bool is_below_fd(struct vel_fs_limit *l, int fd)
{
    return fd >= 0 && fd < VEL_FS_LIMIT_FDS && atomic_load(&l->is_below[fd]);
}

static void mark(struct vel_fs_limit *l, int fd, bool is_below)
{
    if (fd >= 0 && fd < VEL_FS_LIMIT_FDS)
        atomic_store(&l->is_below[fd], is_below);
}

static ssize_t with_path(struct vel_fs *fs, const struct vel_fs_call *call)
{
    struct vel_fs_limit *l = limit_of(fs);

    return is_bound(l) && (is_below(l, call->path) || is_below(l, call->other))
               ? vel_fs_limit_ask(l, call, false)
               : call->run(l->under, call);
}

static ssize_t with_fd(struct vel_fs *fs, const struct vel_fs_call *call)
{
    struct vel_fs_limit *l = limit_of(fs);

    return is_bound(l) && is_below_fd(l, call->fd) ? vel_fs_limit_ask(l, call, false)
                                                   : call->run(l->under, call);
}

static ssize_t with_fds(struct vel_fs *fs, const struct vel_fs_call *call)
{
    struct vel_fs_limit *l = limit_of(fs);

    return is_bound(l) && (is_below_fd(l, call->fd) || is_below_fd(l, call->to))
               ? vel_fs_limit_ask(l, call, false)
               : call->run(l->under, call);
}

/* --- what is open --- */

static ssize_t do_open(struct vel_fs *under, const struct vel_fs_call *c)
{
    return under->ops->open(under, c->path, c->how, c->mode);
}

static int limit_open(struct vel_fs *fs, const char *path, int flags, mode_t mode)
{
    const struct vel_fs_call call = {
        .run = do_open, .path = path, .how = flags, .mode = mode, .opens = true};
    ssize_t fd = with_path(fs, &call);

    mark(limit_of(fs), (int)fd, is_below(limit_of(fs), path));
    return (int)fd;
}

static ssize_t do_close(struct vel_fs *under, const struct vel_fs_call *c)
{
    return under->ops->close(under, c->fd);
}

static int limit_close(struct vel_fs *fs, int fd)
{
    const struct vel_fs_call call = {.run = do_close, .fd = fd};
    struct vel_fs_limit *l = limit_of(fs);
    bool is_asked = is_bound(l) && is_below_fd(l, fd);

    mark(l, fd, false); /* before another thread may have the number */
    return (int)(is_asked ? vel_fs_limit_ask(l, &call, true)
                          : do_close(l->under, &call));
}

static ssize_t do_pread(struct vel_fs *under, const struct vel_fs_call *c)
{
    return under->ops->pread(under, c->fd, c->ret, c->ret_len, c->at);
}

static ssize_t limit_pread(struct vel_fs *fs, int fd, void *buf, size_t len, off_t at)
{
    const struct vel_fs_call call = {
        .run = do_pread, .fd = fd, .ret = buf, .ret_len = len, .at = at};

    return with_fd(fs, &call);
}

static ssize_t do_pwrite(struct vel_fs *under, const struct vel_fs_call *c)
{
    return under->ops->pwrite(under, c->fd, c->from, c->len, c->at);
}

static ssize_t limit_pwrite(struct vel_fs *fs, int fd, const void *buf, size_t len,
                            off_t at)
{
    const struct vel_fs_call call = {
        .run = do_pwrite, .fd = fd, .from = buf, .len = len, .at = at};

    return with_fd(fs, &call);
}

static ssize_t do_append(struct vel_fs *under, const struct vel_fs_call *c)
{
    return under->ops->append(under, c->fd, c->from, c->len);
}

static ssize_t limit_append(struct vel_fs *fs, int fd, const void *buf, size_t len)
{
    const struct vel_fs_call call = {
        .run = do_append, .fd = fd, .from = buf, .len = len};

    return with_fd(fs, &call);
}

static ssize_t do_copy(struct vel_fs *under, const struct vel_fs_call *c)
{
    return under->ops->copy(under, c->fd, c->at, c->to, c->to_at, c->len);
}

static ssize_t limit_copy(struct vel_fs *fs, int from, off_t from_at, int to,
                          off_t to_at, size_t len)
{
    const struct vel_fs_call call = {.run = do_copy,
                                     .fd = from,
                                     .at = from_at,
                                     .to = to,
                                     .to_at = to_at,
                                     .len = len};

    return with_fds(fs, &call);
}

static ssize_t do_clone(struct vel_fs *under, const struct vel_fs_call *c)
{
    return under->ops->clone(under, c->fd, c->to);
}

static int limit_clone(struct vel_fs *fs, int from, int to)
{
    const struct vel_fs_call call = {.run = do_clone, .fd = from, .to = to};

    return (int)with_fds(fs, &call);
}

static ssize_t do_truncate(struct vel_fs *under, const struct vel_fs_call *c)
{
    return under->ops->truncate(under, c->fd, c->at);
}

static int limit_truncate(struct vel_fs *fs, int fd, off_t size)
{
    const struct vel_fs_call call = {.run = do_truncate, .fd = fd, .at = size};

    return (int)with_fd(fs, &call);
}

static ssize_t do_fsync(struct vel_fs *under, const struct vel_fs_call *c)
{
    return under->ops->fsync(under, c->fd);
}

static int limit_fsync(struct vel_fs *fs, int fd)
{
    const struct vel_fs_call call = {.run = do_fsync, .fd = fd};

    return (int)with_fd(fs, &call);
}

static ssize_t do_flock(struct vel_fs *under, const struct vel_fs_call *c)
{
    return under->ops->flock(under, c->fd, c->how);
}

static int limit_flock(struct vel_fs *fs, int fd, int how)
{
    const struct vel_fs_call call = {.run = do_flock, .fd = fd, .how = how};

    return (int)with_fd(fs, &call);
}

static ssize_t do_fstat(struct vel_fs *under, const struct vel_fs_call *c)
{
    return under->ops->fstat(under, c->fd, c->ret);
}

static int limit_fstat(struct vel_fs *fs, int fd, struct stat *ret)
{
    const struct vel_fs_call call = {
        .run = do_fstat, .fd = fd, .ret = ret, .ret_len = sizeof *ret};

    return (int)with_fd(fs, &call);
}

static ssize_t do_set_times(struct vel_fs *under, const struct vel_fs_call *c)
{
    return under->ops->set_times(under, c->fd, c->from);
}

static int limit_set_times(struct vel_fs *fs, int fd, const struct timespec times[2])
{
    const struct vel_fs_call call = {
        .run = do_set_times, .fd = fd, .from = times, .len = 2 * sizeof times[0]};

    return (int)with_fd(fs, &call);
}

static ssize_t do_set_mode(struct vel_fs *under, const struct vel_fs_call *c)
{
    return under->ops->set_mode(under, c->fd, c->mode);
}

static int limit_set_mode(struct vel_fs *fs, int fd, mode_t mode)
{
    const struct vel_fs_call call = {.run = do_set_mode, .fd = fd, .mode = mode};

    return (int)with_fd(fs, &call);
}

/* --- names --- */

static ssize_t do_lstat(struct vel_fs *under, const struct vel_fs_call *c)
{
    return under->ops->lstat(under, c->path, c->ret);
}

static int limit_lstat(struct vel_fs *fs, const char *path, struct stat *ret)
{
    const struct vel_fs_call call = {
        .run = do_lstat, .path = path, .ret = ret, .ret_len = sizeof *ret};

    return (int)with_path(fs, &call);
}

static ssize_t do_list(struct vel_fs *under, const struct vel_fs_call *c)
{
    return under->ops->list(under, c->path, c->names);
}

static int limit_list(struct vel_fs *fs, const char *path, struct vel_vec *ret_names)
{
    const struct vel_fs_call call = {.run = do_list, .path = path, .names = ret_names};

    return (int)with_path(fs, &call);
}

static ssize_t do_rename(struct vel_fs *under, const struct vel_fs_call *c)
{
    return under->ops->rename(under, c->path, c->other);
}

static int limit_rename(struct vel_fs *fs, const char *from, const char *to)
{
    const struct vel_fs_call call = {.run = do_rename, .path = from, .other = to};

    return (int)with_path(fs, &call);
}

static ssize_t do_link(struct vel_fs *under, const struct vel_fs_call *c)
{
    return under->ops->link(under, c->path, c->other);
}

static int limit_link(struct vel_fs *fs, const char *from, const char *to)
{
    const struct vel_fs_call call = {.run = do_link, .path = from, .other = to};

    return (int)with_path(fs, &call);
}

static ssize_t do_unlink(struct vel_fs *under, const struct vel_fs_call *c)
{
    return under->ops->unlink(under, c->path);
}

static int limit_unlink(struct vel_fs *fs, const char *path)
{
    const struct vel_fs_call call = {.run = do_unlink, .path = path};

    return (int)with_path(fs, &call);
}

static ssize_t do_mkdir(struct vel_fs *under, const struct vel_fs_call *c)
{
    return under->ops->mkdir(under, c->path, c->mode);
}

static int limit_mkdir(struct vel_fs *fs, const char *path, mode_t mode)
{
    const struct vel_fs_call call = {.run = do_mkdir, .path = path, .mode = mode};

    return (int)with_path(fs, &call);
}

static ssize_t do_rmdir(struct vel_fs *under, const struct vel_fs_call *c)
{
    return under->ops->rmdir(under, c->path);
}

static int limit_rmdir(struct vel_fs *fs, const char *path)
{
    const struct vel_fs_call call = {.run = do_rmdir, .path = path};

    return (int)with_path(fs, &call);
}

static ssize_t do_space(struct vel_fs *under, const struct vel_fs_call *c)
{
    return under->ops->space(under, c->path, c->ret);
}

static int limit_space(struct vel_fs *fs, const char *path, struct statvfs *ret)
{
    const struct vel_fs_call call = {
        .run = do_space, .path = path, .ret = ret, .ret_len = sizeof *ret};

    return (int)with_path(fs, &call);
}

static const struct vel_fs_ops limit_ops = {
    .open = limit_open,
    .close = limit_close,
    .pread = limit_pread,
    .pwrite = limit_pwrite,
    .append = limit_append,
    .copy = limit_copy,
    .clone = limit_clone,
    .truncate = limit_truncate,
    .fsync = limit_fsync,
    .flock = limit_flock,
    .fstat = limit_fstat,
    .set_times = limit_set_times,
    .set_mode = limit_set_mode,
    .lstat = limit_lstat,
    .list = limit_list,
    .rename = limit_rename,
    .link = limit_link,
    .unlink = limit_unlink,
    .mkdir = limit_mkdir,
    .rmdir = limit_rmdir,
    .space = limit_space,
};

/* --- life --- */

int vel_fs_limit_create(struct vel_fs *under, const char *below, uint64_t limit,
                        struct vel_fs_limit **ret_limit, struct vel_err *err)
{
    struct vel_fs_limit *l = calloc(1, sizeof *l);
    pthread_condattr_t attr;
    cpu_set_t cores;

    if (l)
        l->below = strdup(below);
    if (!l || !l->below) {
        free(l);
        return vel_out_of_memory(err, "a file system");
    }
    l->fs.ops = &limit_ops;
    l->under = under;
    l->limit = limit;
    l->users = 1;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->asked, NULL);
    l->spins = sched_getaffinity(0, sizeof cores, &cores) == 0 && CPU_COUNT(&cores) > 1;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&l->done, &attr);
    pthread_condattr_destroy(&attr);
    *ret_limit = l;
    return 0;
}

void vel_fs_limit_destroy(struct vel_fs_limit *limit)
{
    if (!limit)
        return;
    pthread_mutex_lock(&limit->lock);
    limit->is_over = true;
    pthread_cond_signal(&limit->asked);
    vel_fs_limit_leave(limit);
}

void vel_fs_limit_bind(struct vel_fs_limit *limit)
{
    limit->bound = pthread_self();
    atomic_store(&limit->is_bound, true);
}

struct vel_fs *vel_fs_limit_fs(struct vel_fs_limit *limit)
{
    return &limit->fs;
}
