/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tap/rng.h"
#include "base/runs.h"
#include "tap/tap.h"

static struct vel_vec list_of(const int64_t *numbers, size_t n)
{
    struct vel_vec list;

    vel_vec_init(&list, sizeof(int64_t));
    for (size_t i = 0; i < n; i++)
        if (!vel_vec_push(&list, &numbers[i]))
            bail_out("out of memory");
    return list;
}

static bool comes_back(const struct vel_vec *list, const char *text)
{
    struct vel_vec back;
    bool is = vel_runs_parse(text, list->n, 0, INT64_MAX, &back, NULL) == 0 &&
              back.n == list->n &&
              (list->n == 0 ||
               memcmp(back.items, list->items, list->n * sizeof(int64_t)) == 0);

    vel_vec_fini(&back);
    return is;
}

static void writes(const int64_t *numbers, size_t n, const char *want)
{
    struct vel_vec list = list_of(numbers, n);
    struct vel_buf text;

    vel_buf_init(&text);
    vel_runs_put(&list, &text);
    is_str(vel_buf_text(&text), want, "%zu numbers", n);
    ok(comes_back(&list, vel_buf_text(&text)), "'%s' comes back", want);
    vel_buf_fini(&text);
    vel_vec_fini(&list);
}

static void refuses(const char *text, const char *why)
{
    struct vel_vec list = {0};
    struct vel_err err = {0};

    ok(vel_runs_parse(text, 5, 1, 9, &list, &err) == VEL_ECORRUPT && !list.items,
       "'%s': %s", text, why);
    note("%s", err.text);
}

static void any(void)
{
    struct vel_rng rng;
    bool fine = true;

    vel_rng_init(&rng, 7);
    for (int i = 0; fine && i < 2000; i++) {
        int64_t numbers[60];
        size_t n = vel_rng_below(&rng, 60);
        struct vel_vec list;
        struct vel_buf text;

        for (size_t k = 0; k < n; k++)
            numbers[k] = k > 0 && vel_rng_below(&rng, 3)
                             ? numbers[k - 1] + (int64_t)vel_rng_below(&rng, 2)
                             : (int64_t)vel_rng_below(&rng, 12);
        list = list_of(numbers, n);
        vel_buf_init(&text);
        vel_runs_put(&list, &text);
        fine = comes_back(&list, vel_buf_text(&text));
        if (!fine)
            note("%s", vel_buf_text(&text));
        vel_buf_fini(&text);
        vel_vec_fini(&list);
    }
    ok(fine, "whatever is written comes back");
}

int main(void)
{
    writes(NULL, 0, "");
    writes((int64_t[]){7}, 1, "7");
    writes((int64_t[]){0, 1, 2, 3}, 4, "0..3");
    writes((int64_t[]){4, 4, 4}, 3, "4*3");
    writes((int64_t[]){0, 1, 0, 1, 1, 2, 9, 8}, 8, "0..1 0..1 1..2 9 8");
    writes((int64_t[]){3, 3, 4, 5, 5}, 5, "3*2 4..5 5");
    writes((int64_t[]){INT64_MAX, INT64_MAX - 1}, 2,
           "9223372036854775807 9223372036854775806");
    any();
    refuses("0", "below the least");
    refuses("10", "above the most");
    refuses("8..10", "so is the last");
    refuses("1*6", "too many");
    refuses("1 3 5 7 9 2", "in all");
    refuses("1*9223372036854775807", "be it said in few bytes");
    refuses("1..9223372036854775807", "or in a range");
    refuses("1*1", "one is no run");
    refuses("3..3", "nor is a range of one");
    refuses("5..3", "nor downwards");
    refuses("1 ", "a blank at the end");
    refuses(" 1", "or at the beginning");
    refuses("1  2", "or two");
    refuses("01", "a zero in front");
    refuses("-1", "a sign");
    refuses("1x", "letters");
    refuses("99999999999999999999", "a number that is none");
    refuses("1 1", "what repeats stands once");
    refuses("1 2", "what counts up, too");
    refuses("1..2 3", "also behind a run");
    refuses("1*2 1", "or the same again");
    return done_testing();
}
