/* SPDX-License-Identifier: BSD-3-Clause */
/* The twin itself: carries out, and writes down how to take back. An operation that
 * could not be written down for lack of memory has happened all the same; the log is
 * then broken, and a loss of power refuses. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tap/fs_undo_log.h"

struct vel_fs_undo {
    struct vel_fs fs;
    struct vel_fs *under;
    pthread_mutex_t
        lock; /* guards the log, and keeps it in the order of what happens */
    struct vel_undo_log log;
};

static struct vel_fs_undo *undo_of(struct vel_fs *fs)
{
    return (struct vel_fs_undo *)fs; /* its first member */
}

static struct vel_fs_undo *enter(struct vel_fs *fs)
{
    pthread_mutex_lock(&undo_of(fs)->lock);
    return undo_of(fs);
}

static void leave(struct vel_fs_undo *u)
{
    pthread_mutex_unlock(&u->lock);
}

/* The part of a write's record that must be taken before it; false when the file is
 * none that can be lost. */
static bool before_write(struct vel_fs_undo *u, int fd, off_t at, size_t len,
                         struct vel_undo_write *ret_write)
{
    struct vel_undo_write w = {.at = at};
    struct stat st;

    if (u->under->ops->fstat(u->under, fd, &st) < 0)
        return false;
    w.node = vel_undo_node_find(&u->log, &st);
    if (!w.node)
        return false;
    w.old_size = st.st_size;
    w.at = at < 0 ? st.st_size : at; /* an append */
    if (w.at < st.st_size) {
        w.old_len = (size_t)(st.st_size - w.at);
        if (w.old_len > len)
            w.old_len = len;
        w.old_bytes = malloc(w.old_len);
        if (!w.old_bytes ||
            vel_fs_read_at(u->under, fd, w.old_bytes, w.old_len, w.at, "", NULL) < 0)
            u->log.is_broken = true;
    }
    *ret_write = w;
    return true;
}

/* What has been written, read back: a copy never had it in memory. */
static void after_write(struct vel_fs_undo *u, int fd, struct vel_undo_write *w,
                        ssize_t written)
{
    struct stat st;

    if (written <= 0 && !w->is_truncate) {
        free(w->old_bytes);
        return;
    }
    w->new_len = w->is_truncate ? 0 : (size_t)written;
    w->new_bytes = malloc(w->new_len + 1);
    if (!w->new_bytes ||
        vel_fs_read_at(u->under, fd, w->new_bytes, w->new_len, w->at, "", NULL) < 0 ||
        u->under->ops->fstat(u->under, fd, &st) < 0) {
        u->log.is_broken = true;
        st.st_size = 0;
    }
    w->new_size = st.st_size;
    if (!vel_vec_push(&u->log.writes, w)) {
        u->log.is_broken = true;
        free(w->old_bytes);
        free(w->new_bytes);
    }
}

static ssize_t undo_pwrite(struct vel_fs *fs, int fd, const void *buf, size_t len,
                           off_t at)
{
    struct vel_undo_write w;
    struct vel_fs_undo *u = enter(fs);
    bool is_logged = at >= 0 && before_write(u, fd, at, len, &w);
    ssize_t n = u->under->ops->pwrite(u->under, fd, buf, len, at);

    if (is_logged)
        after_write(u, fd, &w, n);
    leave(u);
    return n;
}

static ssize_t undo_append(struct vel_fs *fs, int fd, const void *buf, size_t len)
{
    struct vel_undo_write w;
    struct vel_fs_undo *u = enter(fs);
    bool is_logged = before_write(u, fd, -1, len, &w);
    ssize_t n = u->under->ops->append(u->under, fd, buf, len);

    if (is_logged)
        after_write(u, fd, &w, n);
    leave(u);
    return n;
}

static ssize_t undo_copy(struct vel_fs *fs, int from, off_t from_at, int to,
                         off_t to_at, size_t len)
{
    struct vel_undo_write w;
    struct vel_fs_undo *u = enter(fs);
    bool is_logged = to_at >= 0 && before_write(u, to, to_at, len, &w);
    ssize_t n = u->under->ops->copy(u->under, from, from_at, to, to_at, len);

    if (is_logged)
        after_write(u, to, &w, n);
    leave(u);
    return n;
}

