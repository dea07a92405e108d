/* SPDX-License-Identifier: BSD-3-Clause */
/* over - ids of datasets whose entries one process need not read again: it has seen in
 * them what never changes. For several threads.
 */
#ifndef VEL_META_OVER_H
#define VEL_META_OVER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct vel_over {
    pthread_mutex_t lock;
    struct vel_vec ids; /* int64_t, the oldest first */
};

void vel_over_init(struct vel_over *over);
void vel_over_fini(struct vel_over *over);

/* Without memory it is read again. */
void vel_over_add(struct vel_over *over, int64_t id);
bool vel_over_has(struct vel_over *over, int64_t id);

size_t vel_over_count(struct vel_over *over);

/* Only those among `n` ids, the newest first, are still to be known of. */
void vel_over_keep(struct vel_over *over, const int64_t *ids, size_t n);

/* The oldest ones but `newest` of them: items of *ret are int64_t. */
void vel_over_oldest(struct vel_over *over, size_t newest, struct vel_vec *ret);

#endif
