/* SPDX-License-Identifier: BSD-3-Clause */
/* promise - record "owed": what a node has promised to do for its parts of a dataset,
 * on disk before anybody is told (doc/format-meta.txt).
 *
 * It lies beside the parts, in the dataset's directory of a cache (`home` below), and
 * is written by the node's leader alone: how far a worker has come is said elsewhere
 * (jobs/copying.h). What is promised is done by others.
 */
#ifndef VEL_JOBS_PROMISE_H
#define VEL_JOBS_PROMISE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "sys/fs.h"

/* what is owed, bits: as in the message `owe` */
enum {
    VEL_PROMISE_ENCODE = 1,
    VEL_PROMISE_FLUSH = 2,
};

struct vel_promise_part {
    int rank;
    unsigned what; /* bits, never 0 */
};

struct vel_promise {
    int64_t id;          /* of the dataset */
    char *node;          /* who owes */
    char *launch;        /* to whom it was promised */
    struct vel_vec part; /* struct vel_promise_part, by rank, each once */
    struct vel_err last; /* why it is not kept yet; VEL_OK: nothing has failed */
};

/* An empty one. */
int vel_promise_init(struct vel_promise *promise, int64_t id, const char *node,
                     const char *launch, struct vel_err *err);
void vel_promise_fini(struct vel_promise *promise);

/* All that is owed for any part. */
unsigned vel_promise_what(const struct vel_promise *promise);

/* home/owed.NODE. VEL_ENOENT: nothing is owed there. */
int vel_promise_save(struct vel_fs *fs, const char *home,
                     const struct vel_promise *promise, struct vel_err *err);
int vel_promise_load(struct vel_fs *fs, const char *home, const char *node,
                     struct vel_promise *ret, struct vel_err *err);

/* Owe so much more for a rank's part. On disk when it returns; said again it changes
 * nothing. A promise to a launch before is taken over by this one; one that is
 * damaged is replaced. */
int vel_promise_owe(struct vel_fs *fs, const char *home, int64_t id, const char *node,
                    const char *launch, int rank, unsigned what, struct vel_err *err);

/* Owe so much less; rank < 0: for all parts. The record goes with the last of it. */
int vel_promise_keep(struct vel_fs *fs, const char *home, const char *node, int rank,
                     unsigned what, struct vel_err *err);

/* Keep the reason why it is not done yet. *ret_is_new: it was another, or none. */
int vel_promise_failed(struct vel_fs *fs, const char *home, const char *node,
                       const struct vel_err *why, bool *ret_is_new,
                       struct vel_err *err);

/* A promise as found. */
struct vel_owing {
    char *home;
    struct vel_promise promise;
};

/* What `node` owes in the caches below `cache` (vel_cache_home()), appended to *ret by
 * dataset; node NULL: any node. What cannot be read is told in the log and left out. */
int vel_promises_scan(struct vel_fs *fs, const char *cache, const char *node,
                      struct vel_vec *ret, struct vel_err *err);
void vel_promises_fini(struct vel_vec *owing);

#endif
