/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <fcntl.h>

#include "sys/fs_twin.h"

/* --- calls become operations --- */

ssize_t vel_fs_call_run(struct vel_fs *under, const struct vel_fs_call *c)
{
    const struct vel_fs_ops *ops = under->ops;

    switch (c->op) {
    case VEL_FS_OP_OPEN:
        return ops->open(under, c->path, c->how, c->mode);
    case VEL_FS_OP_CLOSE:
        return ops->close(under, c->fd);
    case VEL_FS_OP_PREAD:
        return ops->pread(under, c->fd, c->ret, c->len, c->at);
    case VEL_FS_OP_PWRITE:
        return ops->pwrite(under, c->fd, c->bytes, c->len, c->at);
    case VEL_FS_OP_APPEND:
        return ops->append(under, c->fd, c->bytes, c->len);
    case VEL_FS_OP_COPY:
        return ops->copy(under, c->from_fd, c->from_at, c->fd, c->at, c->len);
    case VEL_FS_OP_CLONE:
        return ops->clone(under, c->from_fd, c->fd);
    case VEL_FS_OP_TRUNCATE:
        return ops->truncate(under, c->fd, c->size);
    case VEL_FS_OP_FSYNC:
        return ops->fsync(under, c->fd);
    case VEL_FS_OP_HASTEN:
        if (ops->hasten)
            ops->hasten(under, c->fd, c->at, c->size);
        break;
    case VEL_FS_OP_FLOCK:
        return ops->flock(under, c->fd, c->how);
    case VEL_FS_OP_FSTAT:
        return ops->fstat(under, c->fd, c->ret);
    case VEL_FS_OP_SET_TIMES:
        return ops->set_times(under, c->fd, c->bytes);
    case VEL_FS_OP_SET_MODE:
        return ops->set_mode(under, c->fd, c->mode);
    case VEL_FS_OP_LSTAT:
        return ops->lstat(under, c->path, c->ret);
    case VEL_FS_OP_LIST:
        return ops->list(under, c->path, c->names);
    case VEL_FS_OP_RENAME:
        return ops->rename(under, c->from_path, c->path);
    case VEL_FS_OP_LINK:
        return ops->link(under, c->from_path, c->path);
    case VEL_FS_OP_UNLINK:
        return ops->unlink(under, c->path);
    case VEL_FS_OP_MKDIR:
        return ops->mkdir(under, c->path, c->mode);
    case VEL_FS_OP_RMDIR:
        return ops->rmdir(under, c->path);
    case VEL_FS_OP_SPACE:
        return ops->space(under, c->path, c->ret);
    case VEL_FS_OP_SHOWS_ALL:
        return ops->shows_all(under, c->path);
    }
    return 0;
}

bool vel_fs_call_changes(const struct vel_fs_call *call)
{
    switch (call->op) {
    case VEL_FS_OP_OPEN:
        return (call->how & O_ACCMODE) != O_RDONLY || call->how & (O_CREAT | O_TRUNC);
    case VEL_FS_OP_PREAD:
    case VEL_FS_OP_FSTAT:
    case VEL_FS_OP_LSTAT:
    case VEL_FS_OP_LIST:
    case VEL_FS_OP_SPACE:
    case VEL_FS_OP_SHOWS_ALL:
        return false;
    default:
        return true;
    }
}

/* --- operations become calls --- */

static ssize_t call_hook(struct vel_fs *fs, struct vel_fs_call *call)
{
    struct vel_fs_twin *twin = (struct vel_fs_twin *)fs; /* its first member */

    return twin->hook(twin, call);
}

/* An initializer sets what it leaves out to 0, which is a descriptor. */
static ssize_t call_with_fd(struct vel_fs *fs, struct vel_fs_call *call)
{
    call->from_fd = -1;
    return call_hook(fs, call);
}

static ssize_t call_with_path(struct vel_fs *fs, struct vel_fs_call *call)
{
    call->fd = call->from_fd = -1;
    return call_hook(fs, call);
}

static int twin_open(struct vel_fs *fs, const char *path, int flags, mode_t mode)
{
    struct vel_fs_call call = {
        .op = VEL_FS_OP_OPEN, .path = path, .how = flags, .mode = mode};

    return (int)call_with_path(fs, &call);
}

static int twin_close(struct vel_fs *fs, int fd)
{
    struct vel_fs_call call = {.op = VEL_FS_OP_CLOSE, .fd = fd};

    return (int)call_with_fd(fs, &call);
}

static ssize_t twin_pread(struct vel_fs *fs, int fd, void *buf, size_t len, off_t at)
{
    struct vel_fs_call call = {
        .op = VEL_FS_OP_PREAD, .fd = fd, .ret = buf, .len = len, .at = at};

    return call_with_fd(fs, &call);
}

static ssize_t twin_pwrite(struct vel_fs *fs, int fd, const void *buf, size_t len,
                           off_t at)
{
    struct vel_fs_call call = {
        .op = VEL_FS_OP_PWRITE, .fd = fd, .bytes = buf, .len = len, .at = at};

    return call_with_fd(fs, &call);
}

static ssize_t twin_append(struct vel_fs *fs, int fd, const void *buf, size_t len)
{
    struct vel_fs_call call = {
        .op = VEL_FS_OP_APPEND, .fd = fd, .bytes = buf, .len = len};

    return call_with_fd(fs, &call);
}

static ssize_t twin_copy(struct vel_fs *fs, int from, off_t from_at, int to,
                         off_t to_at, size_t len)
{
    struct vel_fs_call call = {.op = VEL_FS_OP_COPY,
                               .fd = to,
                               .at = to_at,
                               .from_fd = from,
                               .from_at = from_at,
                               .len = len};

    return call_hook(fs, &call);
}

