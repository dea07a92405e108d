/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>

#include "base/path.h"
#include "tap/hangfs.h"

/* Those that change or look for something where the directory hangs. */
static bool may_hang(const struct vel_fs_call *call)
{
    switch (call->op) {
    case VEL_FS_OP_OPEN:
    case VEL_FS_OP_PWRITE:
    case VEL_FS_OP_COPY:
    case VEL_FS_OP_FSYNC:
    case VEL_FS_OP_LSTAT:
    case VEL_FS_OP_LIST:
    case VEL_FS_OP_RENAME:
    case VEL_FS_OP_LINK:
    case VEL_FS_OP_UNLINK:
    case VEL_FS_OP_MKDIR:
        return true;
    default:
        return false;
    }
}

static bool is_below(const struct hangfs *h, const struct vel_fs_call *call)
{
    char *path = NULL;
    bool is;

    if (call->path)
        return vel_path_below(h->below, call->path);
    is = vel_fs_path_of(call->fd, &path, NULL) == 0 && vel_path_below(h->below, path);
    free(path);
    return is;
}

static ssize_t hang_call(struct vel_fs_twin *twin, struct vel_fs_call *call)
{
    struct hangfs *h = (struct hangfs *)twin; /* its first member */

    if (may_hang(call) && (!h->lets_read || vel_fs_call_changes(call)) &&
        is_below(h, call)) {
        pthread_mutex_lock(&h->lock);
        h->waiting++;
        pthread_cond_broadcast(&h->news);
        while (h->hangs)
            pthread_cond_wait(&h->news, &h->lock);
        h->waiting--;
        pthread_mutex_unlock(&h->lock);
    }
    return vel_fs_call_run(twin->under, call);
}

void hangfs_init(struct hangfs *h, const char *below)
{
    *h = (struct hangfs){.below = below};
    vel_fs_twin_init(&h->twin, vel_fs_posix(), hang_call);
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
