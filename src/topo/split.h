/* SPDX-License-Identifier: BSD-3-Clause */
/* split - divide ranks into redundancy sets, so that no failure group has two members
 * in one set. doc/topology.txt has the rule and its reasons. */
#ifndef VEL_TOPO_SPLIT_H
#define VEL_TOPO_SPLIT_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "comm/comm.h"

struct vel_split_rule {
    size_t least; /* SET_SIZE: members of a set, where there are so many groups */
    size_t hop;   /* HOP_DISTANCE: neighbours in a set are so many groups apart */
    size_t need;  /* the fewest members with which the scheme works: 1 for SINGLE, 2, or
                     m + 1 */
    const char *what; /* name of the failure group, for the sentence, e.g. "NODE" */
};

struct vel_place {
    uint32_t set, sets;   /* number of the set, of so many */
    uint32_t rank, ranks; /* place in the set, of so many */
};

/* Collective; the rule is the same on all members. `group` is the name of this member's
 * failure group. VEL_EINVAL on all members: a name is empty or longer than
 * VEL_RANKSTR_MAX, the rule makes no sense, or a set would have fewer than `need`
 * members. */
int vel_split(struct vel_comm *comm, const char *group,
              const struct vel_split_rule *rule, struct vel_place *ret_place,
              struct vel_err *err);

/* The same result in one process: groups[i] and ret_places[i] are those of rank i. */
int vel_split_all(const char *const *groups, size_t n,
                  const struct vel_split_rule *rule, struct vel_place *ret_places,
                  struct vel_err *err);

/* Collective. The communicator of the members of this member's set, in the order of
 * their places. */
int vel_place_comm(struct vel_comm *comm, const struct vel_place *place,
                   struct vel_comm **ret_set, struct vel_err *err);

#endif
