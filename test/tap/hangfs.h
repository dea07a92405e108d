/* SPDX-License-Identifier: BSD-3-Clause */
/* hangfs - a file system of which one directory hangs: what is asked of it does not
 * come back before it is let go, and is done then. */
#ifndef TEST_TAP_HANGFS_H
#define TEST_TAP_HANGFS_H

#include <pthread.h>
#include <stdbool.h>

#include "sys/fs_twin.h"

struct hangfs {
    struct vel_fs_twin twin; /* its file system is to be handed on */
    const char *below;       /* borrowed */
    pthread_mutex_t lock;
    pthread_cond_t news;
    bool hangs;
    bool lets_read; /* as one that is frozen: only what changes something hangs */
    int waiting;    /* operations */
};

void hangfs_init(struct hangfs *h, const char *below);
void hangfs_fini(struct hangfs *h);
void hangfs_hang(struct hangfs *h);
void hangfs_let_go(struct hangfs *h);

/* Waits until so many operations hang. */
void hangfs_wait(struct hangfs *h, int waiting);

#endif