static int twin_clone(struct vel_fs *fs, int from, int to)
{
    struct vel_fs_call call = {.op = VEL_FS_OP_CLONE, .fd = to, .from_fd = from};

    return (int)call_hook(fs, &call);
}

static int twin_truncate(struct vel_fs *fs, int fd, off_t size)
{
    struct vel_fs_call call = {.op = VEL_FS_OP_TRUNCATE, .fd = fd, .size = size};

    return (int)call_with_fd(fs, &call);
}

static int twin_fsync(struct vel_fs *fs, int fd)
{
    struct vel_fs_call call = {.op = VEL_FS_OP_FSYNC, .fd = fd};

    return (int)call_with_fd(fs, &call);
}

static void twin_hasten(struct vel_fs *fs, int fd, off_t at, off_t len)
{
    struct vel_fs_call call = {.op = VEL_FS_OP_HASTEN, .fd = fd, .at = at, .size = len};

    (void)call_with_fd(fs, &call);
}

static int twin_flock(struct vel_fs *fs, int fd, int how)
{
    struct vel_fs_call call = {.op = VEL_FS_OP_FLOCK, .fd = fd, .how = how};

    return (int)call_with_fd(fs, &call);
}

static int twin_fstat(struct vel_fs *fs, int fd, struct stat *ret)
{
    struct vel_fs_call call = {
        .op = VEL_FS_OP_FSTAT, .fd = fd, .ret = ret, .len = sizeof *ret};

    return (int)call_with_fd(fs, &call);
}

static int twin_set_times(struct vel_fs *fs, int fd, const struct timespec times[2])
{
    struct vel_fs_call call = {.op = VEL_FS_OP_SET_TIMES,
                               .fd = fd,
                               .bytes = times,
                               .len = 2 * sizeof times[0]};

    return (int)call_with_fd(fs, &call);
}

static int twin_set_mode(struct vel_fs *fs, int fd, mode_t mode)
{
    struct vel_fs_call call = {.op = VEL_FS_OP_SET_MODE, .fd = fd, .mode = mode};

    return (int)call_with_fd(fs, &call);
}

static int twin_lstat(struct vel_fs *fs, const char *path, struct stat *ret)
{
    struct vel_fs_call call = {
        .op = VEL_FS_OP_LSTAT, .path = path, .ret = ret, .len = sizeof *ret};

    return (int)call_with_path(fs, &call);
}

static int twin_list(struct vel_fs *fs, const char *path, struct vel_vec *ret_names)
{
    struct vel_fs_call call = {.op = VEL_FS_OP_LIST, .path = path, .names = ret_names};

    return (int)call_with_path(fs, &call);
}

static int twin_rename(struct vel_fs *fs, const char *from, const char *to)
{
    struct vel_fs_call call = {.op = VEL_FS_OP_RENAME, .path = to, .from_path = from};

    return (int)call_with_path(fs, &call);
}

static int twin_link(struct vel_fs *fs, const char *from, const char *to)
{
    struct vel_fs_call call = {.op = VEL_FS_OP_LINK, .path = to, .from_path = from};

    return (int)call_with_path(fs, &call);
}

static int twin_unlink(struct vel_fs *fs, const char *path)
{
    struct vel_fs_call call = {.op = VEL_FS_OP_UNLINK, .path = path};

    return (int)call_with_path(fs, &call);
}

static int twin_mkdir(struct vel_fs *fs, const char *path, mode_t mode)
{
    struct vel_fs_call call = {.op = VEL_FS_OP_MKDIR, .path = path, .mode = mode};

    return (int)call_with_path(fs, &call);
}

static int twin_rmdir(struct vel_fs *fs, const char *path)
{
    struct vel_fs_call call = {.op = VEL_FS_OP_RMDIR, .path = path};

    return (int)call_with_path(fs, &call);
}

static int twin_space(struct vel_fs *fs, const char *path, struct statvfs *ret)
{
    struct vel_fs_call call = {
        .op = VEL_FS_OP_SPACE, .path = path, .ret = ret, .len = sizeof *ret};

    return (int)call_with_path(fs, &call);
}

static int twin_shows_all(struct vel_fs *fs, const char *path)
{
    struct vel_fs_call call = {.op = VEL_FS_OP_SHOWS_ALL, .path = path};

    return (int)call_with_path(fs, &call);
}

static const struct vel_fs_ops twin_ops = {
    .open = twin_open,
    .close = twin_close,
    .pread = twin_pread,
    .pwrite = twin_pwrite,
    .append = twin_append,
    .copy = twin_copy,
    .clone = twin_clone,
    .truncate = twin_truncate,
    .fsync = twin_fsync,
    .hasten = twin_hasten,
    .flock = twin_flock,
    .fstat = twin_fstat,
    .set_times = twin_set_times,
    .set_mode = twin_set_mode,
    .lstat = twin_lstat,
    .list = twin_list,
    .rename = twin_rename,
    .link = twin_link,
    .unlink = twin_unlink,
    .mkdir = twin_mkdir,
    .rmdir = twin_rmdir,
    .space = twin_space,
    .shows_all = twin_shows_all,
};

void vel_fs_twin_init(struct vel_fs_twin *twin, struct vel_fs *under,
                      vel_fs_hook_f *hook)
{
    *twin = (struct vel_fs_twin){.fs.ops = &twin_ops, .under = under, .hook = hook};
}
