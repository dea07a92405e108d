/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "sys/clock.h"
#include "sys/fs_watch.h"

enum { FDS_MOST = 4096, TEXT = 1024 };

/* One that is under way, on the stack of who waits for it. */
struct call {
    const char *doing, *path;
    uint64_t begun;
    bool is_told;
    struct call *next, **link; /* where the one before points to this one */
};

struct vel_fs_watch {
    struct vel_fs fs;
    struct vel_fs *under;
    uint64_t limit;
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows, and all calls */
    pthread_cond_t end;
    bool is_over;
    struct call *calls;
    char *paths[FDS_MOST]; /* of what is open; NULL: not known */
};

static struct vel_fs_watch *watch_of(struct vel_fs *fs)
{
    return (struct vel_fs_watch *)fs; /* its first member */
}

static uint64_t now(void)
{
    return vel_clock_monotonic(vel_clock_system());
}

/* --- what is under way --------------------------------------------------------------
 */

static void enter_locked(struct vel_fs_watch *w, struct call *call, const char *path)
{
    call->path = path ? path : "a file";
    call->begun = now();
    call->next = w->calls;
    call->link = &w->calls;
    if (w->calls)
        w->calls->link = &call->next;
    w->calls = call;
}

static void enter(struct vel_fs_watch *w, struct call *call, const char *path)
{
    pthread_mutex_lock(&w->lock);
    enter_locked(w, call, path);
    pthread_mutex_unlock(&w->lock);
}

/* Nobody closes a descriptor that another thread uses: the path stays meanwhile. */
static void enter_fd(struct vel_fs_watch *w, struct call *call, int fd)
{
    pthread_mutex_lock(&w->lock);
    enter_locked(w, call, fd >= 0 && fd < FDS_MOST ? w->paths[fd] : NULL);
    pthread_mutex_unlock(&w->lock);
}

/* Passes on what the operation returned. */
static ssize_t leave(struct vel_fs_watch *w, struct call *call, ssize_t rc)
{
    pthread_mutex_lock(&w->lock);
    *call->link = call->next;
    if (call->next)
        call->next->link = call->link;
    pthread_mutex_unlock(&w->lock);
    if (call->is_told)
        vel_log(VEL_LOG_WARN, "%s %s has come back after %.1f s", call->doing,
                call->path, (double)(now() - call->begun) / (double)VEL_CLOCK_S);
    return rc;
}

/* --- the thread that warns ---------------------------------------------------------
 */

/* The first that takes too long and was not told, as a sentence. */
static bool find_late(struct vel_fs_watch *w, char text[TEXT])
{
    uint64_t t = now();

    for (struct call *c = w->calls; c; c = c->next) {
        if (c->is_told || t - c->begun < w->limit)
            continue;
        c->is_told = true;
        snprintf(text, TEXT,
                 "%s %s has not come back for %.1f s: its file system may hang, and "
                 "the program waits for it",
                 c->doing, c->path, (double)(t - c->begun) / (double)VEL_CLOCK_S);
        return true;
    }
    return false;
}

/* A quarter of the limit from now, for the condition's clock. */
static struct timespec next_look(const struct vel_fs_watch *w)
{
    uint64_t t = now() + w->limit / 4 + VEL_CLOCK_MS;

    return (struct timespec){.tv_sec = (time_t)(t / VEL_CLOCK_S),
                             .tv_nsec = (long)(t % VEL_CLOCK_S)};
}

