/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "tap/manual_clock.h"
#include "tap/tap.h"
#include "xfer/throttle.h"

struct lab {
    struct vel_manual_clock clock;
    struct vel_throttle throttle;
    int steps_left;
};

static void lab_open(struct lab *lab, uint64_t rate)
{
    vel_manual_clock_init(&lab->clock, 5 * VEL_CLOCK_S, 0);
    vel_throttle_init(&lab->throttle, &lab->clock.clock, rate);
}

static void lab_close(struct lab *lab)
{
    vel_throttle_fini(&lab->throttle);
    vel_manual_clock_fini(&lab->clock);
}

/* the rate over n takes, each followed by work that lasts */
static double rate_of(struct lab *lab, uint64_t bytes, int n, uint64_t work)
{
    uint64_t begin = vel_clock_monotonic(&lab->clock.clock);

    for (int i = 0; i < n; i++) {
        if (vel_throttle_take(&lab->throttle, bytes, NULL, NULL) < 0)
            return -1;
        vel_manual_clock_advance(&lab->clock, work);
    }
    uint64_t ns = vel_clock_monotonic(&lab->clock.clock) - begin;
    return ns ? (double)bytes * n / ((double)ns / VEL_CLOCK_S) : -1;
}

static void holds(uint64_t rate, uint64_t bytes, int n, uint64_t work, const char *what)
{
    struct lab lab;

    lab_open(&lab, rate);
    double is = rate_of(&lab, bytes, n, work);
    ok(is > 0.9 * (double)rate && is <= 1.001 * (double)rate, "%s", what);
    note("allowed %llu, was %.0f bytes per second", (unsigned long long)rate, is);
    lab_close(&lab);
}

static bool step(void *arg, uint64_t bytes)
{
    struct lab *lab = arg;

    (void)bytes;
    return lab->steps_left-- > 0;
}

static void cancelling(void)
{
    struct lab lab;
    const struct vel_watch watch = {step, &lab};
    struct vel_err err = {0};

    lab_open(&lab, 1000);
    lab.steps_left = 5;
    uint64_t begin = vel_clock_monotonic(&lab.clock.clock);
    is_int(vel_throttle_take(&lab.throttle, 1000000, &watch, &err), VEL_ECANCEL,
           "a wait of minutes can be cancelled");
    uint64_t waited = vel_clock_monotonic(&lab.clock.clock) - begin;
    is_int((long long)(waited / VEL_CLOCK_MS), 500, "the watch is asked every 100 ms");
    is_str(err.text, "cancelled", "and the failure says so");
    begin = vel_clock_monotonic(&lab.clock.clock);
    vel_throttle_take(&lab.throttle, 1000, NULL, NULL);
    waited = vel_clock_monotonic(&lab.clock.clock) - begin;
    ok(waited >= VEL_CLOCK_S / 2 && waited <= VEL_CLOCK_S,
       "what was cancelled is not paid for by others");
    lab_close(&lab);
}

static void times(void)
{
    struct lab lab;

    lab_open(&lab, 1000);
    is_int((long long)(vel_throttle_time(&lab.throttle, 2500) / VEL_CLOCK_MS), 2500,
           "it can be asked how long bytes take");
    vel_throttle_set_rate(&lab.throttle, 1);
    ok(vel_throttle_time(&lab.throttle, UINT64_MAX) >= UINT64_MAX / 2,
       "also where that is for ever");
    vel_throttle_set_rate(&lab.throttle, 0);
    is_int((long long)vel_throttle_time(&lab.throttle, 2500), 0, "or no time");
    lab_close(&lab);
}

