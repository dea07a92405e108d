/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* CLOCK_REALTIME_COARSE */
#include "config.h"

#include <errno.h>
#include <time.h>

#include "sys/clock.h"

static uint64_t system_monotonic(struct vel_clock *clock)
{
    struct timespec now;

    (void)clock;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * VEL_CLOCK_S + (uint64_t)now.tv_nsec;
}

static int64_t system_wall(struct vel_clock *clock)
{
    struct timespec now;

    (void)clock;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * (int64_t)VEL_CLOCK_S + now.tv_nsec;
}

/* It goes on with the timer of the system, as the times of files do. */
static int64_t system_stamp(struct vel_clock *clock)
{
    struct timespec now;

    (void)clock;
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return (int64_t)now.tv_sec * (int64_t)VEL_CLOCK_S + now.tv_nsec;
}

static void system_sleep(struct vel_clock *clock, uint64_t ns)
{
    uint64_t until = vel_clock_deadline(clock, ns);
    struct timespec at = {.tv_sec = (time_t)(until / VEL_CLOCK_S),
                          .tv_nsec = (long)(until % VEL_CLOCK_S)};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
        ;
}

struct vel_clock *vel_clock_system(void)
{
    static const struct vel_clock_ops ops = {
        .monotonic = system_monotonic,
        .wall = system_wall,
        .stamp = system_stamp,
        .sleep = system_sleep,
    };
    static struct vel_clock system_clock = {.ops = &ops}; /* never written */

    return &system_clock;
}

uint64_t vel_clock_monotonic(struct vel_clock *clock)
{
    return clock->ops->monotonic(clock);
}

int64_t vel_clock_wall(struct vel_clock *clock)
{
    return clock->ops->wall(clock);
}

int64_t vel_clock_stamp(struct vel_clock *clock)
{
    return clock->ops->stamp ? clock->ops->stamp(clock) : clock->ops->wall(clock);
}

void vel_clock_sleep(struct vel_clock *clock, uint64_t ns)
{
    clock->ops->sleep(clock, ns);
}

uint64_t vel_clock_deadline(struct vel_clock *clock, uint64_t limit)
{
    uint64_t now = vel_clock_monotonic(clock);

    return limit > UINT64_MAX - now ? UINT64_MAX : now + limit;
}
