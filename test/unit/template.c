/* SPDX-License-Identifier: BSD-3-Clause */
/* Which number in a name is the rank. */
#include "config.h"

#include <string.h>

#include "brain/template.h"
#include "tap/tap.h"

static void splits(const char *name, int n, const char *template, const char *numbers)
{
    struct vel_buf a, b;

    vel_buf_init(&a);
    vel_buf_init(&b);
    is_int(vel_template_split(name, &a, &b), n, "%s has %d numbers", name, n);
    is_str(vel_buf_text(&a), template, "its template");
    is_str(vel_buf_text(&b), numbers, "and they are");
    vel_buf_fini(&a);
    vel_buf_fini(&b);
}

static void applies(int place, const char *template, const char *step)
{
    struct vel_buf a, b;

    vel_buf_init(&a);
    vel_buf_init(&b);
    vel_template_apply("out/ck.{n}/part-{n}.h5", "30 0007", place, &a, &b);
    is_str(vel_buf_text(&a), template, "number %d is the rank", place);
    is_str(vel_buf_text(&b), step, "the others are the step");
    vel_buf_fini(&a);
    vel_buf_fini(&b);
}

static void guesses(void)
{
    struct vel_guess guess = {0};

    vel_guess_see(&guess, 0, "1 0003");
    is_int(vel_guess_place(&guess), 0, "of one rank nobody knows");
    vel_guess_see(&guess, 0, "2 0003");
    is_int(vel_guess_place(&guess), 0, "also when it writes again");
    vel_guess_see(&guess, 4, "2 0007");
    is_int(vel_guess_place(&guess), 2, "of two it is rank + 3");
    vel_guess_see(&guess, 5, "2 0009");
    is_int(vel_guess_place(&guess), 0, "until one breaks that");

    guess = (struct vel_guess){0};
    vel_guess_see(&guess, 0, "0 0");
    vel_guess_see(&guess, 1, "1 1");
    is_int(vel_guess_place(&guess), 0, "it may be either of two");

    guess = (struct vel_guess){0};
    vel_guess_see(&guess, 0, "99999999999999999999");
    vel_guess_see(&guess, 1, "99999999999999999999");
    is_int(vel_guess_place(&guess), 0, "what does not fit a number is no rank");
}

static void notes(void)
{
    struct vel_guess guess = {0};
    struct vel_buf steps;

    vel_buf_init(&steps);
    vel_guess_note(&guess, "1 0003", 1);
    vel_guess_note(&guess, "1 0004", 1);
    vel_guess_note(&guess, "2 0003", 2);
    vel_guess_steps(&guess, "ck.{n}.{n}", 2, &steps);
    is_str(vel_buf_text(&steps), "1#1\n2#2\n", "steps of files that were noted");
    ok(vel_guess_has_step(vel_buf_text(&steps), "1", 1), "a file is of one of them");
    ok(!vel_guess_has_step(vel_buf_text(&steps), "1", 2),
       "but not when it is made again");
    ok(!vel_guess_has_step(vel_buf_text(&steps), "2", 22), "or another time");
    ok(!vel_guess_has_step(vel_buf_text(&steps), "", 1), "or of another step");
    ok(!vel_guess_has_step("", "1", 1), "of none is none");
    vel_buf_clear(&steps);
    vel_guess_steps(&guess, "st.{n}.{n}", 1, &steps);
    is_str(vel_buf_text(&steps), "0003#1\n0004#1\n0003#2\n",
           "as they are written, without the rank");
    for (int i = 0; i < 5000; i++)
        vel_guess_note(&guess, "123456 7", i);
    vel_buf_clear(&steps);
    vel_guess_steps(&guess, "ck.{n}.{n}", 2, &steps);
    ok(steps.len > 1000 && steps.len <= VEL_GUESS_STEPS &&
           vel_guess_has_step(vel_buf_text(&steps), "123456", 4999) &&
           !vel_guess_has_step(vel_buf_text(&steps), "1", 1),
       "of many the newest are known");
    vel_buf_fini(&steps);
    vel_guess_fini(&guess);
}

int main(void)
{
    splits("out/ck.30/part-0007.h5", 2, "out/ck.{n}/part-{n}.h5", "30 0007");
    splits("ck.HDF5", 0, "ck.HDF5", "");
    splits("a3.h5.12", 2, "a{n}.h5.{n}", "3 12");
    splits("a.h55", 1, "a.h{n}", "55");
    splits("h5", 1, "h{n}", "5");
    splits("5", 1, "{n}", "5");
    splits("out/final", 0, "out/final", "");
    splits("7", 1, "{n}", "7");
    splits("1.2.3.4.5.6.7.8.9.1.2.3.4.5.6.7.8", 0,
           "{n}.{n}.{n}.{n}.{n}.{n}.{n}.{n}.{n}.{n}.{n}.{n}.{n}.{n}.{n}.{n}.{n}",
           "1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8");
    applies(2, "out/ck.{step}/part-{rank}.h5", "30");
    applies(1, "out/ck.{rank}/part-{step}.h5", "0007");
    guesses();
    notes();
    return done_testing();
}
