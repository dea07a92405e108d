/* SPDX-License-Identifier: BSD-3-Clause */
/* reddesc_ring - the set of a descriptor brought together. Inside topo. */
#ifndef VEL_TOPO_REDDESC_RING_H
#define VEL_TOPO_REDDESC_RING_H

#include "base/err.h"
#include "comm/comm.h"
#include "topo/reddesc.h"

/* Collective over world. From desc->place: comm, lhs and rhs; `node` is this
 * rank's. VEL_ECORRUPT on all when the places do not make up whole sets; desc is as
 * before then. */
int vel_reddesc_connect(struct vel_comm *world, const char *node,
                        struct vel_reddesc *desc, struct vel_err *err);

#endif
