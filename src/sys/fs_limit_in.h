/* SPDX-License-Identifier: BSD-3-Clause */
/* fs_limit_in - a call that somebody else may be doing: what fs_limit (which calls) and
 * fs_limit_call (who does them, and who waits) share. */
#ifndef VEL_SYS_FS_LIMIT_IN_H
#define VEL_SYS_FS_LIMIT_IN_H

#include <pthread.h>
#include <stdatomic.h>

#include "sys/fs_limit.h"
#include "sys/fs_twin.h"

enum { VEL_FS_LIMIT_FDS = 4096 };

/* One that was asked of the thread. */
struct vel_fs_asked;

struct vel_fs_limit {
    struct vel_fs_twin twin; /* the first member */
    char *below;
    uint64_t limit;
    pthread_t bound;
    atomic_bool is_bound;
    bool lets_read;                          /* the bound thread's */
    atomic_uchar is_below[VEL_FS_LIMIT_FDS]; /* what is open there */
    pthread_mutex_t lock;                    /* guards what follows, and calls */
    pthread_cond_t asked, done;
    atomic_uint n_asked, n_done; /* calls: looked at before one sleeps */
    bool spins;                  /* several cores: worth a look */
    struct vel_fs_asked *call;   /* that is asked for, or under way */
    struct vel_fs_asked *closes; /* of what the bound thread could not wait for */
    unsigned users;              /* the owner, and the thread */
    bool has_thread, is_over;
};

/* By the thread, within the limit. A close that cannot be done now is done later. */
ssize_t vel_fs_limit_ask(struct vel_fs_limit *limit, const struct vel_fs_call *call);

/* A user less, with the lock: the last one frees it. */
void vel_fs_limit_leave(struct vel_fs_limit *limit);

#endif
