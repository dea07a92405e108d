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

#include "sys/fs_twin.h"
#include "tap/fs_undo_log.h"

struct vel_fs_undo {
    struct vel_fs_twin twin;
    pthread_mutex_t lock; /* guards the log, which is in the order of what happens */
    struct vel_undo_log log;
};

static struct vel_fs *under(const struct vel_fs_undo *u)
{
    return u->twin.under;
}

/* The part of a write's record that must be taken before it; false when the file is
 * none that can be lost. */
static bool before_write(struct vel_fs_undo *u, int fd, off_t at, size_t len,
                         struct vel_undo_write *ret_write)
{
    struct vel_undo_write w = {.at = at};
    struct stat st;

    if (under(u)->ops->fstat(under(u), fd, &st) < 0)
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
            vel_fs_read_at(under(u), fd, w.old_bytes, w.old_len, w.at, "", NULL) < 0)
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
        vel_fs_read_at(under(u), fd, w->new_bytes, w->new_len, w->at, "", NULL) < 0 ||
        under(u)->ops->fstat(under(u), fd, &st) < 0) {
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

/* pwrite, append and copy: append is at -1. */
static ssize_t undo_write(struct vel_fs_undo *u, const struct vel_fs_call *call,
                          off_t at)
{
    struct vel_undo_write w;
    bool is_logged = (at >= 0 || call->op == VEL_FS_OP_APPEND) &&
                     before_write(u, call->fd, at, call->len, &w);
    ssize_t n = vel_fs_call_run(under(u), call);

    if (is_logged)
        after_write(u, call->fd, &w, n);
    return n;
}

static ssize_t undo_clone(struct vel_fs_undo *u, const struct vel_fs_call *call)
{
    struct vel_undo_write w;
    struct stat st = {.st_size = 0};
    bool is_logged = before_write(u, call->fd, 0, SIZE_MAX, &w);
    ssize_t rc = vel_fs_call_run(under(u), call);

    if (rc == 0 && under(u)->ops->fstat(under(u), call->fd, &st) < 0)
        u->log.is_broken = true;
    if (is_logged)
        after_write(u, call->fd, &w, (ssize_t)st.st_size);
    return rc;
}

static int undo_truncate(struct vel_fs_undo *u, int fd, off_t size)
{
    struct vel_undo_write w;
    bool is_logged = size >= 0 && before_write(u, fd, size, SIZE_MAX, &w);
    int rc = under(u)->ops->truncate(under(u), fd, size);

    if (is_logged) {
        w.is_truncate = rc == 0;
        after_write(u, fd, &w, 0);
    }
    return rc;
}

/* A file opened for writing is known from now on; `is_new` says that its name is too.
 */
static void note_opened(struct vel_fs_undo *u, const char *path, int fd, bool is_new)
{
    struct stat st;

    if (under(u)->ops->fstat(under(u), fd, &st) < 0) {
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

static int undo_open(struct vel_fs_undo *u, const char *path, int flags, mode_t mode)
{
    struct stat st;
    bool is_new = under(u)->ops->lstat(under(u), path, &st) == -ENOENT;
    int readable = flags & ~O_TRUNC; /* what is overwritten must be read first */
    if ((flags & O_ACCMODE) == O_WRONLY)
        readable = (readable & ~O_ACCMODE) | O_RDWR;
    int fd = under(u)->ops->open(under(u), path, readable, mode);
    if (fd >= 0) {
        note_opened(u, path, fd, is_new);
        if (flags & O_TRUNC && !is_new)
            undo_truncate(u, fd, 0);
    }
    return fd;
}

static int undo_fsync(struct vel_fs_undo *u, int fd)
{
    struct stat st;
    int rc = under(u)->ops->fstat(under(u), fd, &st);

    if (rc == 0) {
        struct vel_undo_node *node = vel_undo_node_find(&u->log, &st);
        if (node)
            vel_undo_settle(&u->log, node);
    }
    return rc;
}

/* One more name for a file that is about to lose this one. 0 or a negative errno. */
static int keep_alive(struct vel_fs_undo *u, const char *path, unsigned *ret_aside)
{
    char *aside = vel_undo_aside_path(&u->log, u->log.naside);
    int rc = aside ? under(u)->ops->link(under(u), path, aside) : -ENOMEM;

    if (rc == 0)
        *ret_aside = u->log.naside++;
    free(aside);
    return rc;
}

static void let_go(struct vel_fs_undo *u, unsigned n)
{
    char *aside = vel_undo_aside_path(&u->log, n);

    if (aside)
        under(u)->ops->unlink(under(u), aside);
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

static int undo_unlink(struct vel_fs_undo *u, const char *path)
{
    struct vel_undo_node *node = NULL;
    unsigned aside = 0;
    struct stat st;
    bool is_file =
        under(u)->ops->lstat(under(u), path, &st) == 0 && !S_ISDIR(st.st_mode);
    int rc = is_file ? keep_alive(u, path, &aside) : 0;

    if (rc < 0)
        return rc;
    if (is_file)
        node = vel_undo_node_get(&u->log, path, &st);
    rc = under(u)->ops->unlink(under(u), path);
    if (rc == 0)
        note_gone(u, node, path, aside);
    else if (is_file)
        let_go(u, aside);
    return rc;
}

static int undo_rmdir(struct vel_fs_undo *u, const char *path)
{
    struct vel_undo_node *node = NULL;
    struct stat st;

    if (under(u)->ops->lstat(under(u), path, &st) == 0)
        node = vel_undo_node_get(&u->log, path, &st);
    int rc = under(u)->ops->rmdir(under(u), path);
    if (rc == 0)
        note_gone(u, node, path, 0);
    return rc;
}

static int undo_mkdir(struct vel_fs_undo *u, const char *path, mode_t mode)
{
    struct stat st;
    int rc = under(u)->ops->mkdir(under(u), path, mode);

    if (rc == 0 && under(u)->ops->lstat(under(u), path, &st) == 0)
        vel_undo_change_add(&u->log, VEL_UNDO_MADE,
                            vel_undo_node_get(&u->log, path, &st), path, NULL);
    return rc;
}

static int undo_link(struct vel_fs_undo *u, const char *from, const char *to)
{
    struct stat st;
    int rc = under(u)->ops->link(under(u), from, to);

    if (rc == 0 && under(u)->ops->lstat(under(u), from, &st) == 0)
        vel_undo_change_add(&u->log, VEL_UNDO_MADE,
                            vel_undo_node_get(&u->log, from, &st), to, NULL);
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

static int undo_rename(struct vel_fs_undo *u, const char *from, const char *to)
{
    struct vel_undo_node *moved, *replaced = NULL;
    unsigned aside = 0;
    struct stat source, target;
    bool has_target = under(u)->ops->lstat(under(u), to, &target) == 0;
    bool is_file = has_target && !S_ISDIR(target.st_mode);
    int rc;

    if (under(u)->ops->lstat(under(u), from, &source) < 0 ||
        (has_target && source.st_dev == target.st_dev &&
         source.st_ino == target.st_ino)) { /* fails, or does nothing */
        return under(u)->ops->rename(under(u), from, to);
    }
    rc = is_file ? keep_alive(u, to, &aside) : 0;
    if (rc < 0)
        return rc;
    moved = vel_undo_node_get(&u->log, from, &source);
    if (has_target)
        replaced = vel_undo_node_get(&u->log, to, &target);
    rc = under(u)->ops->rename(under(u), from, to);
    if (rc == 0)
        note_moved(u, moved, from, to, replaced, aside);
    else if (is_file)
        let_go(u, aside);
    return rc;
}

/* Nothing that could be lost; it is not kept waiting for others. */
static bool changes_nothing(const struct vel_fs_call *call)
{
    switch (call->op) {
    case VEL_FS_OP_OPEN:
        return (call->how & O_ACCMODE) == O_RDONLY && !(call->how & O_CREAT);
    case VEL_FS_OP_CLOSE:
    case VEL_FS_OP_PREAD:
    case VEL_FS_OP_HASTEN:
    case VEL_FS_OP_FLOCK:
    case VEL_FS_OP_FSTAT:
    case VEL_FS_OP_SET_TIMES:
    case VEL_FS_OP_SET_MODE:
    case VEL_FS_OP_LSTAT:
    case VEL_FS_OP_LIST:
    case VEL_FS_OP_SPACE:
    case VEL_FS_OP_SHOWS_ALL:
        return true;
    default:
        return false;
    }
}

static ssize_t carry_out(struct vel_fs_undo *u, const struct vel_fs_call *call)
{
    switch (call->op) {
    case VEL_FS_OP_OPEN:
        return undo_open(u, call->path, call->how, call->mode);
    case VEL_FS_OP_PWRITE:
    case VEL_FS_OP_COPY:
        return undo_write(u, call, call->at);
    case VEL_FS_OP_APPEND:
        return undo_write(u, call, -1);
    case VEL_FS_OP_CLONE:
        return undo_clone(u, call);
    case VEL_FS_OP_TRUNCATE:
        return undo_truncate(u, call->fd, call->size);
    case VEL_FS_OP_FSYNC:
        return undo_fsync(u, call->fd);
    case VEL_FS_OP_RENAME:
        return undo_rename(u, call->from_path, call->path);
    case VEL_FS_OP_LINK:
        return undo_link(u, call->from_path, call->path);
    case VEL_FS_OP_UNLINK:
        return undo_unlink(u, call->path);
    case VEL_FS_OP_MKDIR:
        return undo_mkdir(u, call->path, call->mode);
    case VEL_FS_OP_RMDIR:
        return undo_rmdir(u, call->path);
    default:
        return vel_fs_call_run(under(u), call);
    }
}

static ssize_t undo_call(struct vel_fs_twin *twin, struct vel_fs_call *call)
{
    struct vel_fs_undo *u = (struct vel_fs_undo *)twin; /* its first member */
    ssize_t rc;

    if (changes_nothing(call))
        return vel_fs_call_run(under(u), call);
    pthread_mutex_lock(&u->lock);
    rc = carry_out(u, call);
    pthread_mutex_unlock(&u->lock);
    return rc;
}

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
    vel_fs_twin_init(&u->twin, under, undo_call);
    pthread_mutex_init(&u->lock, NULL);
    vel_undo_log_init(&u->log, under, copy);
    *ret_undo = u;
    return 0;
}

void vel_fs_undo_destroy(struct vel_fs_undo *undo)
{
    if (!undo)
        return;
    vel_fs_remove_tree(undo->twin.under, undo->log.aside, NULL);
    vel_undo_log_fini(&undo->log);
    pthread_mutex_destroy(&undo->lock);
    free(undo);
}

struct vel_fs *vel_fs_undo_fs(struct vel_fs_undo *undo)
{
    return &undo->twin.fs;
}

int vel_fs_undo_power_loss(struct vel_fs_undo *undo, enum vel_fs_loss loss,
                           uint64_t seed, struct vel_err *err)
{
    pthread_mutex_lock(&undo->lock);
    int rc = vel_undo_lose(&undo->log, loss, seed, err);
    pthread_mutex_unlock(&undo->lock);
    return rc;
}
