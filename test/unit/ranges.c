/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <string.h>

#include "base/ranges.h"
#include "tap/rng.h"
#include "tap/tap.h"

enum { NUMBERS = 40, STEPS = 4000 };

static struct vel_err err;

static bool is_text(const struct vel_ranges *ranges, const char *want)
{
    struct vel_buf text;
    bool is;

    vel_buf_init(&text);
    vel_ranges_put(ranges, &text);
    is = strcmp(vel_buf_text(&text), want) == 0;
    if (!is)
        note("'%s'", vel_buf_text(&text));
    vel_buf_fini(&text);
    return is;
}

static void by_hand(void)
{
    struct vel_ranges ranges;

    vel_ranges_init(&ranges);
    ok(is_text(&ranges, ""), "a set is empty");
    for (int64_t number = 3; number >= 0; number--)
        vel_ranges_add(&ranges, number, &err);
    vel_ranges_add(&ranges, 7, &err);
    vel_ranges_add(&ranges, 7, &err);
    ok(is_text(&ranges, "0-3 7"), "numbers form ranges");
    vel_ranges_remove(&ranges, 2, &err);
    vel_ranges_remove(&ranges, 9, &err);
    ok(is_text(&ranges, "0-1 3 7"), "and part again");
    vel_ranges_fini(&ranges);
}

/* Against a list of what is in it. */
static void at_random(void)
{
    bool is_in[NUMBERS] = {0}, is_same = true;
    struct vel_ranges ranges, again;
    struct vel_buf text;
    struct vel_rng rng;

    vel_rng_init(&rng, 1);
    vel_ranges_init(&ranges);
    vel_buf_init(&text);
    for (int i = 0; is_same && i < STEPS; i++) {
        size_t number = vel_rng_below(&rng, NUMBERS);
        bool adds = vel_rng_below(&rng, 2) == 0;
        int rc = adds ? vel_ranges_add(&ranges, (int64_t)number, &err)
                      : vel_ranges_remove(&ranges, (int64_t)number, &err);

        is_in[number] = adds;
        for (size_t k = 0; k < NUMBERS; k++)
            is_same =
                is_same && rc == 0 && vel_ranges_has(&ranges, (int64_t)k) == is_in[k];
        text.len = 0;
        vel_ranges_put(&ranges, &text);
        is_same = is_same &&
                  vel_ranges_parse(vel_buf_text(&text), NUMBERS - 1, &again, &err) == 0;
        is_same = is_same && is_text(&again, vel_buf_text(&text));
        vel_ranges_fini(&again);
    }
    ok(is_same, "a set has what was added and not removed, and its text says so");
    vel_buf_fini(&text);
    vel_ranges_fini(&ranges);
}

static void refused(const char *text)
{
    struct vel_ranges ranges;

    err.text[0] = '\0';
    ok(vel_ranges_parse(text, 100, &ranges, &err) == VEL_ECORRUPT && *err.text,
       "'%s' is none", text);
}

int main(void)
{
    by_hand();
    at_random();
    refused("3-3");
    refused("3-1");
    refused("1 1");
    refused("1 2");
    refused("5 3");
    refused("101");
    refused("0-101");
    refused("01");
    refused("-1");
    refused("1-");
    refused("1 ");
    refused(" 1");
    refused("1,2");
    refused("99999999999999999999999");
    return done_testing();
}
