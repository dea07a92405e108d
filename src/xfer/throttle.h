/* SPDX-License-Identifier: BSD-3-Clause */
/* throttle - no more bytes per second than allowed, for all threads that share one.
 *
 * A bucket that fills with the allowed rate and holds a tenth of a second of it: what a
 * write itself lasts is not lost, and nobody saves up for a burst.
 */
#ifndef VEL_XFER_THROTTLE_H
#define VEL_XFER_THROTTLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "sys/clock.h"
#include "xfer/watch.h"

struct vel_throttle {
    struct vel_clock *clock;
    pthread_mutex_t lock; /* guards what follows */
    uint64_t rate;        /* bytes per second; 0: no limit */
    double asked;         /* bytes, by all so far */
    double allowed;       /* until the moment `seen` */
    uint64_t seen;
    double percent; /* of the time, that may be spent writing; 0: no limit */
};

/* Starts with an empty bucket. The clock is borrowed. */
void vel_throttle_init(struct vel_throttle *throttle, struct vel_clock *clock,
                       uint64_t rate);
void vel_throttle_fini(struct vel_throttle *throttle);

/* At once, for those who wait, too. */
void vel_throttle_set_rate(struct vel_throttle *throttle, uint64_t rate);

/* How long so many bytes take at least, in ns. */
uint64_t vel_throttle_time(struct vel_throttle *throttle, uint64_t bytes);

/* How much of a store's speed may be used, in percent: whoever has written for some
 * time then rests (vel_throttle_rest()). */
void vel_throttle_set_percent(struct vel_throttle *throttle, double percent);

/* Is there such a limit? NULL has none. */
bool vel_throttle_has_share(struct vel_throttle *throttle);

/* Returns when `bytes` more may be moved. VEL_ECANCEL when the watch, asked at least
 * ten times a second, says stop; the bytes are then given back. throttle may be NULL:
 * no limit. */
int vel_throttle_take(struct vel_throttle *throttle, uint64_t bytes,
                      const struct vel_watch *watch, struct vel_err *err);

/* What was written took `spent` ns: wait for as long as leaves the others their share.
 * VEL_ECANCEL as above. */
int vel_throttle_rest(struct vel_throttle *throttle, uint64_t spent,
                      const struct vel_watch *watch, struct vel_err *err);

#endif
