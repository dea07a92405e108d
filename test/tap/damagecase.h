/* SPDX-License-Identifier: BSD-3-Clause */
/* damagecase - a program that is killed, whose cached files are damaged, and who opens
 * them then: what a seed stands for, and what is to be then. */
#ifndef TEST_TAP_DAMAGECASE_H
#define TEST_TAP_DAMAGECASE_H

#include "tap/damagelab.h"

enum damage_killed { DAMAGE_CLOSED, DAMAGE_COMPLETE, DAMAGE_PROTECTED, DAMAGE_MIDDLE };
enum damage_opener {
    DAMAGE_BY_SAME,
    DAMAGE_BY_STRANGER,
    DAMAGE_BY_WRITER,
    DAMAGE_BY_BESIDE
};
/* What a seed stands for. */
struct damage_case {
    uint64_t seed;
    struct vel_rng rng;
    int nodes, ranks, steps;
    const char *scheme;
    int bears; /* nodes */
    bool has_one_name, has_past;
    enum damage_killed killed;
    enum damage_opener opener;
    struct damage_plan plan;
};

void damage_choose(struct damage_case *f, uint64_t seed);
void damage_tell(const struct damage_case *f, char ret[2 * DAMAGE_TEXT]);
const char *damage_opener(const struct damage_case *f);

/* What all cells of a rank's file of a step are, and what that file is called. */
int damage_value(int step, int rank);
void damage_name(const struct damage_case *f, int step, int rank, char ret[40]);

/* What the settings promise to bear: everything that was protected is as it was. */
bool damage_must_be_right(const struct damage_case *f, int step);
/* May the file of a step have this value? */
bool damage_may_be(const struct damage_case *f, int step, int rank, int value);

#endif
