/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "tap/damagecase.h"

static const char *const killed_words[] = {
    "when it has closed all files", "when its last step is complete",
    "when its last step is protected", "in the middle of its last step"};
static const char *const opener_words[] = {"the program itself", "h5dump",
                                           "a program that writes them",
                                           "h5dump beside another program"};

const char *damage_opener(const struct damage_case *f)
{
    return opener_words[f->opener];
}

int damage_value(int step, int rank)
{
    return 100 * step + rank;
}

void damage_name(const struct damage_case *f, int step, int rank, char ret[40])
{
    if (f->has_one_name)
        snprintf(ret, 40, "st.%d.h5", rank);
    else
        snprintf(ret, 40, "ck.%d.%d.h5", step, rank);
}

static int protected_steps(const struct damage_case *f)
{
    if (f->killed == DAMAGE_PROTECTED)
        return f->steps;
    return f->killed == DAMAGE_MIDDLE ? f->steps - 1 : f->has_past;
}

bool damage_must_be_right(const struct damage_case *f, int step)
{
    return f->plan.n_hit <= (f->nodes > 1 ? f->bears : 0) && step <= protected_steps(f);
}

bool damage_may_be(const struct damage_case *f, int step, int rank, int value)
{
    if (!f->has_one_name)
        return value == damage_value(step, rank);
    return value % 100 == rank && value / 100 >= 1 && value / 100 <= f->steps;
}

void damage_choose(struct damage_case *f, uint64_t seed)
{
    const char *sanitizer = getenv("SANITIZER");
    static const struct {
        const char *scheme;
        int nodes, bears;
    } kinds[] = {{"XOR", 2, 1}, {"XOR", 3, 1},    {"XOR", 4, 1},    {"PARTNER", 3, 1},
                 {"RS", 4, 2},  {"SINGLE", 2, 0}, {"SINGLE", 1, 0}, {"XOR", 2, 1}};
    struct vel_rng *rng = &f->rng;
    size_t kind;

    *f = (struct damage_case){.seed = seed};
    vel_rng_init(rng, seed);
    kind = vel_rng_below(rng, sizeof kinds / sizeof kinds[0]);
    f->scheme = kinds[kind].scheme;
    f->nodes = kinds[kind].nodes;
    f->bears = kinds[kind].bears;
    f->ranks = f->nodes * (vel_rng_below(rng, 4) == 0 && f->nodes <= 3 ? 2 : 1);
    f->steps = 2 + (int)vel_rng_below(rng, 2);
    f->has_one_name = vel_rng_below(rng, 3) == 0;
    f->has_past = vel_rng_below(rng, 3) == 0;
    f->killed = vel_rng_below(rng, 2) ? DAMAGE_PROTECTED
                                      : vel_rng_below(rng, DAMAGE_MIDDLE + 1);
    if (f->has_past && f->killed == DAMAGE_MIDDLE && f->steps == 2)
        f->steps = 3;
    f->opener = vel_rng_below(rng, f->nodes == 1 ? 4 : 3);
    /* h5dump cannot load a plug-in with a sanitizer */
    if (sanitizer && *sanitizer &&
        (f->opener == DAMAGE_BY_STRANGER || f->opener == DAMAGE_BY_BESIDE))
        f->opener = DAMAGE_BY_SAME;
}

void damage_tell(const struct damage_case *f, char ret[2 * DAMAGE_TEXT])
{
    snprintf(ret, DAMAGE_TEXT,
             "seed %d: %d nodes, %d ranks, %s, %d steps of %s%s, killed %s; %.1200s; "
             "then %s",
             (int)f->seed, f->nodes, f->ranks, f->scheme, f->steps,
             f->has_one_name ? "one name" : "their names",
             f->has_past ? ", the first on the prefix" : "", killed_words[f->killed],
             f->plan.what, damage_opener(f));
}
