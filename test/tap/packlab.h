/* SPDX-License-Identifier: BSD-3-Clause */
/* packlab - a flushlab whose nodes have many ranks each, all with files of the same
 * names, which go into containers. */
#ifndef TEST_TAP_PACKLAB_H
#define TEST_TAP_PACKLAB_H

#include "tap/flushlab.h"

enum {
    PACKLAB_NODES = FLUSHLAB_RANKS,
    PACKLAB_PARTS = 4, /* of a node */
    PACKLAB_FILES = PACKLAB_NODES * PACKLAB_PARTS * FLUSHLAB_FILES,
    PACKLAB_LARGE = 5000, /* bytes of the larger one of a rank's files */
    PACKLAB_ROOM = 8192,  /* of a container: a node's files fill so many: */
    PACKLAB_CONTAINERS = 3,
};

extern uint64_t packlab_room; /* of containers; 0: files are copied as they are */

/* An empty prefix and cache, and containers of PACKLAB_ROOM. */
void packlab_fresh(struct flushlab *lab, const char *name);
/* All parts of a dataset, into the cache. */
void packlab_parts(const struct flushlab *lab, int64_t id);

/* Node `n` of `nodes`, between which the parts are dealt. */
struct packlab_node {
    struct flushlab_node node;
    struct vel_flush_part parts[PACKLAB_NODES * PACKLAB_PARTS];
    char dirs[PACKLAB_NODES * PACKLAB_PARTS][1024];
};
void packlab_node(const struct flushlab *lab, struct vel_fs *fs, int64_t id,
                  int64_t owner, int n, int nodes, struct packlab_node *ret);

/* --- steps: of a node, of the owner, of all nodes up to STAGED or PREFIX --- */

int packlab_copy(const struct flushlab *lab, struct vel_fs *fs, int64_t id,
                 int64_t owner, int n, struct vel_err *err);
int packlab_name(const struct flushlab *lab, struct vel_fs *fs, int64_t id,
                 int64_t owner, int n, struct vel_err *err);
int packlab_owner(const struct flushlab *lab, struct vel_fs *fs, int64_t id,
                  int64_t owner,
                  int (*act)(const struct vel_flushing *, struct vel_entry *,
                             struct vel_err *),
                  struct vel_err *err);
int packlab_stage(const struct flushlab *lab, struct vel_fs *fs, int64_t id,
                  int64_t owner, struct vel_err *err);
int packlab_flush(const struct flushlab *lab, struct vel_fs *fs, int64_t id,
                  int64_t owner, struct vel_err *err);
/* The next owner finishes what is staged, and takes back anything else. */
int packlab_settle(const struct flushlab *lab, int64_t id, int64_t owner,
                   struct vel_err *err);

/* For steps that are not what is tested. */
void packlab_must(int rc, const struct vel_err *err);

/* --- what is there --- */

/* Names in dataset.D that begin so. */
int packlab_count(const struct flushlab *lab, int64_t id, const char *begin);
/* Temporary files: containers there, and any below the prefix. */
int packlab_temporaries(const struct flushlab *lab, int64_t id);
/* It is on the prefix, every file comes out of its container with the bytes that it has
 * in the cache, and no temporary file is left. */
bool packlab_is_whole(const struct flushlab *lab, int64_t id);

#endif
