/* SPDX-License-Identifier: BSD-3-Clause */
/* template - what names without a DATASET line have in common: which of the numbers in
 * a name is the rank of whoever writes it (doc/life.txt, 2).
 *
 * Pure. The number that is rank + constant, over two or more ranks, is the rank; while
 * more than one is, or none, nobody knows.
 */
#ifndef VEL_BRAIN_TEMPLATE_H
#define VEL_BRAIN_TEMPLATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum { VEL_TEMPLATE_NUMBERS = 16, VEL_TEMPLATE_STEP = 63 };

/* Append the name with each number replaced by {n}, and the numbers as they are
 * written, by blanks; but not that of ".h5" and the like. How many there are; 0: none,
 * or more than VEL_TEMPLATE_NUMBERS. */
int vel_template_split(const char *name, struct vel_buf *ret_template,
                       struct vel_buf *ret_numbers);

/* Append the template with number `place` (from 1) as {rank} and the others as {step},
 * and these others, by dots. */
void vel_template_apply(const char *template, const char *numbers, int place,
                        struct vel_buf *ret_template, struct vel_buf *ret_step);

/* What was seen of one template. In the beginning it is zero. */
struct vel_guess {
    int64_t rank;   /* the first one */
    int n;          /* numbers in a name; 0: nothing was seen */
    bool has_two;   /* ranks */
    bool is_looked; /* for what is known of it already */
    bool is_out[VEL_TEMPLATE_NUMBERS];
    int64_t above[VEL_TEMPLATE_NUMBERS]; /* number - rank */
    struct vel_buf notes; /* files that were made while nobody knew, the newest */
};
void vel_guess_fini(struct vel_guess *guess);

void vel_guess_see(struct vel_guess *guess, int64_t rank, const char *numbers);

/* From 1; 0: nobody knows. */
int vel_guess_place(const struct vel_guess *guess);

/* While nobody knows: a rank makes the file with these numbers for the `count`th time.
 * And when it is known: append the steps of all files that were noted, each as a line,
 * as far as there is room. Is that the `count`th file of one of these steps? */
void vel_guess_note(struct vel_guess *guess, const char *numbers, int64_t count);
void vel_guess_steps(const struct vel_guess *guess, const char *template, int place,
                     struct vel_buf *ret);
bool vel_guess_has_step(const char *steps, const char *step, int64_t count);

enum { VEL_GUESS_STEPS = 4095 }; /* bytes of all of them */

#endif
