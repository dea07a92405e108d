/* SPDX-License-Identifier: BSD-3-Clause */
/* recovery - datasets of earlier launches come to where the ranks of this one run: what
 * the caches of all of them hold, and each dataset brought (doc/engine.txt, 5).
 */
#ifndef VEL_RECOVER_RECOVERY_H
#define VEL_RECOVER_RECOVERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "comm/comm.h"
#include "meta/cache.h"
#include "meta/filemap.h"
#include "recover/kept.h"
#include "sys/fs.h"
#include "topo/reddesc.h"
#include "topo/store.h"
#include "view/view.h"
#include "xfer/throttle.h"

/* What a recovery works with. Everything is borrowed. */
struct vel_recovery_of {
    struct vel_comm *world;
    struct vel_fs *fs;
    const struct vel_stores *stores;
    char *const *homes; /* of each store, "CACHE/USER/ID" here */
    const struct vel_reddesc_owner *owner;
    const char *node;               /* where this rank runs */
    size_t memory;                  /* for buffers of a rebuild; 0: the default */
    struct vel_cache_others others; /* what is not ours, or nobody knows whose */
    /* the same of one dataset, by rank 0's look, which fails when nobody knows */
    int (*find_whose)(void *arg, int64_t id, bool *ret_is_anothers,
                      struct vel_err *err);
    const struct vel_vec *dropped;  /* rank 0's: int64_t */
    const struct vel_vec *refused;  /* and these are not valid, as a program has said */
    struct vel_throttle *throttles; /* one per store; NULL: no limits */
    bool may_move; /* files go to the nodes where their ranks run now */
    bool keeps;    /* what was never complete stays: somebody may be writing it */
};

struct vel_recovery {
    struct vel_recovery_of of;
    char **spoken_homes; /* those for which this rank speaks, as the lowest that
                            shares the store */
    size_t n_spoken_homes;
    struct vel_vec spoken; /* struct vel_spoken: parts there, as it began */
    struct vel_vec ids;    /* struct vel_recovery_id: all that have a part, the highest
                              first; the same on all ranks */
    struct vel_view view;  /* of datasets of sessions alone, and without names */
    bool has_view;
    int *reader; /* by node of the view: the rank that reads there for others */
    struct vel_vec spoilt; /* uint8_t[VEL_ENCODING_ID]: what could not be restored */
};

struct vel_spoken {
    struct vel_part part;
    bool is_theirs; /* leaders have made it */
};

struct vel_recovery_id {
    int64_t id;
    bool is_theirs;  /* it is another's */
    bool is_dropped; /* somebody does not want it any more */
    bool is_refused;
    bool is_past; /* it was complete once; known when it was looked at */
};

static inline struct vel_spoken *vel_spoken_at(const struct vel_recovery *r, size_t i)
{
    return vel_vec_at(&r->spoken, i);
}

static inline struct vel_recovery_id *vel_recovery_id_at(const struct vel_recovery *r,
                                                         size_t i)
{
    return vel_vec_at(&r->ids, i);
}

/* NULL: no part of it lies in any cache. */
const struct vel_recovery_id *vel_recovery_find(const struct vel_recovery *r,
                                                int64_t id);

static inline int vel_recovery_no_memory(struct vel_err *err)
{
    return vel_out_of_memory(err, "what the caches hold");
}

/* Collective over world. Which datasets there are. What half-done moves have left is
 * removed first. */
int vel_recovery_open(const struct vel_recovery_of *of, struct vel_recovery *ret,
                      struct vel_err *err);
void vel_recovery_fini(struct vel_recovery *recovery);

/* Collective. Which of them can be restored: nothing changes them any more. */
int vel_recovery_look(struct vel_recovery *recovery, struct vel_err *err);

struct vel_brought {
    struct vel_filemap map; /* of this rank; of a foreign dataset, of some rank */
    char *level;            /* the directory of its level here; NULL: foreign */
    struct vel_vec parts;   /* struct vel_brought_part: this rank's one, or of a foreign
                               dataset those that it has on this node */
    bool is_foreign;        /* written by another number of ranks: whole, and to be read
                               by name */
    int64_t rebuilt;        /* parts of all ranks that were made again */
    char *rebuilt_ranks;    /* whose, in words; NULL for none, or foreign */
    int64_t moved;          /* and parts that came from another node */
};

void vel_brought_fini(struct vel_brought *brought);

/* Collective. Dataset `id`, one of ours: its files come to where their ranks run, and
 * are rebuilt where they are missing, short or corrupt. Copies that are not needed any
 * more are removed. VEL_ENOENT: it was never complete, and what there was of it is gone
 * now; any other failure, the same on all ranks: it cannot be restored now, and is as
 * it was, set aside. */
int vel_recovery_bring(struct vel_recovery *recovery, int64_t id,
                       struct vel_brought *ret, struct vel_err *err);

/* Local. Remove the parts of a dataset that this rank speaks for; or set it aside, or
 * no longer. What cannot be done is told in the log. */
void vel_recovery_remove(struct vel_recovery *recovery, int64_t id);
void vel_recovery_set_aside(struct vel_recovery *recovery, int64_t id, bool aside);

#endif
