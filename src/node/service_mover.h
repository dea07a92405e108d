/* SPDX-License-Identifier: BSD-3-Clause */
/* service_mover - who moves files to the prefix for this node: a service of the
 * machine, or copies. */
#ifndef VEL_NODE_SERVICE_MOVER_H
#define VEL_NODE_SERVICE_MOVER_H

#include "node/service_in.h"

int vel_service_open_movers(struct vel_service *service, struct vel_err *err);
void vel_service_close_movers(struct vel_service *service);
/* Does a dataset go into containers? Those of the API do with CONTAINERS, unless other
 * ranks are to read their files on the prefix. */
bool vel_service_packs(struct vel_service *service, int64_t id);
/* By whom, how fast and as what, what lies below `home`, of these nodes, goes to the
 * prefix: into the job. */
int vel_service_move(struct vel_service *service, const char *home,
                     const struct vel_seal *seal, struct vel_flush_job *job,
                     struct vel_err *err);

#endif