static int undo_clone(struct vel_fs *fs, int from, int to)
{
    struct vel_undo_write w;
    struct vel_fs_undo *u = enter(fs);
    struct stat st = {.st_size = 0};
    bool is_logged = before_write(u, to, 0, SIZE_MAX, &w);
    int rc = u->under->ops->clone(u->under, from, to);

    if (rc == 0 && u->under->ops->fstat(u->under, to, &st) < 0)
        u->log.is_broken = true;
    if (is_logged)
        after_write(u, to, &w, (ssize_t)st.st_size);
    leave(u);
    return rc;
}

static int truncate_logged(struct vel_fs_undo *u, int fd, off_t size)
{
    struct vel_undo_write w;
    bool is_logged = size >= 0 && before_write(u, fd, size, SIZE_MAX, &w);
    int rc = u->under->ops->truncate(u->under, fd, size);

    if (is_logged) {
        w.is_truncate = rc == 0;
        after_write(u, fd, &w, 0);
    }
    return rc;
}

static int undo_truncate(struct vel_fs *fs, int fd, off_t size)
{
    struct vel_fs_undo *u = enter(fs);
    int rc = truncate_logged(u, fd, size);

    leave(u);
    return rc;
}

/* A file opened for writing is known from now on; `is_new` says that its name is too.
 */
static void note_opened(struct vel_fs_undo *u, const char *path, int fd, bool is_new)
{
    struct stat st;

    if (u->under->ops->fstat(u->under, fd, &st) < 0) {
        u->log.is_broken = true;
        return;
    }
    if (!S_ISREG(st.st_mode))
        return;
    struct vel_undo_node *node = vel_undo_node_get(&u->log, path, &st);
    if (!node)
        u->log.is_broken = true;
    if (is_new)
        vel_undo_change_add(&u->log, VEL_UNDO_MADE, node, path, NULL);
}

static int undo_open(struct vel_fs *fs, const char *path, int flags, mode_t mode)
{
    struct vel_fs_undo *u = undo_of(fs);
    struct stat st;

    if ((flags & O_ACCMODE) == O_RDONLY && !(flags & O_CREAT))
        return u->under->ops->open(u->under, path, flags, mode);
    enter(fs);
    bool is_new = u->under->ops->lstat(u->under, path, &st) == -ENOENT;
    int readable = flags & ~O_TRUNC; /* what is overwritten must be read first */
    if ((flags & O_ACCMODE) == O_WRONLY)
        readable = (readable & ~O_ACCMODE) | O_RDWR;
    int fd = u->under->ops->open(u->under, path, readable, mode);
    if (fd >= 0) {
        note_opened(u, path, fd, is_new);
        if (flags & O_TRUNC && !is_new)
            truncate_logged(u, fd, 0);
    }
    leave(u);
    return fd;
}

static int undo_fsync(struct vel_fs *fs, int fd)
{
    struct vel_fs_undo *u = enter(fs);
    struct stat st;
    int rc = u->under->ops->fstat(u->under, fd, &st);

    if (rc == 0) {
        struct vel_undo_node *node = vel_undo_node_find(&u->log, &st);
        if (node)
            vel_undo_settle(&u->log, node);
    }
    leave(u);
    return rc;
}

/* One more name for a file that is about to lose this one. 0 or a negative errno. */
static int keep_alive(struct vel_fs_undo *u, const char *path, unsigned *ret_aside)
{
    char *aside = vel_undo_aside_path(&u->log, u->log.naside);
    int rc = aside ? u->under->ops->link(u->under, path, aside) : -ENOMEM;

    if (rc == 0)
        *ret_aside = u->log.naside++;
    free(aside);
    return rc;
}

static void let_go(struct vel_fs_undo *u, unsigned n)
{
    char *aside = vel_undo_aside_path(&u->log, n);

    if (aside)
        u->under->ops->unlink(u->under, aside);
    free(aside);
}

