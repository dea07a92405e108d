/* SPDX-License-Identifier: BSD-3-Clause */
/* standin_in - a stand-in as its own files see it. */
#ifndef TEST_TAP_STANDIN_IN_H
#define TEST_TAP_STANDIN_IN_H

#include <pthread.h>

#include "sys/lock.h"
#include "tap/standin.h"

enum { RANKS_MOST = 64, DATASETS = 256, TEXT = 1200, WORDS = 16 };

struct seat {
    struct vel_background base;
    struct standin *of;
    int rank;
    bool has_left;
    char node[256];
};

struct one {
    int64_t id;
    unsigned owed[RANKS_MOST]; /* by each rank */
    char *dir[RANKS_MOST];
    struct vel_seal whole;
    int waiters;
    bool is_settled, is_resting, is_encoded, is_flushed;
    struct vel_err err;
};

struct standin {
    pthread_mutex_t lock;
    pthread_cond_t news;
    pthread_t thread;
    struct seat seats[RANKS_MOST];
    int ranks;
    int holders; /* it goes with the last; 0: somebody destroys it */
    struct vel_fs *fs;
    char prefix[512], dir[600], launch[VEL_LAUNCH_ROOM];
    struct vel_lock *alive;
    struct one all[DATASETS];
    size_t n;
    struct one *under_way;
    bool packs; /* CONTAINERS */
    bool is_open, is_held, is_lazy, is_over, is_dead, outlives;
    int failing_encodings, failing_flushes;
    int64_t answers[4];
    struct standin_done done;
    const struct vel_seal *settled;
};

/* Is anything owed of it: bits of enum vel_background_owed. */
unsigned standin_owed(const struct standin *st, const struct one *d);

/* A rank's promise, in a file beside its directory. */
unsigned standin_load_promise(const char *dir);
int standin_save_promise(struct standin *st, const char *dir, unsigned what,
                         struct vel_err *err);

/* What becomes of one on the prefix. */
int standin_mark(struct standin *st, int64_t id, enum vel_mark what, const void *record,
                 size_t len, struct vel_err *err);

/* The thread. */
void *standin_work(void *arg);

#endif
