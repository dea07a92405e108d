/* SPDX-License-Identifier: BSD-3-Clause */
/* caches - what the caches of all nodes hold of earlier launches, told to the ranks
 * that it belongs to now (doc/engine.txt, 5).
 *
 * The lowest rank that shares a store speaks for it: it reads what lies there and
 * offers every part to the rank of that number, or where there is none any more to
 * another one that takes its place. Nobody holds a table of all ranks.
 */
#ifndef VEL_RECOVER_CACHES_H
#define VEL_RECOVER_CACHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "comm/comm.h"
#include "meta/cache.h"
#include "meta/filemap.h"
#include "red/header.h"
#include "sys/fs.h"
#include "topo/reddesc.h"
#include "topo/store.h"
#include "xfer/throttle.h"

/* What a recovery works with. Everything is borrowed. */
struct vel_caches_of {
    struct vel_comm *world;
    struct vel_fs *fs;
    const struct vel_stores *stores;
    const struct vel_reddesc_owner *owner;
    size_t memory;                  /* for buffers of a rebuild; 0: the default */
    size_t piece;                   /* bytes of a message when files move */
    struct vel_cache_others others; /* what is not swept */
    struct vel_throttle *throttles; /* one per store; NULL: no limits */
    bool may_move; /* files go to the nodes where their ranks run now */
    bool keeps;    /* what was never complete stays: somebody may be writing it */
};

/* A part that this process speaks for. */
struct vel_spoken {
    int64_t id;
    int rank;
    size_t store;  /* its index, the same on all ranks */
    int64_t index; /* of the level: the directory is index.<index> */
    bool is_aside;
    bool is_kept; /* a rank uses it where it lies */
};

enum { VEL_OFFER_ENCODINGS = 8 };

/* A part that was offered to this process. */
struct vel_offer {
    int64_t id;
    int rank;   /* whose part it is; another one's when there are fewer ranks now */
    int holder; /* the rank that speaks for it */
    size_t store;
    int64_t index;
    bool is_encoded; /* a redundancy file is there, in whatever state */
    bool is_whole;   /* all files are there, with their sizes */
    /* of its redundancy files, the newest first: several when a crash came while the
       dataset was encoded in the background */
    uint8_t encoding[VEL_OFFER_ENCODINGS][VEL_ENCODING_ID];
    size_t encodings;
    bool has_map;
    struct vel_filemap map; /* as that says; without one, as it was at the start */
};

bool vel_offer_has(const struct vel_offer *offer, const uint8_t id[VEL_ENCODING_ID]);

struct vel_caches {
    struct vel_caches_of of;
    int *leaders;          /* per store: the rank that speaks for the one I share */
    struct vel_vec spoken; /* struct vel_spoken */
    struct vel_vec offers; /* struct vel_offer */
};

/* Collective over world. */
int vel_caches_open(const struct vel_caches_of *of, struct vel_caches *ret,
                    struct vel_err *err);
void vel_caches_close(struct vel_caches *caches);

/* Collective. The highest id of any dataset below `below`, 0 when there is none. */
int vel_caches_next(struct vel_caches *caches, int64_t below, int64_t *ret_id,
                    struct vel_err *err);

/* Local. Was a part of a dataset offered here that leaders made; or one that a session
 * made? */
bool vel_caches_has_of(const struct vel_caches *caches, int64_t id, bool is_leaders);

/* A level's directory here, and a part's in it; new strings, NULL when out of memory.
 */
char *vel_caches_level(const struct vel_caches *caches, size_t store, int64_t index);
char *vel_caches_part_dir(const struct vel_caches *caches, size_t store, int64_t index,
                          int64_t id, int rank);

/* Can this rank open what the holder of the offer can? */
bool vel_caches_is_here(const struct vel_caches *caches, const struct vel_offer *offer);

/* A part that this rank uses where it lies now. */
struct vel_keep {
    int rank;
    int holder; /* the rank that speaks for it */
    size_t store;
    int64_t index; /* of the level */
};

/* Collective. Tell the speakers which parts of a dataset are used (items of *kept are
 * struct vel_keep): they mark those of which they knew, and *ret_wanted receives what
 * was told to this one. */
int vel_caches_keep(struct vel_caches *caches, int64_t id, const struct vel_vec *kept,
                    struct vel_vec *ret_wanted, struct vel_err *err);

/* Local. Remove the parts of a dataset that this process speaks for and nobody keeps;
 * or set the dataset aside, or no longer. What cannot be done is told in the log. */
void vel_caches_remove(struct vel_caches *caches, int64_t id);
void vel_caches_set_aside(struct vel_caches *caches, int64_t id, bool aside);

#endif
