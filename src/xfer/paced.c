/* SPDX-License-Identifier: BSD-3-Clause */
/* What is open is noted with the throttle that it waits for; all other operations are
 * passed on. */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/path.h"
#include "xfer/paced.h"

enum { STEP = 1 << 20 }; /* bytes of one operation: others have their turn then */

struct opened {
    int fd;
    struct vel_throttle *throttle;
};

static struct vel_paced *paced_of(struct vel_fs *fs)
{
    return (struct vel_paced *)fs; /* its first member */
}

/* The throttle of the innermost directory that has a path; NULL: none has it. */
static struct vel_throttle *find_throttle(const struct vel_paced *p, const char *path)
{
    const struct vel_paced_dir *best = NULL;

    for (size_t i = 0; i < p->n; i++)
        if (vel_path_below(p->dirs[i].dir, path) &&
            (!best || vel_path_below(best->dir, p->dirs[i].dir)))
            best = &p->dirs[i];
    return best ? best->throttle : NULL;
}

/* With the lock; opened.n: it waits for nothing. */
static size_t find_fd(const struct vel_paced *p, int fd)
{
    const struct opened *opened = p->opened.items;
    size_t i = 0;

    while (i < p->opened.n && opened[i].fd != fd)
        i++;
    return i;
}

/* The bytes have moved: wait until as many were allowed to. Who is to stop waits no
 * more, and learns it from nobody here: a file that fails to be read counts as damaged.
 */
static ssize_t pay(struct vel_paced *p, int fd, ssize_t moved)
{
    struct vel_throttle *throttle = NULL;
    size_t i;

    if (moved <= 0)
        return moved;
    pthread_mutex_lock(&p->lock);
    i = find_fd(p, fd);
    if (i < p->opened.n)
        throttle = ((struct opened *)vel_vec_at(&p->opened, i))->throttle;
    pthread_mutex_unlock(&p->lock);
    if (throttle)
        (void)vel_throttle_take(throttle, (uint64_t)moved, p->watch, NULL);
    return moved;
}

static size_t cut(size_t len)
{
    return len < STEP ? len : STEP;
}

/* --- what waits --- */

static int paced_open(struct vel_fs *fs, const char *path, int flags, mode_t mode)
{
    struct vel_paced *p = paced_of(fs);
    struct opened opened = {.throttle = find_throttle(p, path)};
    bool is_noted = true;

    opened.fd = p->under->ops->open(p->under, path, flags, mode);
    if (opened.fd < 0 || !opened.throttle)
        return opened.fd;
    pthread_mutex_lock(&p->lock);
    is_noted = vel_vec_push(&p->opened, &opened);
    pthread_mutex_unlock(&p->lock);
    if (is_noted)
        return opened.fd;
    p->under->ops->close(p->under, opened.fd);
    return -ENOMEM;
}

static int paced_close(struct vel_fs *fs, int fd)
{
    struct vel_paced *p = paced_of(fs);
    size_t i;

    pthread_mutex_lock(&p->lock); /* before another file may have the number */
    i = find_fd(p, fd);
    if (i < p->opened.n)
        vel_vec_remove(&p->opened, i);
    pthread_mutex_unlock(&p->lock);
    return p->under->ops->close(p->under, fd);
}

static ssize_t paced_pread(struct vel_fs *fs, int fd, void *buf, size_t len, off_t at)
{
    struct vel_paced *p = paced_of(fs);

    return pay(p, fd, p->under->ops->pread(p->under, fd, buf, cut(len), at));
}

static ssize_t paced_pwrite(struct vel_fs *fs, int fd, const void *buf, size_t len,
                            off_t at)
{
    struct vel_paced *p = paced_of(fs);

    return pay(p, fd, p->under->ops->pwrite(p->under, fd, buf, cut(len), at));
}

static ssize_t paced_append(struct vel_fs *fs, int fd, const void *buf, size_t len)
{
    struct vel_paced *p = paced_of(fs);

    return pay(p, fd, p->under->ops->append(p->under, fd, buf, len));
}

/* It may wait for the stores of both. */
static ssize_t paced_copy(struct vel_fs *fs, int from, off_t from_at, int to,
                          off_t to_at, size_t len)
{
    struct vel_paced *p = paced_of(fs);

    return pay(p, to,
               pay(p, from,
                   p->under->ops->copy(p->under, from, from_at, to, to_at, cut(len))));
}

/* --- what does not --- */

