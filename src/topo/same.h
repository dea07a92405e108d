/* SPDX-License-Identifier: BSD-3-Clause */
/* same - ranks that were told different things are found out before they split. Inside
 * topo. */
#ifndef VEL_TOPO_SAME_H
#define VEL_TOPO_SAME_H

#include "base/buf.h"
#include "base/err.h"
#include "comm/comm.h"

/* Collective, and an agreement: rc < 0 of one rank is everyone's failure. Else
 * VEL_ECONFIG on all when the text of any rank is not that of rank 0; `what` are the
 * things that the text is about. */
int vel_topo_same(struct vel_comm *world, const char *what, const struct vel_buf *text,
                  int rc, struct vel_err *err);

#endif
