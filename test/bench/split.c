/* SPDX-License-Identifier: BSD-3-Clause */
/* How long does splitting 100000 ranks into redundancy sets take in one process,
 * measured against sorting the names of their failure groups once? The seconds of the
 * first split stand with the parameters; wanted is less than one. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap/rng.h"
#include "bench/bench.h"
#include "topo/split.h"

enum { RANKS = 100000, NAME = 24 };

struct work {
    char (*names)[NAME];
    const char **groups;
    const char **sorted;
    struct vel_place *places;
};

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int unsort(void *arg)
{
    struct work *w = arg;

    memcpy(w->sorted, w->groups, RANKS * sizeof *w->sorted);
    return 0;
}

static int sort(void *arg)
{
    struct work *w = arg;

    qsort(w->sorted, RANKS, sizeof *w->sorted, by_text);
    return 0;
}

static int split(void *arg)
{
    struct work *w = arg;
    const struct vel_split_rule rule = {
        .least = 8, .hop = 2, .need = 2, .what = "NODE"};

    return vel_split_all(w->groups, RANKS, &rule, w->places, NULL);
}

/* Ranks on as many nodes, in turn or by chance: "node-0000017.rack-12". */
static int compare(struct work *w, size_t nodes, const char *how, struct vel_rng *rng)
{
    char params[80];
    uint64_t bytes = 0;

    for (size_t i = 0; i < RANKS; i++) {
        size_t node = rng ? vel_rng_below(rng, nodes) : i / (RANKS / nodes);
        bytes += (uint64_t)snprintf(w->names[i], NAME, "node-%07zu.rack-%zu", node,
                                    node / 64 % 1000);
        w->groups[i] = w->names[i];
    }
    double begin = bench_now();
    if (split(w) != 0)
        bench_die("splitting failed");
    snprintf(params, sizeof params, "%d ranks on %zu nodes %s, %.3f s", RANKS, nodes,
             how, bench_now() - begin);
    const struct bench bench = {
        "split ranks",          params, bytes, {"sort names", sort, unsort},
        {"split", split, NULL}, 0};
    return bench_run(&bench, w);
}

int main(void)
{
    struct work w = {.names = calloc(RANKS, sizeof *w.names),
                     .groups = calloc(RANKS, sizeof *w.groups),
                     .sorted = calloc(RANKS, sizeof *w.sorted),
                     .places = calloc(RANKS, sizeof *w.places)};
    struct vel_rng rng;
    int missed = 0;

    if (!w.names || !w.groups || !w.sorted || !w.places)
        bench_die("out of memory");
    vel_rng_init(&rng, 1);
    missed |= compare(&w, 1000, "in turn", NULL);
    missed |= compare(&w, 1000, "by chance", &rng);
    missed |= compare(&w, RANKS, "in turn", NULL);
    free(w.places);
    free(w.sorted);
    free(w.groups);
    free(w.names);
    return missed;
}
