/* SPDX-License-Identifier: BSD-3-Clause */
/* commcheck - what every communicator promises, whatever it is made of.
 *
 * Every check is collective and returns 0, or the line of commcheck.c that did not hold
 * on this member. */
#ifndef TEST_TAP_COMMCHECK_H
#define TEST_TAP_COMMCHECK_H

#include "comm/comm.h"

struct commcheck {
    int (*run)(struct vel_comm *comm);
    const char *promise; /* the text of an ok */
};

extern const struct commcheck commchecks[];
extern const int n_commchecks;

/* All of them, and the first line that did not hold. */
int commcheck_all(struct vel_comm *comm, void *unused);

/* One message of `len` bytes from the first member to the last. */
int commcheck_long(struct vel_comm *comm, size_t len);

#endif
