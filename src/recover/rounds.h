/* SPDX-License-Identifier: BSD-3-Clause */
/* rounds - ranks that wait in one call read each other's caches: a source for pulls
 * over their communicator (doc/engine.txt, 5).
 */
#ifndef VEL_RECOVER_ROUNDS_H
#define VEL_RECOVER_ROUNDS_H

#include "comm/comm.h"
#include "pull/pull.h"
#include "view/view.h"
#include "xfer/throttle.h"

/* For parts of one dataset. Everything is borrowed. */
struct vel_rounds_of {
    struct vel_comm *comm;
    struct vel_fs *fs;
    const struct vel_view *view;
    const int *reader; /* by node of the view: who reads there for others */
    /* Where a part lies here that others want, a new string; NULL: nowhere. */
    char *(*find)(void *arg, int rank);
    void *arg;
    char *const *homes; /* of each store here */
    size_t n_homes;
    struct vel_throttle *throttles; /* of each; NULL: no limits */
    size_t into;                    /* the store into which this rank pulls */
};

/* Collective. `work` pulls from the source as much as it likes, also nothing, while
 * this rank reads for the others; returns when all have done so. The first failure of
 * any is everyone's. */
int vel_rounds_run(const struct vel_rounds_of *of,
                   int (*work)(void *arg, struct vel_pull_source *source,
                               struct vel_err *err),
                   void *arg, struct vel_err *err);

#endif
