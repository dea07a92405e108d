/* SPDX-License-Identifier: BSD-3-Clause */
/* damagelab - files of the caches as they were, and damage to them by seeds. */
#ifndef TEST_TAP_DAMAGELAB_H
#define TEST_TAP_DAMAGELAB_H

#include <stdbool.h>

#include "tap/rng.h"

enum { DAMAGE_NODES = 8, DAMAGE_TEXT = 1500 };

struct damage_plan {
    bool is_hit[DAMAGE_NODES];
    int n_hit; /* nodes */
    char what[DAMAGE_TEXT];
};

/* Copies of all files below `dir` that are named *.h5, to be compared with. */
void damage_keep(const char *dir, const char *kept);

/* Has the file at `path` the bytes of one that was kept under its name? */
bool damage_is_kept(const char *path);

/* Is it what h5veloc leaves at a name until the file comes there? */
bool damage_is_stub(const char *path);

/* Change, cut, lengthen, empty or remove some files of the caches below `dir`, of one
 * node or of several, or lose all that a node has. A file that no dataset has taken yet
 * bears no checksum: it only changes its size. */
void damage_do(struct vel_rng *rng, const char *dir, int nodes,
               struct damage_plan *ret);

#endif
