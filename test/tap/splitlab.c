/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap/rng.h"
#include "tap/splitlab.h"
#include "topo/rankstr.h"

/* leave with the line where something did not hold, and say which seed that was */
#define HOLDS(cond)                                                                    \
    do {                                                                               \
        if (!(cond)) {                                                                 \
            fprintf(stderr, "# rank %d: %s:%d: %s\n", comm->rank, __FILE__, __LINE__,  \
                    #cond);                                                            \
            return __LINE__;                                                           \
        }                                                                              \
    } while (0)

/* Names that share beginnings, have blanks or bytes above 127, or are as long as can
 * be. */
static char *name_make(uint64_t kind, size_t group)
{
    static const struct {
        const char *before, *behind;
    } forms[] = {{"n", ""}, {"node ", ""}, {"\xc3\xa9\xff", ""}, {"/a/b/", "/c"}};
    char *name = malloc(VEL_RANKSTR_MAX + 1);

    if (kind < 4) {
        snprintf(name, VEL_RANKSTR_MAX, "%s%zu%s", forms[kind].before, group,
                 forms[kind].behind);
    } else if (kind == 4) { /* "x", "xx", ... */
        memset(name, 'x', group + 1);
        name[group + 1] = '\0';
    } else {
        memset(name, 'y', VEL_RANKSTR_MAX);
        snprintf(name + VEL_RANKSTR_MAX - 6, 7, "%06zu", group);
    }
    return name;
}

static size_t group_of(uint64_t kind, size_t rank, size_t n, size_t width,
                       struct vel_rng *rng)
{
    switch (kind) {
    case 0:
        return rank / width;
    case 1:
        return rank % width;
    case 2:
        return vel_rng_below(rng, n) / width;
    case 3:
        return vel_rng_below(rng, 1 + vel_rng_below(rng, n));
    case 4:
        return 0;
    default:
        return n - rank;
    }
}

void splitlab_make(struct splitlab *lab, size_t n, uint64_t seed)
{
    struct vel_rng rng;

    vel_rng_init(&rng, seed);
    *lab = (struct splitlab){.n = n, .groups = calloc(n, sizeof *lab->groups)};
    uint64_t layout = vel_rng_below(&rng, 6);
    uint64_t form = vel_rng_below(&rng, 50) ? vel_rng_below(&rng, 5) : 5;
    size_t width = 1 + vel_rng_below(&rng, 4);
    for (size_t i = 0; i < n; i++)
        lab->groups[i] = name_make(form, group_of(layout, i, n, width, &rng));
    lab->rule = (struct vel_split_rule){.least = 2 + vel_rng_below(&rng, 15),
                                        .hop = 1 + vel_rng_below(&rng, 4),
                                        .need = 1 + vel_rng_below(&rng, 3),
                                        .what = "NODE"};
    if (vel_rng_below(&rng, 2))
        lab->rule.least = 2 + vel_rng_below(&rng, 2); /* so that few make many sets */
}

void splitlab_free(struct splitlab *lab)
{
    for (size_t i = 0; i < lab->n; i++)
        free(lab->groups[i]);
    free(lab->groups);
}

/* Counted one by one. */
static struct vel_rankstr number(const struct splitlab *lab, size_t rank)
{
    struct vel_rankstr r = {.groups = 0};

    for (size_t i = 0; i < lab->n; i++) {
        bool is_lowest = true;
        for (size_t j = 0; j < i; j++)
            is_lowest &= strcmp(lab->groups[i], lab->groups[j]) != 0;
        if (strcmp(lab->groups[i], lab->groups[rank]) == 0) {
            if (is_lowest)
                r.group = r.groups;
            r.rank += i < rank;
            r.ranks++;
        }
        r.groups += is_lowest;
    }
    return r;
}

static int set_check(struct vel_comm *comm, const struct vel_place *place)
{
    struct vel_comm *set = NULL;
    int64_t sum;

    HOLDS(vel_place_comm(comm, place, &set, NULL) == 0);
    HOLDS(set->size == (int)place->ranks && set->rank == (int)place->rank);
    sum = place->set;
    HOLDS(vel_comm_allreduce(set, VEL_COMM_SUM, &sum, 1, NULL) == 0);
    HOLDS(sum == (int64_t)place->set * place->ranks);
    vel_comm_destroy(set);
    return 0;
}

static int seed_compare(struct vel_comm *comm, const struct splitlab *lab,
                        struct vel_place *places, bool with_sets)
{
    struct vel_err err = {0}, want_err = {0};
    struct vel_place untouched = {77, 77, 77, 77}, got = untouched;
    struct vel_rankstr str = {0, 0, 0, 0}, want_str = number(lab, (size_t)comm->rank);
    const char *mine = lab->groups[comm->rank];

    HOLDS(vel_rankstr(comm, mine, &str, NULL) == 0);
    HOLDS(memcmp(&str, &want_str, sizeof str) == 0);
    int want = vel_split_all((const char *const *)lab->groups, lab->n, &lab->rule,
                             places, &want_err);
    HOLDS(vel_split(comm, mine, &lab->rule, &got, &err) == want);
    HOLDS(strcmp(err.text, want_err.text) == 0);
    HOLDS(memcmp(&got, want == 0 ? &places[comm->rank] : &untouched, sizeof got) == 0);
    return want == 0 && with_sets ? set_check(comm, &got) : 0;
}

int splitlab_compare(struct vel_comm *comm, void *arg)
{
    const struct splitlab_seeds *seeds = arg;
    size_t n = (size_t)comm->size;
    struct vel_place *places = calloc(n, sizeof *places);
    int line = 0;

    for (uint64_t seed = seeds->first; line == 0 && seed <= seeds->last; seed++) {
        struct splitlab lab;
        splitlab_make(&lab, n, seed);
        line = seed_compare(comm, &lab, places, seed % 8 == 0);
        if (line != 0)
            fprintf(stderr, "# %zu ranks, SEEDS=%" PRIu64 "\n", n, seed);
        splitlab_free(&lab);
    }
    free(places);
    return line;
}

static bool refuses(struct vel_comm *comm, const char *group,
                    const struct vel_split_rule *rule, const char *word)
{
    struct vel_place untouched = {77, 77, 77, 77}, got = untouched;
    struct vel_err err = {0};

    return vel_split(comm, group, rule, &got, &err) == VEL_EINVAL &&
           strstr(err.text, word) != NULL && memcmp(&got, &untouched, sizeof got) == 0;
}

int splitlab_refusals(struct vel_comm *comm, void *unused)
{
    const struct vel_split_rule rule = {
        .least = 2, .hop = 1, .need = 1, .what = "NODE"};
    struct vel_split_rule other = rule;
    char long_name[VEL_RANKSTR_MAX + 2];
    struct vel_rankstr str;
    struct vel_place place;
    bool is_odd = comm->rank == comm->size - 1;

    (void)unused;
    memset(long_name, 'z', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    HOLDS(refuses(comm, is_odd ? "" : "a", &rule, "its name is empty"));
    HOLDS(refuses(comm, is_odd ? long_name : "a", &rule, "more than 4096 bytes"));
    other.hop = is_odd ? 0 : 1;
    HOLDS(refuses(comm, "a", &other, "HOP_DISTANCE is 0; it can be 1 to"));
    other = rule;
    other.least = is_odd ? 257 : 2;
    HOLDS(refuses(comm, "a", &other, "SET_SIZE is 257"));
    other.least = is_odd ? 4 : 2;
    if (comm->size > 1)
        HOLDS(refuses(comm, "a", &other, "SET_SIZE is 2 on one rank and 4 on another"));
    HOLDS(vel_rankstr(comm, is_odd ? long_name : "a", &str, NULL) == VEL_EINVAL);
    HOLDS(vel_rankstr(comm, "", &str, NULL) == 0 && str.groups == 1);
    HOLDS(vel_split(comm, "a", &rule, &place, NULL) == 0);
    HOLDS(place.sets == (uint32_t)comm->size && place.set == (uint32_t)comm->rank);
    return 0;
}
