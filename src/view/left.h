/* SPDX-License-Identifier: BSD-3-Clause */
/* left - files of launches that are over, in parts that were never sealed: what a node
 * tells of them, and which of them are whole all the same (doc/life.txt, 13).
 * Pure data.
 */
#ifndef VEL_VIEW_LEFT_H
#define VEL_VIEW_LEFT_H

#include "brain/seal.h"
#include "record/node.h"
#include "view/batch.h"

/* The files of a rank in one batch. */
struct vel_left {
    struct vel_batch_key key;
    int64_t rank;
    int64_t closed, open; /* files */
    int64_t bytes;
    int64_t order;         /* of closing, of the last one */
    struct vel_vec points; /* int64_t: version points that all open ones have, the
                              newest first */
};

void vel_left_init(struct vel_left *left);
void vel_left_fini(struct vel_left *left);
void vel_lefts_fini(struct vel_vec *lefts);

/* Of these numbers only those stay that are among the others. */
void vel_left_keep_common(struct vel_vec *points, const struct vel_vec *with);

/* As it is told; NULL when out of memory. VEL_ECORRUPT: it cannot be. */
struct vel_node *vel_left_to_node(const struct vel_left *left);
int vel_left_from_node(const struct vel_node *node, struct vel_left *ret,
                       struct vel_err *err);

/* --- what is whole --- */

struct vel_view_seal {
    const char *launch; /* whose seal it is */
    struct vel_seal seal;
};

/* All that is known. Everything is borrowed. */
struct vel_left_of {
    const char *node; /* that has the parts of those who wrote nothing */
    struct {
        const char *node;
        const struct vel_vec *left; /* struct vel_left */
    } * nodes;
    size_t n_nodes;
    const struct vel_view_seal *seals; /* that count, of launches that are over */
    size_t n_seals;
};

/* Files of a key. */
struct vel_left_key {
    const struct vel_batch_key *key; /* of one of them */
    struct vel_seal seal; /* without id, levels and sets; no members: `why` */
    int64_t order;        /* of closing, of its lowest rank */
    char why[200];        /* it is not whole */
};

/* Appended to *ret, struct vel_left_key: what is to be sealed in this order, and what
 * cannot be. What was sealed, or replaced, is left out. */
int vel_left_weigh(const struct vel_left_of *of, struct vel_vec *ret,
                   struct vel_err *err);
void vel_left_keys_fini(struct vel_vec *keys);

/* Was it, or a newer one of its names, sealed? */
bool vel_left_is_replaced(const struct vel_left_of *of,
                          const struct vel_batch_key *key);

#endif