/* The name `path` of a node is gone: a file lives on aside, a directory does not. */
static void note_gone(struct vel_fs_undo *u, struct vel_undo_node *node,
                      const char *path, unsigned aside)
{
    struct vel_undo_change *change =
        vel_undo_change_add(&u->log, VEL_UNDO_GONE, node, path, NULL);

    if (!change)
        return;
    change->aside = aside;
    node->is_gone = S_ISDIR(node->mode);
    char *there = node->is_gone ? NULL : vel_undo_aside_path(&u->log, aside);
    if (there && vel_undo_node_place(node, NULL, there) < 0)
        u->log.is_broken = true;
    free(there);
}

static int undo_unlink(struct vel_fs *fs, const char *path)
{
    struct vel_fs_undo *u = enter(fs);
    struct vel_undo_node *node = NULL;
    unsigned aside = 0;
    struct stat st;
    bool is_file =
        u->under->ops->lstat(u->under, path, &st) == 0 && !S_ISDIR(st.st_mode);
    int rc = is_file ? keep_alive(u, path, &aside) : 0;

    if (rc < 0)
        goto out;
    if (is_file)
        node = vel_undo_node_get(&u->log, path, &st);
    rc = u->under->ops->unlink(u->under, path);
    if (rc == 0)
        note_gone(u, node, path, aside);
    else if (is_file)
        let_go(u, aside);
out:
    leave(u);
    return rc;
}

static int undo_rmdir(struct vel_fs *fs, const char *path)
{
    struct vel_fs_undo *u = enter(fs);
    struct vel_undo_node *node = NULL;
    struct stat st;

    if (u->under->ops->lstat(u->under, path, &st) == 0)
        node = vel_undo_node_get(&u->log, path, &st);
    int rc = u->under->ops->rmdir(u->under, path);
    if (rc == 0)
        note_gone(u, node, path, 0);
    leave(u);
    return rc;
}

static int undo_mkdir(struct vel_fs *fs, const char *path, mode_t mode)
{
    struct vel_fs_undo *u = enter(fs);
    struct stat st;
    int rc = u->under->ops->mkdir(u->under, path, mode);

    if (rc == 0 && u->under->ops->lstat(u->under, path, &st) == 0)
        vel_undo_change_add(&u->log, VEL_UNDO_MADE,
                            vel_undo_node_get(&u->log, path, &st), path, NULL);
    leave(u);
    return rc;
}

static int undo_link(struct vel_fs *fs, const char *from, const char *to)
{
    struct vel_fs_undo *u = enter(fs);
    struct stat st;
    int rc = u->under->ops->link(u->under, from, to);

    if (rc == 0 && u->under->ops->lstat(u->under, from, &st) == 0)
        vel_undo_change_add(&u->log, VEL_UNDO_MADE,
                            vel_undo_node_get(&u->log, from, &st), to, NULL);
    leave(u);
    return rc;
}

/* `replaced` is NULL when the name was free. */
static void note_moved(struct vel_fs_undo *u, struct vel_undo_node *moved,
                       const char *from, const char *to, struct vel_undo_node *replaced,
                       unsigned aside)
{
    if (replaced)
        note_gone(u, replaced, to, aside);
    struct vel_undo_change *change =
        vel_undo_change_add(&u->log, VEL_UNDO_MOVED, moved, to, from);
    if (!change)
        return;
    change->is_joined = replaced != NULL;
    if (vel_undo_node_place(moved, change->dir, change->name) < 0)
        u->log.is_broken = true;
}

static int undo_rename(struct vel_fs *fs, const char *from, const char *to)
{
    struct vel_fs_undo *u = enter(fs);
    struct vel_undo_node *moved, *replaced = NULL;
    unsigned aside = 0;
    struct stat source, target;
    bool has_target = u->under->ops->lstat(u->under, to, &target) == 0;
    bool is_file = has_target && !S_ISDIR(target.st_mode);
    int rc;

    if (u->under->ops->lstat(u->under, from, &source) < 0 ||
        (has_target && source.st_dev == target.st_dev &&
         source.st_ino == target.st_ino)) { /* fails, or does nothing */
        rc = u->under->ops->rename(u->under, from, to);
        goto out;
    }
    rc = is_file ? keep_alive(u, to, &aside) : 0;
    if (rc < 0)
        goto out;
    moved = vel_undo_node_get(&u->log, from, &source);
    if (has_target)
        replaced = vel_undo_node_get(&u->log, to, &target);
    rc = u->under->ops->rename(u->under, from, to);
    if (rc == 0)
        note_moved(u, moved, from, to, replaced, aside);
    else if (is_file)
        let_go(u, aside);
out:
    leave(u);
    return rc;
}

