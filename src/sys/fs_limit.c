/* SPDX-License-Identifier: BSD-3-Clause */
/* Which calls are asked of the thread (fs_limit_call), and which are done here. */
#include "config.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "sys/fs_limit_in.h"
#include "sys/thread.h"

static bool is_bound(const struct vel_fs_limit *l)
{
    return atomic_load(&l->is_bound) && pthread_equal(l->bound, pthread_self());
}

static bool is_below(const struct vel_fs_limit *l, const char *path)
{
    return path && vel_path_below(l->below, path);
}

static bool is_below_fd(struct vel_fs_limit *l, int fd)
{
    return fd >= 0 && fd < VEL_FS_LIMIT_FDS && atomic_load(&l->is_below[fd]);
}

static bool works_below(struct vel_fs_limit *l, const struct vel_fs_call *call)
{
    return is_below(l, call->path) || is_below(l, call->from_path) ||
           is_below_fd(l, call->fd) || is_below_fd(l, call->from_fd);
}

static void mark_fd(struct vel_fs_limit *l, int fd, bool is_below)
{
    if (fd >= 0 && fd < VEL_FS_LIMIT_FDS)
        atomic_store(&l->is_below[fd], is_below);
}

static ssize_t limit_call(struct vel_fs_twin *twin, struct vel_fs_call *call)
{
    struct vel_fs_limit *l = (struct vel_fs_limit *)twin; /* its first member */
    bool passes = is_bound(l) && l->lets_read && !vel_fs_call_changes(call),
         is_asked = is_bound(l) && !passes && works_below(l, call);
    ssize_t rc;

    if (call->op == VEL_FS_OP_HASTEN && is_asked)
        return 0; /* a hint, for which nobody waits */
    if (call->op == VEL_FS_OP_CLOSE)
        mark_fd(l, call->fd, false); /* before another thread may have the number */
    rc = is_asked ? vel_fs_limit_ask(l, call) : vel_fs_call_run(l->twin.under, call);
    if (call->op == VEL_FS_OP_OPEN)
        mark_fd(l, (int)rc, !passes && is_below(l, call->path));
    return rc;
}

/* --- life --- */

int vel_fs_limit_create(struct vel_fs *under, const char *below, uint64_t limit,
                        struct vel_fs_limit **ret_limit, struct vel_err *err)
{
    struct vel_fs_limit *l = calloc(1, sizeof *l);
    cpu_set_t cores;

    if (l)
        l->below = strdup(below);
    if (!l || !l->below) {
        free(l);
        return vel_out_of_memory(err, "a file system");
    }
    vel_fs_twin_init(&l->twin, under, limit_call);
    l->limit = limit;
    l->users = 1;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->asked, NULL);
    l->spins = sched_getaffinity(0, sizeof cores, &cores) == 0 && CPU_COUNT(&cores) > 1;
    vel_cond_init(&l->done);
    *ret_limit = l;
    return 0;
}

void vel_fs_limit_destroy(struct vel_fs_limit *limit)
{
    if (!limit)
        return;
    pthread_mutex_lock(&limit->lock);
    limit->is_over = true;
    pthread_cond_signal(&limit->asked);
    vel_fs_limit_leave(limit);
}

void vel_fs_limit_bind(struct vel_fs_limit *limit)
{
    limit->bound = pthread_self();
    atomic_store(&limit->is_bound, true);
}

void vel_fs_limit_let_read(struct vel_fs_limit *limit, bool lets)
{
    limit->lets_read = lets;
}

struct vel_fs *vel_fs_limit_fs(struct vel_fs_limit *limit)
{
    return &limit->twin.fs;
}
