/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks - some of the ranks, in words for people. */
#ifndef VEL_RECOVER_RANKS_H
#define VEL_RECOVER_RANKS_H

#include <stdbool.h>

#include "base/buf.h"
#include "comm/comm.h"

/* Collective. Those who say so, appended to *ret on every rank: "rank 3", "ranks 2-5,
 * 9", of many the first ones only and "..."; nothing when there is none. */
int vel_ranks_tell(struct vel_comm *comm, bool is_among, struct vel_buf *ret,
                   struct vel_err *err);

#endif
