/* SPDX-License-Identifier: BSD-3-Clause */
/* sortnet - who compares with whom when ranks sort one record each.
 *
 * Batcher's merge exchange, in the form that works for any number of ranks (Knuth, The
 * Art of Computer Programming 3, 5.2.2, algorithm M): t(t+1)/2 rounds, t = log2 of the
 * number rounded up; in a round a rank has one partner at most, and the lower rank of
 * two keeps the lesser record. Sends nothing by itself.
 */
#ifndef VEL_TOPO_SORTNET_H
#define VEL_TOPO_SORTNET_H

#include <stdbool.h>
#include <stdint.h>

struct vel_sortnet {
    int64_t size; /* ranks */
    int64_t top;  /* half of the power of two that holds them */
    int64_t p, q, r, d;
};

/* Begin with the first round; false when there is nothing to compare. */
bool vel_sortnet_begin(struct vel_sortnet *net, int size);

/* Go on to the next round; false after the last. */
bool vel_sortnet_next(struct vel_sortnet *net);

/* The partner of a rank in this round, or -1. */
int vel_sortnet_partner(const struct vel_sortnet *net, int rank);

#endif
