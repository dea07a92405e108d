/* SPDX-License-Identifier: BSD-3-Clause */
/* service_mover - who moves files to the prefix for this node: a service of the
 * machine, or copies; and how fast the stores here may be read and written. */
#ifndef VEL_NODE_SERVICE_MOVER_H
#define VEL_NODE_SERVICE_MOVER_H

#include "node/service_in.h"
#include "xfer/paced.h"

int vel_service_open_movers(struct vel_service *service, struct vel_err *err);
void vel_service_close_movers(struct vel_service *service);

/* These nodes, this one among them, may be at their stores at once: each has its part
 * of their BANDWIDTH from now on. Any thread. */
void vel_service_share_stores(struct vel_service *service, const char *const *nodes,
                              size_t n);
int vel_service_share_of_seal(struct vel_service *service, const struct vel_seal *seal,
                              struct vel_err *err);
/* The files of this node for one job, or who gives: as fast as BANDWIDTH lets all of
 * them together. To be ended by vel_paced_fini(); the watch may be NULL. */
void vel_service_pace(struct vel_service *service, const struct vel_watch *watch,
                      struct vel_paced *ret);
/* How long it takes at least to move so many bytes in the store of `home`. */
uint64_t vel_service_pace_ms(const struct vel_service *service, const char *home,
                             uint64_t bytes);

/* Does a dataset go into containers? Those of the API do with CONTAINERS, unless other
 * ranks are to read their files on the prefix. */
bool vel_service_packs(const struct vel_service *service, const struct vel_seal *seal);
/* By whom, how fast and as what, what lies below `home`, of these nodes, goes to the
 * prefix: into the job. */
int vel_service_move(struct vel_service *service, const char *home,
                     const struct vel_seal *seal, struct vel_flush_job *job,
                     struct vel_err *err);

#endif
