/* SPDX-License-Identifier: BSD-3-Clause */
/* A lock on a file that may be removed: whoever gets the lock must still look whether
 * the path leads to the file he locked. If not, its holder has removed it meanwhile,
 * and a third process may hold the lock of a new file of that name. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "sys/lock.h"

struct vel_lock {
    struct vel_fs *fs;
    char *path;
    int fd;
};

/* what the file says about its holder: "process 4711 on node7" */
enum { HOLDER_MAX = 300 };

static void tell_holder(struct vel_lock *lock, const struct vel_host *host)
{
    struct vel_buf text;

    vel_buf_init(&text);
    vel_buf_printf(&text, "process %ld on %s\n", (long)getpid(), host->node);
    /* for other people's sentences only: a full disk must not keep us from the lock,
     * which may be needed to make room */
    if (vel_buf_status(&text, NULL) == 0 &&
        lock->fs->ops->truncate(lock->fs, lock->fd, 0) == 0)
        vel_fs_write_at(lock->fs, lock->fd, text.data, text.len, 0, lock->path, NULL);
    vel_buf_fini(&text);
}

/* Who holds the lock, as far as the file says so in plain letters. */
static void ask_holder(struct vel_lock *lock, char ret_holder[HOLDER_MAX])
{
    ssize_t n = lock->fs->ops->pread(lock->fs, lock->fd, ret_holder, HOLDER_MAX - 1, 0);
    size_t len = 0;

    while ((ssize_t)len < n && ret_holder[len] >= ' ' && ret_holder[len] <= '~')
        len++;
    ret_holder[len] = '\0';
    if (len == 0)
        strcpy(ret_holder, "another process");
}

static int busy(struct vel_lock *lock, struct vel_err *err)
{
    char holder[HOLDER_MAX];

    ask_holder(lock, holder);
    return vel_fail(err, VEL_EBUSY, "%s is held by %s", lock->path, holder);
}

static int open_file(struct vel_lock *lock, struct stat *ret_stat, struct vel_err *err)
{
    int rc =
        vel_fs_open(lock->fs, lock->path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK,
                    0600, &lock->fd, err);

    if (rc == 0)
        rc = vel_fs_stat(lock->fs, lock->fd, lock->path, ret_stat, err);
    if (rc == 0 && !S_ISREG(ret_stat->st_mode))
        rc = vel_fail(err, VEL_EUNSAFE, "%s is no regular file: remove it", lock->path);
    return rc;
}

static void close_file(struct vel_lock *lock)
{
    vel_fs_close(lock->fs, lock->fd, lock->path, NULL); /* nothing in it matters */
    lock->fd = -1;
}

/* one attempt; leaves the descriptor only with the lock */
static int take(struct vel_lock *lock, struct vel_err *err)
{
    enum { ROUNDS = 1000 }; /* each means that another holder came and went */
    struct stat mine, there;
    int rc = 0;

    for (int round = 0; round < ROUNDS; round++) {
        rc = open_file(lock, &mine, err);
        if (rc < 0)
            break;
        rc = lock->fs->ops->flock(lock->fs, lock->fd, LOCK_EX | LOCK_NB);
        if (rc == -EAGAIN) {
            rc = busy(lock, err);
            break;
        }
        if (rc < 0) {
            rc = vel_fail_errno(err, -rc, "cannot lock %s", lock->path);
            break;
        }
        rc = lock->fs->ops->lstat(lock->fs, lock->path, &there);
        if (rc == 0 && there.st_dev == mine.st_dev && there.st_ino == mine.st_ino)
            return 0;
        if (rc < 0 && rc != -ENOENT) {
            rc = vel_fail_errno(err, -rc, "cannot look at %s", lock->path);
            break;
        }
        close_file(lock);
        rc = vel_fail(err, VEL_EBUSY, "%s is removed by others again and again",
                      lock->path);
    }
    close_file(lock);
    return rc;
}

static void lock_free(struct vel_lock *lock)
{
    int saved = errno;

    close_file(lock);
    free(lock->path);
    free(lock);
    errno = saved;
}

static int lock_create(struct vel_fs *fs, const char *path, struct vel_lock **ret_lock,
                       struct vel_err *err)
{
    struct vel_lock *lock = malloc(sizeof *lock);
    char *copy = strdup(path);

    if (!lock || !copy) {
        free(lock);
        free(copy);
        return vel_out_of_memory(err, path);
    }
    *lock = (struct vel_lock){.fs = fs, .path = copy, .fd = -1};
    *ret_lock = lock;
    return 0;
}

int vel_lock_try(struct vel_fs *fs, const struct vel_host *host, const char *path,
                 struct vel_lock **ret_lock, struct vel_err *err)
{
    struct vel_lock *lock = NULL;
    int rc = lock_create(fs, path, &lock, err);

    if (rc < 0)
        return rc;
    rc = take(lock, err);
    if (rc < 0) {
        lock_free(lock);
        return rc;
    }
    tell_holder(lock, host);
    *ret_lock = lock;
    return 0;
}

int64_t vel_lock_holder_here(struct vel_fs *fs, const struct vel_host *host,
                             const char *path)
{
    long pid = 0;
    struct vel_buf text;
    char node[HOLDER_MAX];
    bool is_here;

    vel_buf_init(&text);
    is_here = vel_fs_read_file(fs, path, HOLDER_MAX, &text, NULL) == 0 &&
              sscanf(vel_buf_text(&text), "process %ld on %299s", &pid, node) == 2 &&
              vel_host_is_beside(node, host->node);
    vel_buf_fini(&text);
    return is_here && pid > 0 ? pid : 0;
}

int vel_lock_wait(struct vel_fs *fs, const struct vel_host *host,
                  struct vel_clock *clock, uint64_t limit, const char *path,
                  struct vel_lock **ret_lock, struct vel_err *err)
{
    const uint64_t longest = 100 * VEL_CLOCK_MS;
    uint64_t deadline = vel_clock_deadline(clock, limit), pause = VEL_CLOCK_MS;
    int rc;

    /* flock(2) knows no time limit, so we ask again, and less and less often */
    while ((rc = vel_lock_try(fs, host, path, ret_lock, err)) == VEL_EBUSY) {
        uint64_t now = vel_clock_monotonic(clock);

        if (now >= deadline) {
            rc = vel_wrap(err, VEL_ETIMEOUT, "waited %.1f s for a lock",
                          (double)limit / (double)VEL_CLOCK_S);
            if (err)
                err->status = VEL_ETIMEOUT;
            break;
        }
        vel_clock_sleep(clock, pause < deadline - now ? pause : deadline - now);
        pause = pause * 2 < longest ? pause * 2 : longest;
    }
    return rc;
}

/* Unlocked in so many words: closing would leave the lock with a forked child that has
 * the file open. */
static void unlock(struct vel_lock *lock)
{
    lock->fs->ops->flock(lock->fs, lock->fd, LOCK_UN);
    lock_free(lock);
}

void vel_lock_release(struct vel_lock *lock)
{
    if (!lock)
        return;
    lock->fs->ops->truncate(lock->fs, lock->fd, 0); /* nobody holds it any more */
    unlock(lock);
}

void vel_lock_remove(struct vel_lock *lock)
{
    if (!lock)
        return;
    vel_fs_unlink(lock->fs, lock->path, NULL); /* a file that stays does no harm */
    unlock(lock);
}

void vel_lock_abandon(struct vel_lock *lock)
{
    if (lock)
        lock_free(lock);
}