static void *warn_of_late(void *arg)
{
    struct vel_fs_watch *w = arg;
    char text[TEXT];

    pthread_mutex_lock(&w->lock);
    while (!w->is_over) {
        struct timespec until = next_look(w);

        pthread_cond_timedwait(&w->end, &w->lock, &until);
        while (find_late(w, text)) {
            /* the log may be a file of this file system */
            pthread_mutex_unlock(&w->lock);
            vel_log(VEL_LOG_WARN, "%s", text);
            pthread_mutex_lock(&w->lock);
        }
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* Signals are for the program's own threads. */
static int start_thread(struct vel_fs_watch *w)
{
    sigset_t all, before;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&w->thread, NULL, warn_of_late, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

/* --- operations ---------------------------------------------------------------------
 */

static int watch_open(struct vel_fs *fs, const char *path, int flags, mode_t mode)
{
    struct vel_fs_watch *w = watch_of(fs);
    struct call call = {.doing = "opening"};

    enter(w, &call, path);
    int fd = (int)leave(w, &call, w->under->ops->open(w->under, path, flags, mode));
    if (fd >= 0 && fd < FDS_MOST) {
        char *copy = strdup(path);

        pthread_mutex_lock(&w->lock);
        free(w->paths[fd]);
        w->paths[fd] = copy;
        pthread_mutex_unlock(&w->lock);
    }
    return fd;
}

static int watch_close(struct vel_fs *fs, int fd)
{
    struct vel_fs_watch *w = watch_of(fs);
    struct call call = {.doing = "closing"};
    char *path = NULL;

    pthread_mutex_lock(&w->lock);
    if (fd >= 0 && fd < FDS_MOST) {
        path = w->paths[fd]; /* the number may be another file's at once */
        w->paths[fd] = NULL;
    }
    enter_locked(w, &call, path);
    pthread_mutex_unlock(&w->lock);
    int rc = (int)leave(w, &call, w->under->ops->close(w->under, fd));
    free(path);
    return rc;
}

static ssize_t watch_pread(struct vel_fs *fs, int fd, void *buf, size_t len, off_t at)
{
    struct vel_fs_watch *w = watch_of(fs);
    struct call call = {.doing = "reading"};

    enter_fd(w, &call, fd);
    return leave(w, &call, w->under->ops->pread(w->under, fd, buf, len, at));
}

static ssize_t watch_pwrite(struct vel_fs *fs, int fd, const void *buf, size_t len,
                            off_t at)
{
    struct vel_fs_watch *w = watch_of(fs);
    struct call call = {.doing = "writing"};

    enter_fd(w, &call, fd);
    return leave(w, &call, w->under->ops->pwrite(w->under, fd, buf, len, at));
}

static ssize_t watch_append(struct vel_fs *fs, int fd, const void *buf, size_t len)
{
    struct vel_fs_watch *w = watch_of(fs);
    struct call call = {.doing = "writing"};

    enter_fd(w, &call, fd);
    return leave(w, &call, w->under->ops->append(w->under, fd, buf, len));
}

static ssize_t watch_copy(struct vel_fs *fs, int from, off_t from_at, int to,
                          off_t to_at, size_t len)
{
    struct vel_fs_watch *w = watch_of(fs);
    struct call call = {.doing = "copying to"};

    enter_fd(w, &call, to);
    return leave(w, &call,
                 w->under->ops->copy(w->under, from, from_at, to, to_at, len));
}

static int watch_clone(struct vel_fs *fs, int from, int to)
{
    struct vel_fs_watch *w = watch_of(fs);
    struct call call = {.doing = "cloning to"};

    enter_fd(w, &call, to);
    return (int)leave(w, &call, w->under->ops->clone(w->under, from, to));
}

static int watch_truncate(struct vel_fs *fs, int fd, off_t size)
{
    struct vel_fs_watch *w = watch_of(fs);
    struct call call = {.doing = "truncating"};

    enter_fd(w, &call, fd);
    return (int)leave(w, &call, w->under->ops->truncate(w->under, fd, size));
}

static int watch_fsync(struct vel_fs *fs, int fd)
{
    struct vel_fs_watch *w = watch_of(fs);
    struct call call = {.doing = "syncing"};

    enter_fd(w, &call, fd);
    return (int)leave(w, &call, w->under->ops->fsync(w->under, fd));
}

static void watch_hasten(struct vel_fs *fs, int fd, off_t at, off_t len)
{
    struct vel_fs_watch *w = watch_of(fs);
    struct call call = {.doing = "writing"};

    enter_fd(w, &call, fd);
    if (w->under->ops->hasten)
        w->under->ops->hasten(w->under, fd, at, len);
    leave(w, &call, 0);
}

static int watch_flock(struct vel_fs *fs, int fd, int how)
{
    struct vel_fs_watch *w = watch_of(fs);
    struct call call = {.doing = "locking"};

    enter_fd(w, &call, fd);
    return (int)leave(w, &call, w->under->ops->flock(w->under, fd, how));
}

static int watch_fstat(struct vel_fs *fs, int fd, struct stat *ret)
{
    struct vel_fs_watch *w = watch_of(fs);
    struct call call = {.doing = "looking at"};

    enter_fd(w, &call, fd);
    return (int)leave(w, &call, w->under->ops->fstat(w->under, fd, ret));
}

static int watch_set_times(struct vel_fs *fs, int fd, const struct timespec times[2])
{
    struct vel_fs_watch *w = watch_of(fs);
    struct call call = {.doing = "setting the times of"};

    enter_fd(w, &call, fd);
    return (int)leave(w, &call, w->under->ops->set_times(w->under, fd, times));
}

static int watch_set_mode(struct vel_fs *fs, int fd, mode_t mode)
{
    struct vel_fs_watch *w = watch_of(fs);
    struct call call = {.doing = "setting the mode of"};

    enter_fd(w, &call, fd);
    return (int)leave(w, &call, w->under->ops->set_mode(w->under, fd, mode));
}

static int watch_lstat(struct vel_fs *fs, const char *path, struct stat *ret)
{
    struct vel_fs_watch *w = watch_of(fs);
    struct call call = {.doing = "looking at"};

    enter(w, &call, path);
    return (int)leave(w, &call, w->under->ops->lstat(w->under, path, ret));
}

static int watch_list(struct vel_fs *fs, const char *path, struct vel_vec *ret_names)
{
    struct vel_fs_watch *w = watch_of(fs);
    struct call call = {.doing = "listing"};

    enter(w, &call, path);
    return (int)leave(w, &call, w->under->ops->list(w->under, path, ret_names));
}

static int watch_rename(struct vel_fs *fs, const char *from, const char *to)
{
    struct vel_fs_watch *w = watch_of(fs);
    struct call call = {.doing = "renaming to"};

    enter(w, &call, to);
    return (int)leave(w, &call, w->under->ops->rename(w->under, from, to));
}

static int watch_link(struct vel_fs *fs, const char *from, const char *to)
{
    struct vel_fs_watch *w = watch_of(fs);
    struct call call = {.doing = "linking to"};

    enter(w, &call, to);
    return (int)leave(w, &call, w->under->ops->link(w->under, from, to));
}

static int watch_unlink(struct vel_fs *fs, const char *path)
{
    struct vel_fs_watch *w = watch_of(fs);
    struct call call = {.doing = "removing"};

    enter(w, &call, path);
    return (int)leave(w, &call, w->under->ops->unlink(w->under, path));
}

static int watch_mkdir(struct vel_fs *fs, const char *path, mode_t mode)
{
    struct vel_fs_watch *w = watch_of(fs);
    struct call call = {.doing = "making"};

    enter(w, &call, path);
    return (int)leave(w, &call, w->under->ops->mkdir(w->under, path, mode));
}

static int watch_rmdir(struct vel_fs *fs, const char *path)
{
    struct vel_fs_watch *w = watch_of(fs);
    struct call call = {.doing = "removing"};

    enter(w, &call, path);
    return (int)leave(w, &call, w->under->ops->rmdir(w->under, path));
}

static int watch_space(struct vel_fs *fs, const char *path, struct statvfs *ret)
{
    struct vel_fs_watch *w = watch_of(fs);
    struct call call = {.doing = "asking for the space of"};

    enter(w, &call, path);
    return (int)leave(w, &call, w->under->ops->space(w->under, path, ret));
}

static const struct vel_fs_ops watch_ops = {
    .open = watch_open,
    .close = watch_close,
    .pread = watch_pread,
    .pwrite = watch_pwrite,
    .append = watch_append,
    .copy = watch_copy,
    .clone = watch_clone,
    .truncate = watch_truncate,
    .fsync = watch_fsync,
    .hasten = watch_hasten,
    .flock = watch_flock,
    .fstat = watch_fstat,
    .set_times = watch_set_times,
    .set_mode = watch_set_mode,
    .lstat = watch_lstat,
    .list = watch_list,
    .rename = watch_rename,
    .link = watch_link,
    .unlink = watch_unlink,
    .mkdir = watch_mkdir,
    .rmdir = watch_rmdir,
    .space = watch_space,
};

int vel_fs_watch_create(struct vel_fs *under, uint64_t limit,
                        struct vel_fs_watch **ret_watch, struct vel_err *err)
{
    struct vel_fs_watch *w = calloc(1, sizeof *w);
    pthread_condattr_t attr;
    int rc;

    if (!w)
        return vel_out_of_memory(err, "watching files");
    w->fs.ops = &watch_ops;
    w->under = under;
    w->limit = limit;
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&w->end, &attr);
    pthread_condattr_destroy(&attr);
    rc = start_thread(w);
    if (rc) {
        pthread_cond_destroy(&w->end);
        pthread_mutex_destroy(&w->lock);
        free(w);
        return vel_fail_errno(err, rc, "cannot start the thread that watches files");
    }
    *ret_watch = w;
    return 0;
}

void vel_fs_watch_destroy(struct vel_fs_watch *watch)
{
    if (!watch)
        return;
    pthread_mutex_lock(&watch->lock);
    watch->is_over = true;
    pthread_cond_signal(&watch->end);
    pthread_mutex_unlock(&watch->lock);
    pthread_join(watch->thread, NULL);
    for (size_t i = 0; i < FDS_MOST; i++)
        free(watch->paths[i]);
    pthread_cond_destroy(&watch->end);
    pthread_mutex_destroy(&watch->lock);
    free(watch);
}

struct vel_fs *vel_fs_watch_fs(struct vel_fs_watch *watch)
{
    return &watch->fs;
}
