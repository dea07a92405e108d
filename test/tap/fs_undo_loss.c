/* SPDX-License-Identifier: BSD-3-Clause */
/* fs_undo_loss - the log of fs_undo played back. Bytes first, while every file still
 * has the place that its node knows; then names, from the last change to the first. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "tap/rng.h"
#include "tap/fs_undo_log.h"

enum { BLOCK = 4096 }; /* what a disk takes or loses as one */

/* a file may have been made for reading only */
static int open_anyway(struct vel_fs *fs, const char *path, int *ret_fd,
                       struct vel_err *err)
{
    struct stat st;
    int fd = fs->ops->open(fs, path, O_RDWR | O_NOFOLLOW, 0);

    if (fd == -EACCES && fs->ops->lstat(fs, path, &st) == 0) {
        int reader = fs->ops->open(fs, path, O_RDONLY | O_NOFOLLOW, 0);
        if (reader >= 0) {
            fs->ops->set_mode(fs, reader, S_IRUSR | S_IWUSR);
            fd = fs->ops->open(fs, path, O_RDWR | O_NOFOLLOW, 0);
            fs->ops->set_mode(fs, reader, st.st_mode & 07777);
            fs->ops->close(fs, reader);
        }
    }
    if (fd < 0)
        return vel_fail_errno(err, -fd, "cannot open %s", path);
    *ret_fd = fd;
    return 0;
}

static int undo_write(struct vel_fs *fs, int fd, const char *path,
                      const struct vel_undo_write *w, struct vel_err *err)
{
    int rc = vel_fs_write_at(fs, fd, w->old_bytes, w->old_len, w->at, path, err);

    return rc < 0 ? rc : vel_fs_truncate(fs, fd, w->old_size, path, err);
}

/* the blocks of a write that have reached the disk after all */
static int redo_write(struct vel_fs *fs, int fd, const char *path,
                      const struct vel_undo_write *w, struct vel_rng *rng,
                      struct vel_err *err)
{
    int rc = 0;

    if (w->is_truncate)
        return vel_rng_below(rng, 2) ? vel_fs_truncate(fs, fd, w->new_size, path, err)
                                     : 0;
    for (size_t done = 0; done < w->new_len && rc == 0;) {
        size_t n = BLOCK - (size_t)((w->at + (off_t)done) % BLOCK);

        if (n > w->new_len - done)
            n = w->new_len - done;
        if (vel_rng_below(rng, 2))
            rc = vel_fs_write_at(fs, fd, w->new_bytes + done, n, w->at + (off_t)done,
                                 path, err);
        done += n;
    }
    return rc;
}

/* rng is NULL when all of it is lost */
static int lose_bytes_of(struct vel_undo_log *log, const struct vel_undo_node *node,
                         struct vel_rng *rng, struct vel_err *err)
{
    char *path = vel_undo_path(node->dir, node->name);
    struct stat st;
    int fd = -1, rc = 0;

    if (!path)
        return 0; /* in a directory that is gone */
    rc = open_anyway(log->under, path, &fd, err);
    if (rc == 0)
        rc = vel_fs_stat(log->under, fd, path, &st, err);
    for (size_t i = log->writes.n; i-- > 0 && rc == 0;)
        if (vel_undo_write_at(log, i)->node == node)
            rc = undo_write(log->under, fd, path, vel_undo_write_at(log, i), err);
    for (size_t i = 0; rng && i < log->writes.n && rc == 0; i++)
        if (vel_undo_write_at(log, i)->node == node)
            rc = redo_write(log->under, fd, path, vel_undo_write_at(log, i), rng, err);
    if (rc == 0) { /* as it was */
        const struct timespec times[2] = {st.st_atim, st.st_mtim};

        rc = log->under->ops->set_times(log->under, fd, times);
    }
    vel_fs_close(log->under, fd, path, NULL);
    free(path);
    return rc;
}

