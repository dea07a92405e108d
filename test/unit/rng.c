/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <string.h>

#include "tap/rng.h"
#include "tap/tap.h"

static void known_values(void)
{
    /* the published first values of splitmix64 for this seed */
    static const uint64_t want[] = {
        UINT64_C(6457827717110365317), UINT64_C(3203168211198807973),
        UINT64_C(9817491932198370423), UINT64_C(4593380528125082431),
        UINT64_C(16408922859458223821)};
    struct vel_rng rng;
    bool is_same = true;

    vel_rng_init(&rng, 1234567);
    for (int i = 0; i < 5; i++)
        is_same &= vel_rng_next(&rng) == want[i];
    ok(is_same, "a seed gives the same numbers everywhere");
}

static void bounds(void)
{
    struct vel_rng rng;
    int seen[6] = {0}, outside = 0;

    vel_rng_init(&rng, 1);
    for (int i = 0; i < 6000; i++) {
        uint64_t value = vel_rng_below(&rng, 6);
        outside += value >= 6;
        if (value < 6)
            seen[value]++;
    }
    is_int(outside, 0, "numbers stay below their bound");
    bool is_even = true;
    for (int i = 0; i < 6; i++)
        is_even &= seen[i] > 800 && seen[i] < 1200;
    ok(is_even, "evenly");
    ok(vel_rng_below(&rng, 1) == 0, "below one there is only zero");
    outside = 0;
    for (int i = 0; i < 1000; i++) /* half of all numbers must be rejected */
        outside += vel_rng_below(&rng, (UINT64_C(1) << 63) + 1) > UINT64_C(1) << 63;
    is_int(outside, 0, "a bound may be huge");
}

static void filling(void)
{
    struct vel_rng a, b;
    unsigned char left[27], right[27];

    memset(left, 0, sizeof left);
    memset(right, 0, sizeof right);
    vel_rng_init(&a, 5);
    vel_rng_init(&b, 5);
    vel_rng_fill(&a, left, 26);
    vel_rng_fill(&b, right, 26);
    ok(memcmp(left, right, 27) == 0 && left[26] == 0,
       "bytes are filled, and no others");
    vel_rng_fill(&b, right, 26);
    ok(memcmp(left, right, 26) != 0, "and differ the next time");
}

int main(void)
{
    known_values();
    bounds();
    filling();
    return done_testing();
}
