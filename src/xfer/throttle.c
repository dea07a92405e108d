/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "xfer/throttle.h"

/* what the bucket holds, and how often a waiting thread asks its watch */
static const uint64_t slice = 100 * VEL_CLOCK_MS;

void vel_throttle_init(struct vel_throttle *throttle, struct vel_clock *clock,
                       uint64_t rate)
{
    pthread_mutex_init(&throttle->lock, NULL);
    throttle->clock = clock;
    throttle->rate = rate;
    throttle->paid = vel_clock_monotonic(clock);
}

void vel_throttle_fini(struct vel_throttle *throttle)
{
    pthread_mutex_destroy(&throttle->lock);
}

void vel_throttle_set_rate(struct vel_throttle *throttle, uint64_t rate)
{
    pthread_mutex_lock(&throttle->lock);
    throttle->rate = rate;
    pthread_mutex_unlock(&throttle->lock);
}

/* How long so many bytes take at that rate; a hundred years stand for all that is
 * longer. */
static uint64_t price(uint64_t bytes, uint64_t rate)
{
    const double most = 3.2e18;
    double ns = (double)bytes / (double)rate * (double)VEL_CLOCK_S;

    return (uint64_t)(ns < most ? ns : most);
}

/* Put the bytes behind what others have asked for: their price, and when it is paid.
 * 0: there is no limit. */
static uint64_t queue_up(struct vel_throttle *throttle, uint64_t bytes,
                         uint64_t *ret_until)
{
    uint64_t now = vel_clock_monotonic(throttle->clock), cost = 0;

    pthread_mutex_lock(&throttle->lock);
    if (throttle->rate > 0) {
        if (now > slice && throttle->paid < now - slice)
            throttle->paid = now - slice;
        cost = price(bytes, throttle->rate);
        throttle->paid =
            cost < UINT64_MAX - throttle->paid ? throttle->paid + cost : UINT64_MAX;
        *ret_until = throttle->paid;
    }
    pthread_mutex_unlock(&throttle->lock);
    return cost;
}

static void give_back(struct vel_throttle *throttle, uint64_t cost)
{
    pthread_mutex_lock(&throttle->lock);
    throttle->paid -= cost < throttle->paid ? cost : throttle->paid;
    pthread_mutex_unlock(&throttle->lock);
}

int vel_throttle_take(struct vel_throttle *throttle, uint64_t bytes,
                      const struct vel_watch *watch, struct vel_err *err)
{
    uint64_t until = 0, cost = throttle ? queue_up(throttle, bytes, &until) : 0;

    for (;;) {
        if (!vel_watch_step(watch, 0)) {
            if (cost > 0)
                give_back(throttle, cost);
            return vel_fail(err, VEL_ECANCEL, "cancelled");
        }
        uint64_t now = cost > 0 ? vel_clock_monotonic(throttle->clock) : 0;
        if (now >= until)
            return 0;
        uint64_t rest = until - now;
        vel_clock_sleep(throttle->clock, rest < slice ? rest : slice);
    }
}
