/* SPDX-License-Identifier: BSD-3-Clause */
/* wirelab - a source over connections that carry messages: the nodes of a pulllab at
 * the other ends, each a thread that answers in any order and dies or lies when it is
 * told to. */
#ifndef TEST_TAP_WIRELAB_H
#define TEST_TAP_WIRELAB_H

#include <pthread.h>

#include "tap/pulllab.h"

struct wirelab_peer {
    struct pulllab *lab;
    size_t node;
    int fd;         /* its end */
    int mine;       /* the asker's */
    size_t dies_at; /* this answer is cut and the last; 0: none */
    bool lies;      /* and this one is another message */
    uint64_t seed;
    pthread_t thread;
};

struct wirelab {
    struct vel_pull_source source;
    struct pulllab *lab;
    struct wirelab_peer peer[PULLLAB_NODES];
    struct vel_vec asked; /* struct asked */
    uint64_t seq;
};

/* Connect to all nodes; then say who dies when; then let them begin. */
void wirelab_connect(struct wirelab *w, struct pulllab *lab, uint64_t seed);
void wirelab_start(struct wirelab *w);
void wirelab_close(struct wirelab *w);

#endif
