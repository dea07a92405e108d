/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <string.h>

#include "base/scheme.h"
#include "topo/deal.h"
#include "topo/rankstr.h"

void vel_deal_numbers(const struct vel_split_rule *rule,
                      struct vel_deal_number ret[VEL_DEAL_NUMBERS])
{
    ret[0] = (struct vel_deal_number){"SET_SIZE", rule->least, VEL_SET_MAX};
    ret[1] = (struct vel_deal_number){"HOP_DISTANCE", rule->hop, INT32_MAX};
    ret[2] = (struct vel_deal_number){"the number of members that the scheme needs",
                                      rule->need, VEL_SET_MAX};
}

int vel_deal_check(const struct vel_split_rule *rule, struct vel_err *err)
{
    struct vel_deal_number numbers[VEL_DEAL_NUMBERS];

    vel_deal_numbers(rule, numbers);
    for (size_t i = 0; i < VEL_DEAL_NUMBERS; i++)
        if (numbers[i].value < 1 || numbers[i].value > numbers[i].most)
            return vel_fail(err, VEL_EINVAL, "%s is %zu; it can be 1 to %zu",
                            numbers[i].name, numbers[i].value, numbers[i].most);
    return 0;
}

int vel_deal_check_group(const struct vel_split_rule *rule, const char *group,
                         struct vel_err *err)
{
    if (group == NULL || group[0] == '\0')
        return vel_fail(err, VEL_EINVAL, "failure group %s: its name is empty",
                        rule->what);
    if (strnlen(group, VEL_RANKSTR_MAX + 1) > VEL_RANKSTR_MAX)
        return vel_fail(
            err, VEL_EINVAL,
            "failure group %s: its name \"%.40s...\" has more than %d bytes; "
            "give it a shorter one",
            rule->what, group, VEL_RANKSTR_MAX);
    return 0;
}

static uint32_t least_of(uint32_t a, size_t b)
{
    return b < a ? (uint32_t)b : a;
}

void vel_deal_init(struct vel_deal *deal, uint32_t groups,
                   const struct vel_split_rule *rule)
{
    uint32_t blocks = (uint32_t)(groups / rule->least);
    uint32_t forced = groups / VEL_SET_MAX + (groups % VEL_SET_MAX != 0);

    if (blocks < forced)
        blocks = forced;
    if (blocks < 1)
        blocks = 1;
    /* a longer hop than there are blocks would bring neighbours together again; in the
     * one block of few groups, than half of them */
    uint32_t most = blocks > 1 ? blocks : groups / 2;
    *deal = (struct vel_deal){.groups = groups,
                              .blocks = blocks,
                              .hop = most > 1 ? least_of(most, rule->hop) : 1};
}

/* The first so many of `parts` even parts of `whole`; the larger parts are in front. */
static uint32_t even_first(uint32_t whole, uint32_t parts, uint32_t part)
{
    return part * (whole / parts) + least_of(part, whole % parts);
}

/* Ordered by (group % hop, group / hop): those with the same remainder are a part of
 * the order. */
uint32_t vel_deal_at(const struct vel_deal *deal, uint32_t group)
{
    return even_first(deal->groups, deal->hop, group % deal->hop) + group / deal->hop;
}

uint32_t vel_deal_first(const struct vel_deal *deal, uint32_t block)
{
    return even_first(deal->groups, deal->blocks, block);
}

bool vel_deal_suffices(struct vel_deal_ranks of_block,
                       const struct vel_split_rule *rule)
{
    return of_block.ranks / of_block.largest >= rule->need;
}

int vel_deal_refuse(const struct vel_deal *deal, uint32_t block,
                    struct vel_deal_ranks of_block, const struct vel_split_rule *rule,
                    struct vel_err *err)
{
    uint32_t groups = vel_deal_first(deal, block + 1) - vel_deal_first(deal, block);

    return vel_fail(
        err, VEL_EINVAL,
        "redundancy sets over %u of %u failure groups (GROUP=%s), %u ranks with %u in "
        "the largest group, would be of size %u, and the scheme needs %zu: use more "
        "nodes, another GROUP, fewer SET_FAILURES or REPLICAS, or SINGLE",
        groups, deal->groups, rule->what, of_block.ranks, of_block.largest,
        of_block.ranks / of_block.largest, rule->need);
}

struct vel_place vel_deal_place(struct vel_deal_ranks of_block, uint32_t nth,
                                uint32_t set, uint32_t sets)
{
    uint32_t here = nth % of_block.largest;
    uint32_t over = of_block.ranks % of_block.largest;

    return (struct vel_place){.set = set + here,
                              .sets = sets,
                              .rank = nth / of_block.largest,
                              .ranks = of_block.ranks / of_block.largest +
                                       (here < over ? 1 : 0)};
}
