/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "sys/clock.h"
#include "sys/fs_twin.h"
#include "sys/fs_watch.h"
#include "sys/thread.h"

enum { FDS_MOST = 4096, TEXT = 1024 };

/* How the messages name an operation; the path follows. */
static const char *const doing[] = {
    [VEL_FS_OP_OPEN] = "opening",
    [VEL_FS_OP_CLOSE] = "closing",
    [VEL_FS_OP_PREAD] = "reading",
    [VEL_FS_OP_PWRITE] = "writing",
    [VEL_FS_OP_APPEND] = "writing",
    [VEL_FS_OP_COPY] = "copying to",
    [VEL_FS_OP_CLONE] = "cloning to",
    [VEL_FS_OP_TRUNCATE] = "truncating",
    [VEL_FS_OP_FSYNC] = "syncing",
    [VEL_FS_OP_HASTEN] = "writing",
    [VEL_FS_OP_FLOCK] = "locking",
    [VEL_FS_OP_FSTAT] = "looking at",
    [VEL_FS_OP_SET_TIMES] = "setting the times of",
    [VEL_FS_OP_SET_MODE] = "setting the mode of",
    [VEL_FS_OP_LSTAT] = "looking at",
    [VEL_FS_OP_LIST] = "listing",
    [VEL_FS_OP_RENAME] = "renaming to",
    [VEL_FS_OP_LINK] = "linking to",
    [VEL_FS_OP_UNLINK] = "removing",
    [VEL_FS_OP_MKDIR] = "making",
    [VEL_FS_OP_RMDIR] = "removing",
    [VEL_FS_OP_SPACE] = "asking for the space of",
    [VEL_FS_OP_SHOWS_ALL] = "asking for the kind of",
};

/* One that is under way, on the stack of who waits for it. */
struct pending {
    const char *doing, *path;
    uint64_t begun;
    bool is_told;
    struct pending *next, **link; /* where the one before points to this one */
};

struct vel_fs_watch {
    struct vel_fs_twin twin; /* the first member */
    uint64_t limit;
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows, and all that is pending */
    pthread_cond_t end;
    bool is_over;
    struct vel_fs_watch *left; /* the one before that was left, see there */
    struct pending *pending;
    char *paths[FDS_MOST]; /* of what is open; NULL: not known */
};

static uint64_t now(void)
{
    return vel_clock_monotonic(vel_clock_system());
}

/* Is there a place for the path of this open file? */
static bool has_place(int fd)
{
    return fd >= 0 && fd < FDS_MOST;
}

/* --- what is under way --------------------------------------------------------------
 */

/* The path of an open file stays while a call needs it: nobody closes a descriptor that
 * another thread uses. A close takes the path out before, because another file may have
 * the number at once; the caller frees the returned path after the close. */
static char *enter_call(struct vel_fs_watch *w, struct pending *pending,
                        const struct vel_fs_call *call)
{
    char *closed = NULL;

    pthread_mutex_lock(&w->lock);
    pending->path = has_place(call->fd) ? w->paths[call->fd] : call->path;
    if (!pending->path)
        pending->path = "a file";
    if (call->op == VEL_FS_OP_CLOSE && has_place(call->fd)) {
        closed = w->paths[call->fd];
        w->paths[call->fd] = NULL;
    }
    pending->begun = now();
    pending->next = w->pending;
    pending->link = &w->pending;
    if (w->pending)
        w->pending->link = &pending->next;
    w->pending = pending;
    pthread_mutex_unlock(&w->lock);
    return closed;
}

static void leave_call(struct vel_fs_watch *w, struct pending *pending)
{
    if (pending->is_told)
        vel_log(VEL_LOG_WARN, "%s %s has come back after %.1f s", pending->doing,
                pending->path, (double)(now() - pending->begun) / (double)VEL_CLOCK_S);
    pthread_mutex_lock(&w->lock);
    *pending->link = pending->next;
    if (pending->next)
        pending->next->link = pending->link;
    pthread_mutex_unlock(&w->lock);
}

/* --- the thread that warns ---------------------------------------------------------
 */

/* The first that takes too long and was not told, as a sentence. */
static bool find_late(struct vel_fs_watch *w, char text[TEXT])
{
    uint64_t t = now();

    for (struct pending *c = w->pending; c; c = c->next) {
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

/* --- operations ---------------------------------------------------------------------
 */

static void note_open(struct vel_fs_watch *w, int fd, const char *path)
{
    if (!has_place(fd))
        return;
    char *copy = strdup(path);

    pthread_mutex_lock(&w->lock);
    free(w->paths[fd]);
    w->paths[fd] = copy;
    pthread_mutex_unlock(&w->lock);
}

static ssize_t watch_call(struct vel_fs_twin *twin, struct vel_fs_call *call)
{
    struct vel_fs_watch *w = (struct vel_fs_watch *)twin; /* its first member */
    struct pending pending = {.doing = doing[call->op]};
    char *closed = enter_call(w, &pending, call);
    ssize_t rc = vel_fs_call_run(w->twin.under, call);

    if (call->op == VEL_FS_OP_OPEN)
        note_open(w, (int)rc, call->path);
    leave_call(w, &pending);
    free(closed);
    return rc;
}

int vel_fs_watch_create(struct vel_fs *under, uint64_t limit,
                        struct vel_fs_watch **ret_watch, struct vel_err *err)
{
    struct vel_fs_watch *w = calloc(1, sizeof *w);
    int rc;

    if (!w)
        return vel_out_of_memory(err, "watching files");
    vel_fs_twin_init(&w->twin, under, watch_call);
    w->limit = limit;
    pthread_mutex_init(&w->lock, NULL);
    vel_cond_init(&w->end);
    rc = vel_thread_start(&w->thread, warn_of_late, w);
    if (rc) {
        pthread_cond_destroy(&w->end);
        pthread_mutex_destroy(&w->lock);
        free(w);
        return vel_fail_errno(err, rc, "cannot start the thread that watches files");
    }
    *ret_watch = w;
    return 0;
}

/* Whoever is in a call that does not come back needs it when that does, and may have
 * more to do then. */
static bool leave(struct vel_fs_watch *watch)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct vel_fs_watch *left;
    bool is_needed;

    pthread_mutex_lock(&watch->lock);
    is_needed = watch->pending;
    pthread_mutex_unlock(&watch->lock);
    if (is_needed) {
        pthread_mutex_lock(&lock);
        watch->left = left;
        left = watch;
        pthread_mutex_unlock(&lock);
    }
    return is_needed;
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
    if (leave(watch))
        return;
    for (size_t i = 0; i < FDS_MOST; i++)
        free(watch->paths[i]);
    pthread_cond_destroy(&watch->end);
    pthread_mutex_destroy(&watch->lock);
    free(watch);
}

struct vel_fs *vel_fs_watch_fs(struct vel_fs_watch *watch)
{
    return &watch->twin.fs;
}
