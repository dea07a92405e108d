/* SPDX-License-Identifier: BSD-3-Clause */
/* deal - the rule of doc/topology.txt as arithmetic: how groups are ordered, the order
 * is cut into blocks, and the ranks of a block are dealt onto sets. Knows no names and
 * sends nothing; what comes out depends on numbers alone, so that all ranks agree.
 */
#ifndef VEL_TOPO_DEAL_H
#define VEL_TOPO_DEAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "topo/split.h"

/* How so many groups are ordered and cut. */
struct vel_deal {
    uint32_t groups;
    uint32_t blocks;
    uint32_t hop;
};

/* The numbers of a rule and what they are called. */
enum { VEL_DEAL_NUMBERS = 3 };
struct vel_deal_number {
    const char *name;
    size_t value;
    size_t most; /* and 1 at least */
};
void vel_deal_numbers(const struct vel_split_rule *rule,
                      struct vel_deal_number ret[VEL_DEAL_NUMBERS]);

/* Are they within their bounds? */
int vel_deal_check(const struct vel_split_rule *rule, struct vel_err *err);

/* Is this the name of a failure group: not empty, not too long? */
int vel_deal_check_group(const struct vel_split_rule *rule, const char *group,
                         struct vel_err *err);

/* groups > 0, and the rule is checked. */
void vel_deal_init(struct vel_deal *deal, uint32_t groups,
                   const struct vel_split_rule *rule);

/* Where group `group` stands in the order. */
uint32_t vel_deal_at(const struct vel_deal *deal, uint32_t group);

/* The first place of a block in the order; that of the block after the last is the
 * number of groups. */
uint32_t vel_deal_first(const struct vel_deal *deal, uint32_t block);

/* The ranks of a block. */
struct vel_deal_ranks {
    uint32_t ranks;
    uint32_t largest; /* of them in its largest group; so many are its sets */
};

/* Do all sets of the block have as many members as are needed? */
bool vel_deal_suffices(struct vel_deal_ranks of_block,
                       const struct vel_split_rule *rule);

/* The sentence for a block that does not. */
int vel_deal_refuse(const struct vel_deal *deal, uint32_t block,
                    struct vel_deal_ranks of_block, const struct vel_split_rule *rule,
                    struct vel_err *err);

/* The place of the nth rank of a block, whose first set has number `set` of `sets`. */
struct vel_place vel_deal_place(struct vel_deal_ranks of_block, uint32_t nth,
                                uint32_t set, uint32_t sets);

#endif
