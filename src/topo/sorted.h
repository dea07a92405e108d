/* SPDX-License-Identifier: BSD-3-Clause */
/* sorted - the texts of all ranks in sorted order, one at each rank.
 *
 * Equal texts lie side by side, ordered by who gave them. The rank at which a text lies
 * (its position) knows all about it, though as a rule it gave another one; what becomes
 * of a group is worked out at the first position of its texts, its head.
 */
#ifndef VEL_TOPO_SORTED_H
#define VEL_TOPO_SORTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "comm/comm.h"

/* What a position knows. */
struct vel_sorted {
    int owner;    /* the rank that gave the text which lies here */
    bool is_head; /* nothing equal lies before */
    uint32_t group,
        groups;            /* the number of the text, by the lowest rank that gave it */
    uint32_t place, ranks; /* of the owner among those that gave it */
};

/* Collective. `text` is at most VEL_RANKSTR_MAX bytes long on all ranks. */
int vel_sorted(struct vel_comm *comm, const char *text, struct vel_sorted *ret,
               struct vel_err *err);

/* Collective. The head's record, at most VEL_SPREAD_SCAN - 4 bytes, to all positions of
 * its group. */
int vel_sorted_share(struct vel_comm *comm, const struct vel_sorted *sorted,
                     void *record, size_t len, struct vel_err *err);

#endif
