/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks - some of the ranks, in words for people. */
#ifndef VEL_RECOVER_RANKS_H
#define VEL_RECOVER_RANKS_H

#include <stdbool.h>

#include "base/buf.h"
#include "comm/comm.h"

/* Those whose byte is not 0, appended to *ret: "rank 3", "ranks 2-5, 9", of many the
 * first ones only and "..."; nothing when there is none. */
void vel_ranks_print(const struct vel_buf *flags, struct vel_buf *ret);

/* Collective. The same of those who say so, on every rank. */
int vel_ranks_tell(struct vel_comm *comm, bool is_among, struct vel_buf *ret,
                   struct vel_err *err);

#endif
