/* SPDX-License-Identifier: BSD-3-Clause */
/* clock - what time it is, and waiting.
 *
 * Monotonic time is for durations and limits, on this machine and until its next boot.
 * Wall time is for people and records: it is stored and shown, never added, subtracted
 * or compared, because it jumps and every node has its own.
 */
#ifndef VEL_SYS_CLOCK_H
#define VEL_SYS_CLOCK_H

#include <stdint.h>

struct vel_clock {
    const struct vel_clock_ops *ops; /* another clock embeds this as its first member */
};

struct vel_clock_ops {
    uint64_t (*monotonic)(struct vel_clock *clock);
    int64_t (*wall)(struct vel_clock *clock);
    void (*sleep)(struct vel_clock *clock, uint64_t ns);
    int64_t (*stamp)(struct vel_clock *clock); /* NULL: as wall */
};

#define VEL_CLOCK_MS UINT64_C(1000000)
#define VEL_CLOCK_S UINT64_C(1000000000)

/* The machine's clock. Never destroyed, used by any thread. */
struct vel_clock *vel_clock_system(void);

/* Nanoseconds since some moment of the past. */
uint64_t vel_clock_monotonic(struct vel_clock *clock);

/* Nanoseconds since 1970 in UTC. */
int64_t vel_clock_wall(struct vel_clock *clock);

/* The same, not later than the time that a local file gets when it is changed from now
 * on: that may be behind the clock. */
int64_t vel_clock_stamp(struct vel_clock *clock);

/* Not before `ns` from now, whatever signals come. */
void vel_clock_sleep(struct vel_clock *clock, uint64_t ns);

/* `limit` ns from now; the end of time when that is beyond it, so that UINT64_MAX is no
 * limit. */
uint64_t vel_clock_deadline(struct vel_clock *clock, uint64_t limit);

#endif
