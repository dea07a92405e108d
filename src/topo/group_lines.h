/* SPDX-License-Identifier: BSD-3-Clause */
/* group_lines - what the GROUPS lines of a job's nodes say together. Inside topo. */
#ifndef VEL_TOPO_GROUP_LINES_H
#define VEL_TOPO_GROUP_LINES_H

#include "base/err.h"
#include "base/vec.h"
#include "comm/comm.h"
#include "conf/conf.h"
#include "topo/group.h"

/* Collective over world; node is this rank's group under NODE. The group names of all
 * nodes in the same order on all ranks, each with this node's value: items struct
 * vel_group_pair. None at all without GROUPS lines. */
int vel_group_lines(struct vel_comm *world, const struct vel_conf *conf,
                    const struct vel_group *node, struct vel_vec *ret_pairs,
                    struct vel_err *err);
/* The same for one process, which hears of no other: where its own node's line does not
 * say which group it is in, it is in one of its own. */
int vel_group_lines_alone(const struct vel_conf *conf, const char *node,
                          struct vel_vec *ret_pairs, struct vel_err *err);
/* The group that a node is in under a name, by these settings alone: NODE, WORLD, or
 * one of its GROUPS line; NULL: they do not say. */
const char *vel_group_value(const struct vel_conf *conf, const char *node,
                            const char *name);
void vel_group_lines_fini(struct vel_vec *pairs);

#endif
