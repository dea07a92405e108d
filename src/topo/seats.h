/* SPDX-License-Identifier: BSD-3-Clause */
/* seats - the level that a dataset takes, and who sits with whom in its sets: worked
 * out by one process, from the settings and the nodes of the ranks alone. Where all
 * ranks are there to be asked topo/reddesc.h says the same.
 */
#ifndef VEL_TOPO_SEATS_H
#define VEL_TOPO_SEATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/scheme.h"
#include "conf/conf.h"
#include "topo/reddesc.h"
#include "topo/split.h"

/* Which dataset asks for a level. */
struct vel_seats_use {
    int64_t wanted; /* the CKPT line by its id; below 0: by interval */
    int64_t number; /* of the checkpoint, from 1 */
    bool is_output;
    const double *seconds_since; /* as in topo/reddesc.h */
};

/* The place of its level among all. VEL_ECONFIG: none is for it. */
int vel_seats_level(const struct vel_conf *conf, const struct vel_seats_use *use,
                    size_t *ret_level, struct vel_err *err);

/* Do datasets of a level go straight to the prefix? */
bool vel_seats_is_bypass(const struct vel_conf *conf, size_t level);

/* The first level with the same store, which stands for it; a level that is not there
 * (any more) is alone. */
size_t vel_seats_store_level(const struct vel_conf *conf, size_t level);

/* A level whose store takes what is to be in that of `first`: that itself (k 0), and
 * when it cannot the others, each once, in the order of the levels. False: there are no
 * more. */
bool vel_seats_spill(const struct vel_conf *conf, size_t first, size_t k,
                     size_t *ret_level);

/* So many complete datasets stay in the level's store: COUNT, else CACHE_SIZE. */
int64_t vel_seats_count(const struct vel_conf *conf, size_t level);

/* The bytes that the level's store may hold; 0: what is free. */
uint64_t vel_seats_limit(const struct vel_conf *conf, size_t level);

/* What so many bytes of a node take there with their redundancy, whatever sets they are
 * in. */
uint64_t vel_seats_protected(const struct vel_conf *conf, size_t level, uint64_t bytes);

/* Which of this node's caches, "BASE/USER/ID", is that of the level's store; homes_n:
 * none. */
size_t vel_seats_home(const struct vel_conf *conf, size_t level, char *const *homes,
                      size_t homes_n);

/* Do datasets of any level lie in such a cache? */
bool vel_seats_uses(const struct vel_conf *conf, const char *home);

/* The STORE line of the store that a cache, "BASE/USER/ID", is in; NULL: none. */
const struct vel_line *vel_seats_store(const struct vel_conf *conf, const char *home);

/* Bytes per second that a node may read and write in a store when all these nodes, it
 * among them, do so at once; 0: no limit. NULL: no line. */
uint64_t vel_seats_bandwidth(const struct vel_conf *conf, const struct vel_line *line,
                             const char *node, const char *const *nodes, size_t n);

/* The directory of its store if others have to make that (MKDIR=0); else NULL. */
const char *vel_seats_foreign_store(const struct vel_conf *conf, size_t level);

struct vel_seats {
    enum vel_scheme scheme;
    size_t m;                 /* losses that every set bears */
    struct vel_place *places; /* one for each rank */
    bool is_exposed;          /* SINGLE, since there are too few failure groups */
};

/* nodes[i] is that of rank i. *ret_why is a sentence when they are exposed. */
int vel_seats_deal(const struct vel_conf *conf, size_t level, const char *const *nodes,
                   size_t n, struct vel_seats *ret, struct vel_err *ret_why,
                   struct vel_err *err);
void vel_seats_fini(struct vel_seats *seats);

/* The descriptor of a part in `home`, as the level is applied; scheme, m, place and
 * neighbours are for the caller to fill in. */
int vel_seats_describe(const struct vel_conf *conf, size_t level, const char *home,
                       struct vel_reddesc *ret, struct vel_err *err);

#endif
