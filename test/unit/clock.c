/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "tap/manual_clock.h"
#include "tap/tap.h"

static void system_clock(void)
{
    struct vel_clock *clock = vel_clock_system();
    uint64_t last = vel_clock_monotonic(clock), begin;
    bool goes_back = false;

    for (int i = 0; i < 1000; i++) {
        uint64_t now = vel_clock_monotonic(clock);
        goes_back |= now < last;
        last = now;
    }
    ok(!goes_back, "monotonic time does not go back");
    begin = vel_clock_monotonic(clock);
    vel_clock_sleep(clock, 2 * VEL_CLOCK_MS);
    ok(vel_clock_monotonic(clock) - begin >= 2 * VEL_CLOCK_MS,
       "sleeping lasts as long as asked for");
    ok(vel_clock_wall(clock) > INT64_C(1600000000000000000),
       "wall time is after the year 2020");
    ok(vel_clock_deadline(clock, VEL_CLOCK_S) >= begin + VEL_CLOCK_S,
       "a deadline lies ahead");
    ok(vel_clock_deadline(clock, UINT64_MAX) == UINT64_MAX,
       "no limit is the end of time");
}

static void manual_clock(void)
{
    struct vel_manual_clock manual;

    vel_manual_clock_init(&manual, 100, 5000);
    struct vel_clock *clock = &manual.clock;
    is_int((long long)vel_clock_monotonic(clock), 100, "a manual clock stands still");
    vel_manual_clock_advance(&manual, 7);
    is_int((long long)vel_clock_monotonic(clock), 107, "until it is moved");
    is_int(vel_clock_wall(clock), 5007, "both times move");
    vel_clock_sleep(clock, 3600 * VEL_CLOCK_S);
    is_int((long long)vel_clock_monotonic(clock), (long long)(107 + 3600 * VEL_CLOCK_S),
           "sleeping moves it at once");
    vel_manual_clock_set_wall(&manual, 1);
    is_int(vel_clock_wall(clock), 1, "wall time may be set back");
    is_int((long long)vel_clock_deadline(clock, 1),
           (long long)(108 + 3600 * VEL_CLOCK_S), "which deadlines do not notice");
    vel_manual_clock_fini(&manual);
}

int main(void)
{
    system_clock();
    manual_clock();
    return done_testing();
}
