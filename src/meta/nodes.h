/* SPDX-License-Identifier: BSD-3-Clause */
/* nodes - how many nodes the last run had: what a launcher asks for when nobody told it
 * how many a launch needs (doc/format-meta.txt, 11). Written by rank 0 of a run. */
#ifndef VEL_META_NODES_H
#define VEL_META_NODES_H

#include <stdint.h>

#include "base/err.h"
#include "sys/fs.h"

enum { VEL_NODES_MOST = 10000000 };

/* `dir` is the directory .veloc of the prefix; 1 to VEL_NODES_MOST nodes. */
int vel_nodes_save(struct vel_fs *fs, const char *dir, int64_t nodes,
                   struct vel_err *err);

/* VEL_ENOENT when no run has said so. */
int vel_nodes_load(struct vel_fs *fs, const char *dir, int64_t *ret_nodes,
                   struct vel_err *err);

#endif
