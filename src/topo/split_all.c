/* SPDX-License-Identifier: BSD-3-Clause */
/* The split in one process: the oracle of the distributed one, and what simulations and
 * tools use. */
#include "config.h"

#include <stdlib.h>

#include "base/map.h"
#include "topo/deal.h"

struct group {
    uint32_t ranks;
    uint32_t nth;   /* of its first rank in the block */
    uint32_t block; /* in the order */
};

struct block {
    struct vel_deal_ranks of;
    uint32_t set; /* its first one */
};

/* A group is known by its entry in the map, and entries are in the order of the lowest
 * rank. */
struct work {
    struct vel_deal deal;
    struct vel_map *numbers;
    uint32_t *group; /* of each rank */
    uint32_t *place; /* of each rank in its group */
    struct group *groups;
    uint32_t *order; /* which group stands where */
    struct block *blocks;
    uint32_t sets;
};

static int groups_number(struct work *w, const char *const *names, size_t n,
                         const struct vel_split_rule *rule, struct vel_err *err)
{
    for (size_t i = 0; i < n; i++) {
        int rc = vel_deal_check_group(rule, names[i], err);
        if (rc < 0)
            return vel_wrap(err, rc, "rank %zu", i);
        struct group *group = vel_map_get(w->numbers, names[i]);
        if (group == NULL) {
            group = &w->groups[vel_map_count(w->numbers)];
            if (vel_map_set(w->numbers, names[i], group, NULL) < 0)
                return vel_out_of_memory(err, "the names of failure groups");
        }
        w->group[i] = (uint32_t)(group - w->groups);
        w->place[i] = group->ranks++;
    }
    return 0;
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
    w->numbers = vel_map_create();
    w->group = calloc(n, sizeof *w->group);
    w->place = calloc(n, sizeof *w->place);
    w->groups = calloc(n, sizeof *w->groups);
    w->order = calloc(n, sizeof *w->order);
    w->blocks = calloc(n, sizeof *w->blocks);
    if (!w->numbers || !w->group || !w->place || !w->groups || !w->order || !w->blocks)
        return vel_out_of_memory(err, "splitting ranks into sets");
    return 0;
}

static void work_fini(struct work *w)
{
    free(w->blocks);
    free(w->order);
    free(w->groups);
    free(w->place);
    free(w->group);
    vel_map_destroy(w->numbers, NULL);
}

static int work_run(struct work *w, const char *const *names, size_t n,
                    const struct vel_split_rule *rule, struct vel_place *ret_places,
                    struct vel_err *err)
{
    int rc = groups_number(w, names, n, rule, err);

    if (rc < 0)
        return rc;
    vel_deal_init(&w->deal, (uint32_t)vel_map_count(w->numbers), rule);
    blocks_fill(w);
    for (uint32_t b = 0; b < w->deal.blocks; b++)
        if (!vel_deal_suffices(w->blocks[b].of, rule))
            return vel_deal_refuse(&w->deal, b, w->blocks[b].of, rule, err);
    for (size_t i = 0; i < n; i++) {
        const struct group *group = &w->groups[w->group[i]];
        const struct block *block = &w->blocks[group->block];
        ret_places[i] =
            vel_deal_place(block->of, group->nth + w->place[i], block->set, w->sets);
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
