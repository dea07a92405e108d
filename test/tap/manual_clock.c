/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "tap/manual_clock.h"

static struct vel_manual_clock *manual_of(struct vel_clock *clock)
{
    return (struct vel_manual_clock *)clock; /* its first member */
}

static uint64_t manual_monotonic(struct vel_clock *clock)
{
    struct vel_manual_clock *manual = manual_of(clock);

    pthread_mutex_lock(&manual->lock);
    uint64_t now = manual->monotonic;
    pthread_mutex_unlock(&manual->lock);
    return now;
}

static int64_t manual_wall(struct vel_clock *clock)
{
    struct vel_manual_clock *manual = manual_of(clock);

    pthread_mutex_lock(&manual->lock);
    int64_t now = manual->wall;
    pthread_mutex_unlock(&manual->lock);
    return now;
}

static void manual_sleep(struct vel_clock *clock, uint64_t ns)
{
    vel_manual_clock_advance(manual_of(clock), ns);
}

void vel_manual_clock_init(struct vel_manual_clock *manual, uint64_t monotonic,
                           int64_t wall)
{
    static const struct vel_clock_ops ops = {
        .monotonic = manual_monotonic,
        .wall = manual_wall,
        .sleep = manual_sleep,
    };

    *manual = (struct vel_manual_clock){
        .clock.ops = &ops, .monotonic = monotonic, .wall = wall};
    pthread_mutex_init(&manual->lock, NULL);
}

void vel_manual_clock_fini(struct vel_manual_clock *manual)
{
    pthread_mutex_destroy(&manual->lock);
}

void vel_manual_clock_advance(struct vel_manual_clock *manual, uint64_t ns)
{
    pthread_mutex_lock(&manual->lock);
    manual->monotonic += ns;
    manual->wall += (int64_t)ns;
    pthread_mutex_unlock(&manual->lock);
}

void vel_manual_clock_set_wall(struct vel_manual_clock *manual, int64_t wall)
{
    pthread_mutex_lock(&manual->lock);
    manual->wall = wall;
    pthread_mutex_unlock(&manual->lock);
}
