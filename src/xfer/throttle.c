/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "xfer/throttle.h"

/* what the bucket holds, and how often a waiting thread asks its watch */
static const uint64_t slice = 100 * VEL_CLOCK_MS;

static const double second = 1e9; /* ns */

void vel_throttle_init(struct vel_throttle *throttle, struct vel_clock *clock,
                       uint64_t rate)
{
    pthread_mutex_init(&throttle->lock, NULL);
    throttle->clock = clock;
    throttle->rate = rate;
    throttle->asked = throttle->allowed = 0;
    throttle->seen = vel_clock_monotonic(clock);
    throttle->percent = 0;
}

void vel_throttle_fini(struct vel_throttle *throttle)
{
    pthread_mutex_destroy(&throttle->lock);
}

/* What the time since then allows. Locked. */
static void see(struct vel_throttle *throttle)
{
    uint64_t now = vel_clock_monotonic(throttle->clock);

    if (now > throttle->seen)
        throttle->allowed +=
            (double)(now - throttle->seen) / second * (double)throttle->rate;
    throttle->seen = now;
}

void vel_throttle_set_rate(struct vel_throttle *throttle, uint64_t rate)
{
    pthread_mutex_lock(&throttle->lock);
    see(throttle);
    if (throttle->rate == 0) /* nobody owes for what had no limit */
        throttle->asked = throttle->allowed;
    throttle->rate = rate;
    pthread_mutex_unlock(&throttle->lock);
}

uint64_t vel_throttle_time(struct vel_throttle *throttle, uint64_t bytes)
{
    uint64_t rate;
    double ns;

    pthread_mutex_lock(&throttle->lock);
    rate = throttle->rate;
    pthread_mutex_unlock(&throttle->lock);
    ns = rate > 0 ? (double)bytes / (double)rate * second : 0;
    return ns < (double)(UINT64_MAX / 2) ? (uint64_t)ns : UINT64_MAX / 2;
}

void vel_throttle_set_percent(struct vel_throttle *throttle, double percent)
{
    pthread_mutex_lock(&throttle->lock);
    throttle->percent = percent;
    pthread_mutex_unlock(&throttle->lock);
}

/* Put the bytes behind what others have asked for: their turn is when so many are
 * allowed. */
static double queue_up(struct vel_throttle *throttle, uint64_t bytes)
{
    double turn, saved;

    pthread_mutex_lock(&throttle->lock);
    see(throttle);
    saved = throttle->allowed - (double)throttle->rate * (double)slice / second;
    if (throttle->asked < saved)
        throttle->asked = saved;
    turn = throttle->asked += (double)bytes;
    pthread_mutex_unlock(&throttle->lock);
    return turn;
}

/* How long until then, in ns, but a slice at most. */
static uint64_t wait_for(struct vel_throttle *throttle, double turn)
{
    double rest = 0;

    pthread_mutex_lock(&throttle->lock);
    see(throttle);
    if (throttle->rate > 0)
        rest = (turn - throttle->allowed) / (double)throttle->rate * second;
    pthread_mutex_unlock(&throttle->lock);
    return rest <= 0 ? 0 : rest < (double)slice ? (uint64_t)rest + 1 : slice;
}

static void give_back(struct vel_throttle *throttle, uint64_t bytes)
{
    pthread_mutex_lock(&throttle->lock);
    throttle->asked -= (double)bytes;
    pthread_mutex_unlock(&throttle->lock);
}

int vel_throttle_take(struct vel_throttle *throttle, uint64_t bytes,
                      const struct vel_watch *watch, struct vel_err *err)
{
    double turn = throttle ? queue_up(throttle, bytes) : 0;

    for (;;) {
        uint64_t rest;

        if (!vel_watch_step(watch, 0)) {
            if (throttle)
                give_back(throttle, bytes);
            return vel_fail(err, VEL_ECANCEL, "cancelled");
        }
        rest = throttle ? wait_for(throttle, turn) : 0;
        if (rest == 0)
            return 0;
        vel_clock_sleep(throttle->clock, rest);
    }
}

/* 0: no limit. */
static double share_of(struct vel_throttle *throttle)
{
    double percent;

    if (!throttle)
        return 0;
    pthread_mutex_lock(&throttle->lock);
    percent = throttle->percent;
    pthread_mutex_unlock(&throttle->lock);
    return percent <= 0 || percent >= 100 ? 0 : percent;
}

bool vel_throttle_has_share(struct vel_throttle *throttle)
{
    return share_of(throttle) > 0;
}

int vel_throttle_rest(struct vel_throttle *throttle, uint64_t spent,
                      const struct vel_watch *watch, struct vel_err *err)
{
    uint64_t begun, pause;
    double percent = share_of(throttle);

    if (percent == 0)
        return 0;
    begun = vel_clock_monotonic(throttle->clock);
    pause = (uint64_t)((double)spent * (100 - percent) / percent);
    for (;;) {
        uint64_t gone = vel_clock_monotonic(throttle->clock) - begun;

        if (gone >= pause)
            return 0;
        if (!vel_watch_step(watch, 0))
            return vel_fail(err, VEL_ECANCEL, "cancelled");
        vel_clock_sleep(throttle->clock, pause - gone < slice ? pause - gone : slice);
    }
}