static void limits(void)
{
    struct lab lab;

    lab_open(&lab, 0);
    uint64_t begin = vel_clock_monotonic(&lab.clock.clock);
    vel_throttle_take(&lab.throttle, UINT64_MAX, NULL, NULL);
    vel_throttle_take(NULL, UINT64_MAX, NULL, NULL);
    ok(vel_clock_monotonic(&lab.clock.clock) == begin, "0 and none are no limit");
    vel_throttle_set_rate(&lab.throttle, 1000);
    double is = rate_of(&lab, 100, 100, 0);
    ok(is > 900 && is < 1020, "a limit can be set later");
    vel_manual_clock_advance(&lab.clock, 3600 * VEL_CLOCK_S);
    is = rate_of(&lab, 100, 100, 0);
    ok(is > 900 && is < 1020, "an idle hour is not saved up");
    vel_throttle_set_rate(&lab.throttle, 1);
    lab.steps_left = 1;
    const struct vel_watch watch = {step, &lab};
    is_int(vel_throttle_take(&lab.throttle, UINT64_MAX, &watch, NULL), VEL_ECANCEL,
           "more bytes than time has room for are still a wait");
    lab_close(&lab);
}

/* The n-th look of a waiting thread changes the rate. */
struct change {
    struct lab lab;
    int looks;
    uint64_t rate;
};

static bool change(void *arg, uint64_t bytes)
{
    struct change *c = arg;

    (void)bytes;
    if (c->looks-- == 0)
        vel_throttle_set_rate(&c->lab.throttle, c->rate);
    return true;
}

static double waits(uint64_t from, uint64_t to, int looks)
{
    struct change c = {.looks = looks, .rate = to};
    const struct vel_watch watch = {change, &c};
    uint64_t begin;
    double is;

    lab_open(&c.lab, from);
    begin = vel_clock_monotonic(&c.lab.clock.clock);
    vel_throttle_take(&c.lab.throttle, 10000, &watch, NULL);
    is = (double)(vel_clock_monotonic(&c.lab.clock.clock) - begin) / VEL_CLOCK_S;
    lab_close(&c.lab);
    return is;
}

static void changing(void)
{
    double is = waits(1000, 10000, 20); /* 2 s for 2000, then the rest */

    ok(is > 2.7 && is < 2.9, "a rate that is raised holds at once, for who waits");
    is = waits(10000, 1000, 5); /* 0.5 s for 5000, then 5 s */
    ok(is > 5.4 && is < 5.6, "so does one that is lowered");
    is = waits(1000, 0, 20);
    ok(is > 1.9 && is < 2.1, "without a limit nobody waits");
}

static void resting(void)
{
    struct lab lab;
    uint64_t begin;
    struct vel_err err = {0};
    const struct vel_watch watch = {step, &lab};

    lab_open(&lab, 0);
    begin = vel_clock_monotonic(&lab.clock.clock);
    ok(vel_throttle_rest(&lab.throttle, VEL_CLOCK_S, NULL, NULL) == 0 &&
           vel_throttle_rest(NULL, VEL_CLOCK_S, NULL, NULL) == 0 &&
           vel_clock_monotonic(&lab.clock.clock) == begin,
       "without a share nobody rests");
    vel_throttle_set_percent(&lab.throttle, 20);
    vel_throttle_rest(&lab.throttle, VEL_CLOCK_S, NULL, NULL);
    is_int((long long)((vel_clock_monotonic(&lab.clock.clock) - begin) / VEL_CLOCK_MS),
           4000, "of 20 %% a second of writing is paid with four of rest");
    vel_throttle_set_percent(&lab.throttle, 100);
    begin = vel_clock_monotonic(&lab.clock.clock);
    vel_throttle_rest(&lab.throttle, VEL_CLOCK_S, NULL, NULL);
    ok(vel_clock_monotonic(&lab.clock.clock) == begin, "all of it is no limit");
    vel_throttle_set_percent(&lab.throttle, 1);
    lab.steps_left = 3;
    is_int(vel_throttle_rest(&lab.throttle, VEL_CLOCK_S, &watch, &err), VEL_ECANCEL,
           "a rest can be cancelled");
    lab_close(&lab);
}

int main(void)
{
    holds(1000000, 1000, 5000, 0, "small pieces are held to the rate");
    holds(1000000, 1 << 20, 20, 0, "pieces of more than a second, too");
    holds(100000000, 1 << 20, 500, 8 * VEL_CLOCK_MS,
          "what the writing lasts is not lost");
    holds(3, 1, 100, 0, "a few bytes per second");
    holds(UINT64_C(1) << 50, UINT64_C(1) << 40, 10000, 0, "a petabyte per second");
    changing();
    resting();
    cancelling();
    limits();
    times();
    return done_testing();
}