static int paced_clone(struct vel_fs *fs, int from, int to)
{
    struct vel_fs *under = paced_of(fs)->under;

    return under->ops->clone(under, from, to);
}

static int paced_truncate(struct vel_fs *fs, int fd, off_t size)
{
    struct vel_fs *under = paced_of(fs)->under;

    return under->ops->truncate(under, fd, size);
}

static int paced_fsync(struct vel_fs *fs, int fd)
{
    struct vel_fs *under = paced_of(fs)->under;

    return under->ops->fsync(under, fd);
}

static int paced_flock(struct vel_fs *fs, int fd, int how)
{
    struct vel_fs *under = paced_of(fs)->under;

    return under->ops->flock(under, fd, how);
}

static int paced_fstat(struct vel_fs *fs, int fd, struct stat *ret)
{
    struct vel_fs *under = paced_of(fs)->under;

    return under->ops->fstat(under, fd, ret);
}

static int paced_set_times(struct vel_fs *fs, int fd, const struct timespec times[2])
{
    struct vel_fs *under = paced_of(fs)->under;

    return under->ops->set_times(under, fd, times);
}

static int paced_set_mode(struct vel_fs *fs, int fd, mode_t mode)
{
    struct vel_fs *under = paced_of(fs)->under;

    return under->ops->set_mode(under, fd, mode);
}

static int paced_lstat(struct vel_fs *fs, const char *path, struct stat *ret)
{
    struct vel_fs *under = paced_of(fs)->under;

    return under->ops->lstat(under, path, ret);
}

static int paced_list(struct vel_fs *fs, const char *path, struct vel_vec *ret_names)
{
    struct vel_fs *under = paced_of(fs)->under;

    return under->ops->list(under, path, ret_names);
}

static int paced_rename(struct vel_fs *fs, const char *from, const char *to)
{
    struct vel_fs *under = paced_of(fs)->under;

    return under->ops->rename(under, from, to);
}

static int paced_link(struct vel_fs *fs, const char *from, const char *to)
{
    struct vel_fs *under = paced_of(fs)->under;

    return under->ops->link(under, from, to);
}

static int paced_unlink(struct vel_fs *fs, const char *path)
{
    struct vel_fs *under = paced_of(fs)->under;

    return under->ops->unlink(under, path);
}

static int paced_mkdir(struct vel_fs *fs, const char *path, mode_t mode)
{
    struct vel_fs *under = paced_of(fs)->under;

    return under->ops->mkdir(under, path, mode);
}

static int paced_rmdir(struct vel_fs *fs, const char *path)
{
    struct vel_fs *under = paced_of(fs)->under;

    return under->ops->rmdir(under, path);
}

static int paced_space(struct vel_fs *fs, const char *path, struct statvfs *ret)
{
    struct vel_fs *under = paced_of(fs)->under;

    return under->ops->space(under, path, ret);
}

static void paced_hasten(struct vel_fs *fs, int fd, off_t at, off_t len)
{
    struct vel_fs *under = paced_of(fs)->under;

    if (under->ops->hasten)
        under->ops->hasten(under, fd, at, len);
}

static const struct vel_fs_ops paced_ops = {
    .open = paced_open,
    .close = paced_close,
    .pread = paced_pread,
    .pwrite = paced_pwrite,
    .append = paced_append,
    .copy = paced_copy,
    .clone = paced_clone,
    .truncate = paced_truncate,
    .fsync = paced_fsync,
    .hasten = paced_hasten,
    .flock = paced_flock,
    .fstat = paced_fstat,
    .set_times = paced_set_times,
    .set_mode = paced_set_mode,
    .lstat = paced_lstat,
    .list = paced_list,
    .rename = paced_rename,
    .link = paced_link,
    .unlink = paced_unlink,
    .mkdir = paced_mkdir,
    .rmdir = paced_rmdir,
    .space = paced_space,
};

/* --- life --- */

void vel_paced_init(struct vel_paced *paced, struct vel_fs *under,
                    const struct vel_paced_dir *dirs, size_t n,
                    const struct vel_watch *watch)
{
    *paced = (struct vel_paced){
        .fs.ops = &paced_ops, .under = under, .dirs = dirs, .n = n, .watch = watch};
    pthread_mutex_init(&paced->lock, NULL);
    vel_vec_init(&paced->opened, sizeof(struct opened));
}

void vel_paced_fini(struct vel_paced *paced)
{
    vel_vec_fini(&paced->opened);
    pthread_mutex_destroy(&paced->lock);
}