/* what changes nothing that could be lost */

static struct vel_fs *under(struct vel_fs *fs)
{
    return undo_of(fs)->under;
}

static int undo_close(struct vel_fs *fs, int fd)
{
    return under(fs)->ops->close(under(fs), fd);
}

static ssize_t undo_pread(struct vel_fs *fs, int fd, void *buf, size_t len, off_t at)
{
    return under(fs)->ops->pread(under(fs), fd, buf, len, at);
}

static int undo_flock(struct vel_fs *fs, int fd, int how)
{
    return under(fs)->ops->flock(under(fs), fd, how);
}

static int undo_fstat(struct vel_fs *fs, int fd, struct stat *ret)
{
    return under(fs)->ops->fstat(under(fs), fd, ret);
}

static int undo_set_times(struct vel_fs *fs, int fd, const struct timespec times[2])
{
    return under(fs)->ops->set_times(under(fs), fd, times);
}

static int undo_set_mode(struct vel_fs *fs, int fd, mode_t mode)
{
    return under(fs)->ops->set_mode(under(fs), fd, mode);
}

static int undo_lstat(struct vel_fs *fs, const char *path, struct stat *ret)
{
    return under(fs)->ops->lstat(under(fs), path, ret);
}

static int undo_list(struct vel_fs *fs, const char *path, struct vel_vec *ret_names)
{
    return under(fs)->ops->list(under(fs), path, ret_names);
}

static int undo_space(struct vel_fs *fs, const char *path, struct statvfs *ret)
{
    return under(fs)->ops->space(under(fs), path, ret);
}

static const struct vel_fs_ops undo_ops = {
    .open = undo_open,
    .close = undo_close,
    .pread = undo_pread,
    .pwrite = undo_pwrite,
    .append = undo_append,
    .copy = undo_copy,
    .clone = undo_clone,
    .truncate = undo_truncate,
    .fsync = undo_fsync,
    .flock = undo_flock,
    .fstat = undo_fstat,
    .set_times = undo_set_times,
    .set_mode = undo_set_mode,
    .lstat = undo_lstat,
    .list = undo_list,
    .rename = undo_rename,
    .link = undo_link,
    .unlink = undo_unlink,
    .mkdir = undo_mkdir,
    .rmdir = undo_rmdir,
    .space = undo_space,
};

int vel_fs_undo_create(struct vel_fs *under, const char *aside,
                       struct vel_fs_undo **ret_undo, struct vel_err *err)
{
    int rc = under->ops->mkdir(under, aside, 0700);

    if (rc < 0)
        return vel_fail_errno(err, -rc, "cannot make directory %s", aside);
    struct vel_fs_undo *u = calloc(1, sizeof *u);
    char *copy = strdup(aside);
    if (!u || !copy) {
        under->ops->rmdir(under, aside);
        free(u);
        free(copy);
        return vel_out_of_memory(err, "making an undo twin");
    }
    u->fs.ops = &undo_ops;
    u->under = under;
    pthread_mutex_init(&u->lock, NULL);
    vel_undo_log_init(&u->log, under, copy);
    *ret_undo = u;
    return 0;
}

void vel_fs_undo_destroy(struct vel_fs_undo *undo)
{
    if (!undo)
        return;
    vel_fs_remove_tree(undo->under, undo->log.aside, NULL);
    vel_undo_log_fini(&undo->log);
    pthread_mutex_destroy(&undo->lock);
    free(undo);
}

struct vel_fs *vel_fs_undo_fs(struct vel_fs_undo *undo)
{
    return &undo->fs;
}

int vel_fs_undo_power_loss(struct vel_fs_undo *undo, enum vel_fs_loss loss,
                           uint64_t seed, struct vel_err *err)
{
    pthread_mutex_lock(&undo->lock);
    int rc = vel_undo_lose(&undo->log, loss, seed, err);
    pthread_mutex_unlock(&undo->lock);
    return rc;
}
