/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>

#include "topo/ask_first.h"
#include "topo/deal.h"
#include "topo/rankstr.h"

/* --- in one process --- */

struct group {
    uint32_t ranks;
    uint32_t nth;   /* of its first rank in the block */
    uint32_t block; /* in the order */
};

struct block {
    struct vel_deal_ranks of;
    uint32_t set; /* its first one */
};

struct work {
    struct vel_deal deal;
    struct vel_rankstr *found; /* the group of each rank */
    struct group *groups;
    uint32_t *order; /* which group stands where */
    struct block *blocks;
    uint32_t sets;
};

static int groups_number(struct work *w, const char *const *names, size_t n,
                         const struct vel_split_rule *rule, struct vel_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++)
        if ((rc = vel_deal_check_group(rule, names[i], err)) < 0)
            return vel_wrap(err, rc, "rank %zu", i);
    rc = vel_rankstr_all(names, n, w->found, err);
    for (size_t i = 0; rc == 0 && i < n; i++)
        w->groups[w->found[i].group].ranks = w->found[i].ranks;
    return rc;
}

static void blocks_fill(struct work *w)
{
    const struct vel_deal *deal = &w->deal;

    for (uint32_t g = 0; g < deal->groups; g++)
        w->order[vel_deal_at(deal, g)] = g;
    for (uint32_t b = 0; b < deal->blocks; b++) {
        struct block *block = &w->blocks[b];
        for (uint32_t at = vel_deal_first(deal, b); at < vel_deal_first(deal, b + 1);
             at++) {
            struct group *group = &w->groups[w->order[at]];
            group->block = b;
            group->nth = block->of.ranks;
            block->of.ranks += group->ranks;
            if (group->ranks > block->of.largest)
                block->of.largest = group->ranks;
        }
        block->set = w->sets;
        w->sets += block->of.largest;
    }
}

static int work_init(struct work *w, size_t n, struct vel_err *err)
{
    w->found = calloc(n, sizeof *w->found);
    w->groups = calloc(n, sizeof *w->groups);
    w->order = calloc(n, sizeof *w->order);
    w->blocks = calloc(n, sizeof *w->blocks);
    if (!w->found || !w->groups || !w->order || !w->blocks)
        return vel_out_of_memory(err, "splitting ranks into sets");
    return 0;
}

static void work_fini(struct work *w)
{
    free(w->blocks);
    free(w->order);
    free(w->groups);
    free(w->found);
}

static int work_run(struct work *w, const char *const *names, size_t n,
                    const struct vel_split_rule *rule, struct vel_place *ret_places,
                    struct vel_err *err)
{
    int rc = groups_number(w, names, n, rule, err);

    if (rc < 0)
        return rc;
    vel_deal_init(&w->deal, w->found[0].groups, rule);
    blocks_fill(w);
    for (uint32_t b = 0; b < w->deal.blocks; b++)
        if (!vel_deal_suffices(w->blocks[b].of, rule))
            return vel_deal_refuse(&w->deal, b, w->blocks[b].of, rule, err);
    for (size_t i = 0; i < n; i++) {
        const struct group *group = &w->groups[w->found[i].group];
        const struct block *block = &w->blocks[group->block];
        ret_places[i] = vel_deal_place(block->of, group->nth + w->found[i].rank,
                                       block->set, w->sets);
    }
    return 0;
}

int vel_split_all(const char *const *groups, size_t n,
                  const struct vel_split_rule *rule, struct vel_place *ret_places,
                  struct vel_err *err)
{
    struct work w = {.sets = 0};
    int rc = vel_deal_check(rule, err);

    if (rc < 0 || n == 0)
        return rc;
    if (n > INT32_MAX)
        return vel_fail(err, VEL_EINVAL, "%zu ranks are too many to be split", n);
    rc = work_init(&w, n, err);
    if (rc == 0)
        rc = work_run(&w, groups, n, rule, ret_places, err);
    work_fini(&w);
    return rc;
}

/* --- among ranks --- */

/* Ranks with other rules would be members of sets that nobody else knows. */
static int rules_compare(struct vel_comm *comm, const struct vel_split_rule *rule,
                         struct vel_err *err)
{
    enum { N = VEL_DEAL_NUMBERS };
    struct vel_deal_number numbers[N];
    int64_t both[2 * N]; /* the greatest, and the least with its sign changed */

    vel_deal_numbers(rule, numbers);
    for (size_t i = 0; i < N; i++) {
        both[i] = (int64_t)numbers[i].value;
        both[N + i] = -both[i];
    }
    int rc = vel_comm_allreduce(comm, VEL_COMM_MAX, both, 2 * N, err);
    for (size_t i = 0; rc == 0 && i < N; i++)
        if (both[i] != -both[N + i])
            rc = vel_fail(err, VEL_EINVAL,
                          "%s is %lld on one rank and %lld on another; it must be the "
                          "same on all",
                          numbers[i].name, (long long)-both[N + i], (long long)both[i]);
    return rc;
}

static int answer(void *arg, const char *const *groups, size_t n, void *ret_places,
                  struct vel_err *err)
{
    return vel_split_all(groups, n, arg, ret_places, err);
}

int vel_split(struct vel_comm *comm, const char *group,
              const struct vel_split_rule *rule, struct vel_place *ret_place,
              struct vel_err *err)
{
    struct vel_split_rule same = *rule;
    int rc = vel_deal_check(rule, err);

    if (rc == 0)
        rc = vel_deal_check_group(rule, group, err);
    rc = vel_comm_agree(comm, rc, err);
    if (rc == 0)
        rc = rules_compare(comm, rule, err);
    return rc < 0 ? rc
                  : vel_ask_first(comm, group, answer, &same, ret_place,
                                  sizeof *ret_place, err);
}

int vel_place_comm(struct vel_comm *comm, const struct vel_place *place,
                   struct vel_comm **ret_set, struct vel_err *err)
{
    return vel_comm_split(comm, (int)place->set, (int)place->rank, ret_set, err);
}
