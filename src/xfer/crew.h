/* SPDX-License-Identifier: BSD-3-Clause */
/* crew - the ranks that move a dataset together, and how many nodes of them at once. */
#ifndef VEL_XFER_CREW_H
#define VEL_XFER_CREW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "comm/comm.h"
#include "meta/index.h"
#include "sys/clock.h"
#include "sys/fs.h"
#include "xfer/copy.h"
#include "xfer/transport.h"

/* Everything is borrowed. Numbers and settings are the same on all ranks. */
struct vel_crew {
    struct vel_comm *world;
    struct vel_comm *node; /* those of world on this node, by rank */
    struct vel_comm
        *leaders; /* the lowest rank of each node, by node; NULL on others */
    int node_id;  /* this node's place among the leaders */
    int nodes;
    struct vel_fs *fs;
    struct vel_clock *clock;
    const char *prefix;
    const char *dir;                 /* PREFIX/.veloc */
    struct vel_index *index;         /* of that */
    struct vel_transport *transport; /* who moves to the prefix */
    struct vel_copy_how copy;        /* how this process copies */
    int fetch_width;                 /* nodes that move at once; 0: all */
    bool checks_crc;
};

/* Collective over world, in pairs: between the two only `width` nodes are at work at
 * once (0: all). Node n begins when node n - width has ended. */
int vel_crew_enter(const struct vel_crew *crew, int width, struct vel_err *err);
int vel_crew_leave(const struct vel_crew *crew, int width, struct vel_err *err);

#endif
