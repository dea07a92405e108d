/* SPDX-License-Identifier: BSD-3-Clause */
/* promise - what a node still has to do for its parts of a dataset: notes `owes` in the
 * ledger of the cache where they are, on the disk before anybody is told
 * (doc/facts.txt, 4). What is promised is done by others, who say elsewhere how far
 * they are.
 *
 * `home` is the dataset's directory, CACHE/USER/ID/index.I/dataset.D, of the cache that
 * `ledger` is of.
 */
#ifndef VEL_JOBS_PROMISE_H
#define VEL_JOBS_PROMISE_H

#include "base/ranges.h"
#include "jobs/batches.h"

/* what is owed, bits: as in the message `owe` */
enum {
    VEL_PROMISE_ENCODE = 1,
    VEL_PROMISE_FLUSH = 2,
};

struct vel_promise {
    int64_t id;                      /* of the dataset */
    char *home;                      /* where its parts are */
    char *node;                      /* who owes */
    char *launch;                    /* to whom it was promised */
    struct vel_ranges encode, flush; /* of which ranks the parts are */
    struct vel_err last; /* why it is not kept yet; VEL_OK: nothing has failed */
};

void vel_promise_fini(struct vel_promise *promise);

/* All that is owed: for any part, and for that of a rank. */
unsigned vel_promise_what(const struct vel_promise *promise);
unsigned vel_promise_for(const struct vel_promise *promise, int64_t rank);

/* VEL_ENOENT: nothing is owed there. */
int vel_promise_find(struct vel_batches *ledger, const char *home,
                     struct vel_promise *ret, struct vel_err *err);

/* Owe so much more for a rank's part. On disk when it returns; said again it changes
 * nothing. A promise to a launch before is taken over by this one. */
int vel_promise_owe(struct vel_batches *ledger, const char *home, const char *launch,
                    int64_t rank, unsigned what, struct vel_err *err);

/* Owe so much less; rank < 0: for all parts. */
int vel_promise_keep(struct vel_batches *ledger, const char *home, int64_t rank,
                     unsigned what, struct vel_err *err);

/* Keep the reason why it is not done yet. *ret_is_new: it was another, or none.
 * VEL_ENOENT: nothing is owed. */
int vel_promise_failed(struct vel_batches *ledger, const char *home,
                       const struct vel_err *why, bool *ret_is_new,
                       struct vel_err *err);

/* So much is owed for these parts, instead of what was. */
int vel_promise_make(struct vel_batches *ledger, const char *home, const char *launch,
                     const struct vel_ranges *ranks, unsigned what, bool is_synced,
                     struct vel_err *err);

/* What this node owes, as its ledger of the cache knows; and what `node` owes as all
 * ledgers below `cache` say, NULL: any node. struct vel_promise, appended to *ret by
 * dataset; those of which nothing is left are none. What is no promise is told in the
 * log and left out. */
int vel_promises_list(struct vel_batches *ledger, struct vel_vec *ret,
                      struct vel_err *err);
int vel_promises_scan(struct vel_fs *fs, const char *cache, const char *node,
                      struct vel_vec *ret, struct vel_err *err);
void vel_promises_fini(struct vel_vec *promises);

#endif
