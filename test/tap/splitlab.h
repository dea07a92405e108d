/* SPDX-License-Identifier: BSD-3-Clause */
/* splitlab - layouts of ranks on failure groups by seed, and the splits of them that a
 * communicator and a single process make. */
#ifndef TEST_TAP_SPLITLAB_H
#define TEST_TAP_SPLITLAB_H

#include <stdint.h>

#include "comm/comm.h"
#include "topo/split.h"

struct splitlab {
    size_t n; /* ranks */
    char **groups;
    struct vel_split_rule rule;
};

/* Layout and rule of a seed: in blocks, in turn, by chance, uneven, all in one, each
 * alone; names of many forms, the longest allowed among them. */
void splitlab_make(struct splitlab *lab, size_t n, uint64_t seed);
void splitlab_free(struct splitlab *lab);

/* The seeds of a comparison, as argument. */
struct splitlab_seeds {
    uint64_t first, last;
};

/* Collective. Split the layouts of all seeds, by the communicator and in one process:
 * places, errors and their sentences, numbers of groups, and the communicators of sets
 * must be the same. `arg` is struct splitlab_seeds. Returns 0, or the line of
 * splitlab.c that did not hold. */
int splitlab_compare(struct vel_comm *comm, void *arg);

/* Collective. What is wrong on one rank alone (an empty name, a name too long, another
 * rule) is refused on all, and the communicator can be used afterwards. Returns like
 * splitlab_compare. */
int splitlab_refusals(struct vel_comm *comm, void *unused);

#endif
