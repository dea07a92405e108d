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

static void wait_for_throttle(struct vel_paced *p, int fd, uint64_t moved)
{
    struct vel_throttle *throttle = NULL;
    size_t i;

    pthread_mutex_lock(&p->lock);
    i = find_fd(p, fd);
    if (i < p->opened.n)
        throttle = ((struct opened *)vel_vec_at(&p->opened, i))->throttle;
    pthread_mutex_unlock(&p->lock);
    if (throttle)
        (void)vel_throttle_take(throttle, moved, p->watch, NULL);
}

/* The bytes have moved: wait until as many were allowed to, a copy for the stores of
 * both files. Who is to stop waits no more, and learns it from nobody here: a file that
 * fails to be read counts as damaged. */
static ssize_t run_and_pay(struct vel_paced *p, const struct vel_fs_call *call)
{
    ssize_t moved = vel_fs_call_run(p->twin.under, call);

    if (moved > 0 && call->op == VEL_FS_OP_COPY)
        wait_for_throttle(p, call->from_fd, (uint64_t)moved);
    if (moved > 0)
        wait_for_throttle(p, call->fd, (uint64_t)moved);
    return moved;
}

static int open_file(struct vel_paced *p, const struct vel_fs_call *call)
{
    struct vel_fs *under = p->twin.under;
    struct opened opened = {.throttle = find_throttle(p, call->path)};
    bool is_noted = true;

    opened.fd = (int)vel_fs_call_run(under, call);
    if (opened.fd < 0 || !opened.throttle)
        return opened.fd;
    pthread_mutex_lock(&p->lock);
    is_noted = vel_vec_push(&p->opened, &opened);
    pthread_mutex_unlock(&p->lock);
    if (is_noted)
        return opened.fd;
    under->ops->close(under, opened.fd);
    return -ENOMEM;
}

static void forget_file(struct vel_paced *p, int fd)
{
    size_t i;

    pthread_mutex_lock(&p->lock);
    i = find_fd(p, fd);
    if (i < p->opened.n)
        vel_vec_remove(&p->opened, i);
    pthread_mutex_unlock(&p->lock);
}

static ssize_t pace_call(struct vel_fs_twin *twin, struct vel_fs_call *call)
{
    struct vel_paced *p = (struct vel_paced *)twin; /* its first member */

    switch (call->op) {
    case VEL_FS_OP_OPEN:
        return open_file(p, call);
    case VEL_FS_OP_CLOSE:
        forget_file(p, call->fd); /* before another file may have the number */
        return vel_fs_call_run(twin->under, call);
    case VEL_FS_OP_PREAD:
    case VEL_FS_OP_PWRITE:
    case VEL_FS_OP_COPY:
        call->len = call->len < STEP ? call->len : STEP;
        return run_and_pay(p, call);
    case VEL_FS_OP_APPEND: /* in one piece */
        return run_and_pay(p, call);
    default:
        return vel_fs_call_run(twin->under, call);
    }
}

/* --- life --- */

void vel_paced_init(struct vel_paced *paced, struct vel_fs *under,
                    const struct vel_paced_dir *dirs, size_t n,
                    const struct vel_watch *watch)
{
    *paced = (struct vel_paced){.dirs = dirs, .n = n, .watch = watch};
    vel_fs_twin_init(&paced->twin, under, pace_call);
    pthread_mutex_init(&paced->lock, NULL);
    vel_vec_init(&paced->opened, sizeof(struct opened));
}

void vel_paced_fini(struct vel_paced *paced)
{
    vel_vec_fini(&paced->opened);
    pthread_mutex_destroy(&paced->lock);
}
