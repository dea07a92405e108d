/* SPDX-License-Identifier: BSD-3-Clause */
/* settlement - record "settlement": what rank 0 of a session tells the leader of a
 * dataset when all its parts are there: who has which part where, and what becomes of
 * it (doc/format-meta.txt).
 *
 * Who sits where is the same for all datasets of a level: it is gathered once.
 */
#ifndef VEL_META_SETTLEMENT_H
#define VEL_META_SETTLEMENT_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/scheme.h"
#include "meta/made.h"
#include "sys/fs.h"

/* Where a rank's part lies, and its place in the sets of the level. */
struct vel_seat {
    uint32_t node;  /* index in nodes */
    uint32_t set;   /* number of its set */
    uint32_t place; /* in the set, from 0 */
};

struct vel_settlement {
    struct vel_dataset dataset;
    int64_t level; /* its files are in index.<level> of a store */
    enum vel_scheme scheme;
    size_t m;        /* losses that a set bears; 0 for SINGLE */
    bool is_encoded; /* the scheme is to be applied */
    bool is_flushed; /* and it is to come to the prefix, */
    bool is_plain;   /* not into containers, for it is to be read there */
    char **nodes;    /* their names, by their lowest rank */
    size_t n_nodes;
    struct vel_seat *seats; /* one for each of dataset.ranks */
    uint32_t sets;          /* of so many; known when it was decoded */
};

void vel_settlement_fini(struct vel_settlement *settlement);

int vel_settlement_encode(const struct vel_settlement *settlement, struct vel_buf *ret,
                          struct vel_err *err);

/* VEL_ECORRUPT: a set lacks a place or has one twice, or a node is not named. Writes
 * *ret only on success. */
int vel_settlement_decode(const void *bytes, size_t len, struct vel_settlement *ret,
                          struct vel_err *err);

/* DIR/dataset.ID/settlement, `dir` being PREFIX/.veloc. New string. */
char *vel_settlement_path(const char *dir, int64_t id);
int vel_settlement_load(struct vel_fs *fs, const char *dir, int64_t id,
                        struct vel_settlement *ret, struct vel_err *err);

/* What a dataset was when it was sealed: as it was settled last, else as its leaders
 * said who made it. To be finished by the caller. */
int vel_settled_made(struct vel_fs *fs, const char *dir, int64_t id,
                     struct vel_made *ret, struct vel_err *err);

#endif
