/* SPDX-License-Identifier: BSD-3-Clause */
/* service_call - questions that workers have for the leaders of other nodes. They are
 * put into a list, sent by the loop, and answered from there; a worker sleeps
 * meanwhile.
 */
#ifndef VEL_NODE_SERVICE_CALL_H
#define VEL_NODE_SERVICE_CALL_H

#include "node/service_in.h"

extern const struct vel_muster_ops vel_service_muster_ops;

/* Numbers of requests that are ours, and not the brain's. */
#define VEL_SERVICE_CALL (UINT64_C(1) << 62)

/* Blocks a worker until the leader of `node` has answered: a copy of the message in
 * *ret, whose texts and bytes are in *room. Every wait ends: the links see to that.
 * how: jobs that go before this one are done meanwhile; NULL: none is. */
int vel_service_call(struct vel_service *service, const struct vel_work_job *how,
                     const char *node, const struct vel_msg *ask, struct vel_msg *ret,
                     struct vel_buf *room, struct vel_err *err);

/* One of several questions of a worker, under way. */
struct vel_service_call {
    /* the worker's, as long as it is under way */
    const char *node;
    const struct vel_msg *ask;
    struct vel_buf *room; /* of the answer, encoded */
    struct vel_err *err;
    pthread_cond_t *done; /* one of all that the worker has under way has ended */

    uint64_t seq;
    uint64_t link; /* on which it was sent; 0: not sent */
    bool is_sent, is_done, is_woken;
    int rc;
};

void vel_service_call_begin(struct vel_service *service, struct vel_service_call *call);
/* Until one of them has ended; its number. */
size_t vel_service_call_await(struct vel_service *service,
                              struct vel_service_call *const *calls, size_t n);
/* It is under way no more, answered or not. */
void vel_service_call_end(struct vel_service *service, struct vel_service_call *call);

/* By the loop: there may be such a job; send what is new; an answer has come; a link is
 * gone; all are. */
void vel_service_calls_wake(struct vel_service *service);
void vel_service_calls_send(struct vel_service *service);
void vel_service_calls_met(struct vel_service *service,
                           const struct vel_service_link *to);
bool vel_service_calls_answer(struct vel_service *service,
                              const struct vel_msg *answer);
void vel_service_calls_gone(struct vel_service *service,
                            const struct vel_service_link *link,
                            const struct vel_err *why);
/* Nobody waits any more, and nobody will. */
void vel_service_calls_end(struct vel_service *service);

#endif
