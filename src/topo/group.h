/* SPDX-License-Identifier: BSD-3-Clause */
/* group - which ranks are likely to die together.
 *
 * A group name (NODE, SWITCH) divides all ranks into groups: those whose nodes have the
 * same value on their GROUPS lines. NODE and WORLD are always there.
 */
#ifndef VEL_TOPO_GROUP_H
#define VEL_TOPO_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "comm/comm.h"
#include "conf/conf.h"
#include "sys/host.h"

/* One name, and this rank's group under it. */
struct vel_group {
    char *name;
    uint32_t index; /* in the list */
    char *value;    /* which of the groups this rank is in: its node, "0", "psu1" */
    uint32_t id;    /* its number, ordered by lowest rank */
    uint32_t count; /* of so many */
    struct vel_comm *comm; /* the members of this rank's group, by rank */
};

struct vel_groups {
    struct vel_group *items; /* NODE, WORLD, then those of the GROUPS lines */
    size_t n;
};

/* The name of the node that a rank runs on: the host's, or <host>.v<rank * n / size>
 * when VELOC_VIRTUAL_NODES=n pretends that there are so many. Freed by the caller. */
int vel_node_name(const struct vel_conf *conf, const struct vel_host *host, int rank,
                  int size, char **ret_name, struct vel_err *err);

/* Collective over world; the result is in the same order on all ranks, and so is a
 * failure. Nodes are looked up in the GROUPS lines by name, a virtual one that has no
 * line by the name of its host. VEL_ECONFIG: a node has no line, though there are
 * GROUPS lines, or lacks a group that others have; the sentence names all such nodes, a
 * bounded number of them. */
int vel_groups_create(struct vel_comm *world, const struct vel_conf *conf,
                      const char *node, struct vel_groups **ret_groups,
                      struct vel_err *err);

/* The same for one process, which hears of no other: a node that the GROUPS lines leave
 * out is in groups of its own. What that costs a dataset is told when its sets are made
 * (topo/seats.h). */
int vel_groups_alone(struct vel_comm *self, const struct vel_conf *conf,
                     const char *node, struct vel_groups **ret_groups,
                     struct vel_err *err);

/* Collective, as vel_comm_destroy() may be. NULL is nothing. */
void vel_groups_destroy(struct vel_groups *groups);

/* NULL when there is none of that name. */
const struct vel_group *vel_groups_find(const struct vel_groups *groups,
                                        const char *name);

/* The name of the node of this rank: the value of NODE. */
const char *vel_groups_node(const struct vel_groups *groups);

#endif
