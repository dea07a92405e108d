/* SPDX-License-Identifier: BSD-3-Clause */
/* service_give - what other nodes want to have read here is read by threads that do
 * nothing else: the loop never waits for a disk. It sends the answers.
 */
#ifndef VEL_NODE_SERVICE_GIVE_H
#define VEL_NODE_SERVICE_GIVE_H

#include "brain/messages.h"

struct vel_service;
struct vel_givers;

int vel_givers_create(struct vel_service *service, struct vel_givers **ret,
                      struct vel_err *err);
/* Whoever reads has ended when it returns; what was wanted is not answered. NULL is
 * nothing. */
void vel_givers_destroy(struct vel_givers *givers);

/* The loop: a question came on this connection; answers are there. */
void vel_givers_want(struct vel_givers *givers, uint64_t link,
                     const struct vel_msg *want);
void vel_givers_send(struct vel_givers *givers);

#endif
