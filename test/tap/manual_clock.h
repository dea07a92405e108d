/* SPDX-License-Identifier: BSD-3-Clause */
/* manual_clock - a clock that a test sets. */
#ifndef TEST_TAP_MANUAL_CLOCK_H
#define TEST_TAP_MANUAL_CLOCK_H

#include <pthread.h>

#include "sys/clock.h"

/* A clock that stands still: it moves when told, and sleeping moves it at once. Used by
 * any thread. */
struct vel_manual_clock {
    struct vel_clock clock;
    pthread_mutex_t lock; /* guards what follows */
    uint64_t monotonic;
    int64_t wall;
};

void vel_manual_clock_init(struct vel_manual_clock *manual, uint64_t monotonic,
                           int64_t wall);
void vel_manual_clock_fini(struct vel_manual_clock *manual);

/* Both times move on. */
void vel_manual_clock_advance(struct vel_manual_clock *manual, uint64_t ns);

/* The wall clock alone is set, as an operator or a time server would. */
void vel_manual_clock_set_wall(struct vel_manual_clock *manual, int64_t wall);

#endif
