/* SPDX-License-Identifier: BSD-3-Clause */
/* crowd - many members of a communicator in one process, a thread each: for hundreds of
 * ranks, for counting what they send, and for failing at a chosen message. Its parts
 * (split) break with it, and it with them. */
#ifndef TEST_TAP_CROWD_H
#define TEST_TAP_CROWD_H

#include "comm/comm.h"

struct crowd_fault {
    int rank;
    unsigned nth; /* its nth send, from 1, finds no memory */
};

/* Run `member` on n ranks; returns how many returned non-zero. *ret_sent, unless NULL,
 * is the greatest number of messages that a rank sent; fault may be NULL. `member` must
 * not use ok(). When all that are left wait for each other, all fail. */
int crowd_run(int n, const struct crowd_fault *fault,
              int (*member)(struct vel_comm *comm, void *arg), void *arg,
              unsigned *ret_sent);

/* Messages that this member has sent so far, over all communicators of the crowd; and
 * the bytes of them. */
unsigned crowd_sent(const struct vel_comm *comm);
uint64_t crowd_sent_bytes(const struct vel_comm *comm);

#endif
