/* SPDX-License-Identifier: BSD-3-Clause */
/* made - what a dataset was when all its parts were there: said by who seals it, and
 * the same for ever (doc/format-meta.txt, 13 and 14). */
#ifndef VEL_META_MADE_H
#define VEL_META_MADE_H

#include "meta/dataset.h"

struct vel_made {
    struct vel_dataset dataset;
    bool is_flushed; /* it is to come to the prefix */
    char **nodes;    /* names of those that have parts, by their lowest rank */
    size_t n_nodes;
};

void vel_made_fini(struct vel_made *made);

/* Keys of a record: VEL_ENOMEM; or VEL_ECORRUPT. The latter writes *ret only on
 * success. */
int vel_made_put(struct vel_node *body, const struct vel_made *made);
int vel_made_get(const struct vel_node *body, struct vel_made *ret,
                 struct vel_err *err);

#endif
