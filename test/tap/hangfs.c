/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>

#include "base/path.h"
#include "tap/hangfs.h"

static void enter(struct vel_fs *fs, const char *path)
{
    struct hangfs *h = (struct hangfs *)fs;

    if (!path || !vel_path_below(h->below, path))
        return;
    pthread_mutex_lock(&h->lock);
    h->waiting++;
    pthread_cond_broadcast(&h->news);
    while (h->hangs)
        pthread_cond_wait(&h->news, &h->lock);
    h->waiting--;
    pthread_mutex_unlock(&h->lock);
}

static void enter_fd(struct vel_fs *fs, int fd)
{
    char *path = NULL;

    if (vel_fs_path_of(fd, &path, NULL) == 0)
        enter(fs, path);
    free(path);
}

static const struct vel_fs_ops *posix(void)
{
    return vel_fs_posix()->ops;
}

static int hang_open(struct vel_fs *fs, const char *path, int flags, mode_t mode)
{
    enter(fs, path);
    return posix()->open(fs, path, flags, mode);
}

static ssize_t hang_pwrite(struct vel_fs *fs, int fd, const void *buf, size_t len,
                           off_t at)
{
    enter_fd(fs, fd);
    return posix()->pwrite(fs, fd, buf, len, at);
}

static ssize_t hang_copy(struct vel_fs *fs, int from, off_t from_at, int to,
                         off_t to_at, size_t len)
{
    enter_fd(fs, to);
    return posix()->copy(fs, from, from_at, to, to_at, len);
}

static int hang_fsync(struct vel_fs *fs, int fd)
{
    enter_fd(fs, fd);
    return posix()->fsync(fs, fd);
}

static int hang_lstat(struct vel_fs *fs, const char *path, struct stat *ret)
{
    enter(fs, path);
    return posix()->lstat(fs, path, ret);
}

static int hang_list(struct vel_fs *fs, const char *path, struct vel_vec *ret_names)
{
    enter(fs, path);
    return posix()->list(fs, path, ret_names);
}

static int hang_rename(struct vel_fs *fs, const char *from, const char *to)
{
    enter(fs, to);
    return posix()->rename(fs, from, to);
}

static int hang_link(struct vel_fs *fs, const char *from, const char *to)
{
    enter(fs, to);
    return posix()->link(fs, from, to);
}

static int hang_unlink(struct vel_fs *fs, const char *path)
{
    enter(fs, path);
    return posix()->unlink(fs, path);
}

static int hang_mkdir(struct vel_fs *fs, const char *path, mode_t mode)
{
    enter(fs, path);
    return posix()->mkdir(fs, path, mode);
}

void hangfs_init(struct hangfs *h, const char *below)
{
    *h = (struct hangfs){.ops = *posix(), .below = below};
    h->fs.ops = &h->ops;
    h->ops.open = hang_open;
    h->ops.pwrite = hang_pwrite;
    h->ops.copy = hang_copy;
    h->ops.fsync = hang_fsync;
    h->ops.lstat = hang_lstat;
    h->ops.list = hang_list;
    h->ops.rename = hang_rename;
    h->ops.link = hang_link;
    h->ops.unlink = hang_unlink;
    h->ops.mkdir = hang_mkdir;
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->news, NULL);
}

void hangfs_fini(struct hangfs *h)
{
    pthread_cond_destroy(&h->news);
    pthread_mutex_destroy(&h->lock);
}

static void set(struct hangfs *h, bool hangs)
{
    pthread_mutex_lock(&h->lock);
    h->hangs = hangs;
    pthread_cond_broadcast(&h->news);
    pthread_mutex_unlock(&h->lock);
}

void hangfs_hang(struct hangfs *h)
{
    set(h, true);
}

void hangfs_let_go(struct hangfs *h)
{
    set(h, false);
}

void hangfs_wait(struct hangfs *h, int waiting)
{
    pthread_mutex_lock(&h->lock);
    while (h->waiting < waiting)
        pthread_cond_wait(&h->news, &h->lock);
    pthread_mutex_unlock(&h->lock);
}