static int lose_bytes(struct vel_undo_log *log, struct vel_rng *rng,
                      struct vel_err *err)
{
    for (size_t i = 0; i < log->writes.n; i++) {
        const struct vel_undo_node *node = vel_undo_write_at(log, i)->node;
        size_t first = 0;

        while (vel_undo_write_at(log, first)->node != node)
            first++;
        if (first < i)
            continue; /* its file has been dealt with */
        int rc = lose_bytes_of(log, node, rng, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static bool is_at(struct vel_fs *fs, const char *path, const struct vel_undo_node *node)
{
    struct stat st;

    return fs->ops->lstat(fs, path, &st) == 0 && st.st_dev == node->dev &&
           st.st_ino == node->ino;
}

/* The functions below give 0 or a negative errno. `path` is the name that changed. */

static int undo_made(struct vel_undo_log *log, const struct vel_undo_change *c,
                     const char *path)
{
    struct vel_fs *fs = log->under;

    if (!is_at(fs, path, c->node))
        return 0; /* it has moved on, and that is durable */
    if (!S_ISDIR(c->node->mode))
        return fs->ops->unlink(fs, path);
    /* what is in there cannot be reached any more, durable or not */
    char *aside = vel_undo_aside_path(log, log->naside++);
    int rc = aside ? fs->ops->rename(fs, path, aside) : -ENOMEM;
    free(aside);
    return rc;
}

static int undo_rmdir(struct vel_undo_log *log, const struct vel_undo_change *c,
                      const char *path)
{
    struct stat st;
    int rc = log->under->ops->mkdir(log->under, path, c->node->mode & 07777);

    if (rc == 0)
        rc = log->under->ops->lstat(log->under, path, &st);
    if (rc < 0)
        return rc;
    c->node->dev = st.st_dev;
    c->node->ino = st.st_ino;
    c->node->is_gone = false;
    return vel_undo_node_place(c->node, c->dir, c->name) < 0 ? -ENOMEM : 0;
}

static int undo_gone(struct vel_undo_log *log, const struct vel_undo_change *c,
                     const char *path)
{
    if (S_ISDIR(c->node->mode))
        return undo_rmdir(log, c, path);
    char *aside = vel_undo_aside_path(log, c->aside);
    int rc = aside ? log->under->ops->rename(log->under, aside, path) : -ENOMEM;
    free(aside);
    return rc;
}

static int undo_moved(struct vel_undo_log *log, const struct vel_undo_change *c,
                      const char *path)
{
    if (!is_at(log->under, path, c->node))
        return 0;
    char *from = vel_undo_path(c->from_dir, c->from_name);
    if (!from)
        return 0; /* nowhere to go back to: that directory's removal is durable */
    int rc = log->under->ops->rename(log->under, path, from);
    free(from);
    if (rc == 0 && vel_undo_node_place(c->node, c->from_dir, c->from_name) < 0)
        rc = -ENOMEM;
    return rc;
}

static int lose_names(struct vel_undo_log *log, size_t begin, struct vel_err *err)
{
    static int (*const undo[])(struct vel_undo_log *, const struct vel_undo_change *,
                               const char *) = {
        [VEL_UNDO_MADE] = undo_made,
        [VEL_UNDO_GONE] = undo_gone,
        [VEL_UNDO_MOVED] = undo_moved,
    };

    for (size_t i = log->changes.n; i-- > begin;) {
        const struct vel_undo_change *c = vel_undo_change_at(log, i);

        if (c->is_durable)
            continue;
        char *path = vel_undo_path(c->dir, c->name);
        if (!path)
            continue; /* in a directory that is gone */
        int rc = undo[c->what](log, c, path);
        if (rc < 0) {
            rc = vel_fail_errno(err, -rc, "cannot put %s back", path);
            free(path);
            return rc;
        }
        free(path);
    }
    return 0;
}

/* The first change that the journal has lost: any behind the last durable one, but
 * never the second half of a rename. */
static size_t choose_cut(const struct vel_undo_log *log, struct vel_rng *rng)
{
    size_t n = log->changes.n, low = n;

    while (low > 0 && !vel_undo_change_at(log, low - 1)->is_durable)
        low--;
    size_t cut = low + (size_t)vel_rng_below(rng, n - low + 1);
    if (cut < n && vel_undo_change_at(log, cut)->is_joined)
        cut--;
    return cut;
}

int vel_undo_lose(struct vel_undo_log *log, enum vel_fs_loss loss, uint64_t seed,
                  struct vel_err *err)
{
    struct vel_rng rng;
    bool is_random = loss == VEL_FS_LOSS_RANDOM;
    int rc = 0;

    vel_rng_init(&rng, seed);
    if (log->is_broken)
        return vel_out_of_memory(err, "remembering what a loss of power takes back");
    if (loss != VEL_FS_LOSS_KEEP)
        rc = lose_bytes(log, is_random ? &rng : NULL, err);
    if (loss != VEL_FS_LOSS_KEEP && rc == 0)
        rc = lose_names(log, is_random ? choose_cut(log, &rng) : 0, err);
    vel_undo_log_clear(log);
    return rc;
}
