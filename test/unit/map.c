/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "tap/rng.h"
#include "tap/tap.h"

static void few(void)
{
    struct vel_map *map = vel_map_create();
    int one = 1, two = 2, other = 3;
    char key[] = "one";
    void *old = &other;

    is_int((long long)vel_map_count(map), 0, "a new map is empty");
    ok(!vel_map_get(map, "one") && !vel_map_has(map, "one"), "and has no key");
    is_int(vel_map_set(map, key, &one, &old), 0, "a key is set");
    ok(!old, "which replaces nothing");
    key[0] = 'X';
    vel_map_set(map, "two", &two, NULL);
    vel_map_set(map, "", NULL, NULL);
    ok(vel_map_get(map, "one") == &one, "the key was copied");
    ok(vel_map_has(map, "") && !vel_map_get(map, ""),
       "a value may be NULL, a key empty");
    is_int(vel_map_set(map, "one", &other, &old), 0, "a value is replaced");
    ok(old == &one && vel_map_get(map, "one") == &other, "and handed back");
    is_int((long long)vel_map_count(map), 3, "which adds no key");
    is_str(vel_map_key(map, 0), "one", "and keeps its place");
    ok(vel_map_remove(map, "one") == &other && !vel_map_has(map, "one"),
       "a key is removed");
    ok(!vel_map_remove(map, "one"), "once");
    is_str(vel_map_key(map, 0), "two", "the order of the others stays");
    ok(vel_map_value(map, 0) == &two && vel_map_get(map, "two") == &two,
       "and so do their values");
    vel_map_destroy(map, NULL);
    vel_map_destroy(NULL, free);
}

/* against an array that is searched from one end to the other */
static void many(uint64_t seed)
{
    enum { KEYS = 400, STEPS = 6000 };
    struct vel_map *map = vel_map_create();
    int order[KEYS], value_of[KEYS];
    int n = 0, wrong = 0;
    struct vel_rng rng;
    char key[32];

    vel_rng_init(&rng, seed);
    for (int step = 0; step < STEPS; step++) {
        int k = (int)vel_rng_below(&rng, KEYS), at = 0;
        snprintf(key, sizeof key, "key/%d", k);
        while (at < n && order[at] != k)
            at++;
        wrong += vel_map_has(map, key) != (at < n);
        if (vel_rng_below(&rng, 3) > 0) {
            value_of[k] = step + 1;
            vel_map_set(map, key, (void *)(intptr_t)value_of[k], NULL);
            if (at == n)
                order[n++] = k;
        } else {
            intptr_t got = (intptr_t)vel_map_remove(map, key);
            wrong += got != (at < n ? value_of[k] : 0);
            if (at < n)
                memmove(order + at, order + at + 1, (size_t)(--n - at) * sizeof *order);
        }
    }
    wrong += vel_map_count(map) != (size_t)n;
    for (int i = 0; i < n; i++) {
        snprintf(key, sizeof key, "key/%d", order[i]);
        wrong += strcmp(vel_map_key(map, (size_t)i), key) != 0;
        wrong += (intptr_t)vel_map_get(map, key) != value_of[order[i]];
    }
    is_int(wrong, 0, "%d random steps give what a plain list gives (seed %llu)", STEPS,
           (unsigned long long)seed);
    vel_map_destroy(map, NULL);
}

static int freed;

static void count_free(void *value)
{
    free(value);
    freed++;
}

static void owning(void)
{
    struct vel_map *map = vel_map_create();

    vel_map_set(map, "a", malloc(1), NULL);
    vel_map_set(map, "b", malloc(1), NULL);
    vel_map_destroy(map, count_free);
    is_int(freed, 2, "values are freed with the map when asked for");
}

int main(void)
{
    few();
    many(1);
    many(2);
    owning();
    return done_testing();
}
