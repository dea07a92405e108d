/* SPDX-License-Identifier: BSD-3-Clause */
/* cache - what lies in a level's directory: parts of datasets, one per rank
 * (doc/engine.txt, 1). */
#ifndef VEL_META_CACHE_H
#define VEL_META_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "sys/fs.h"

/* Rank's part of a dataset as found; nothing in it has been looked at yet. */
struct vel_part {
    char *level; /* directory of the level; the dataset's lies below it */
    int64_t id;  /* of the dataset */
    int rank;
    bool is_aside; /* an earlier launch could not rebuild the dataset */
};

/* The label of redundancy files in the cache. */
#define VEL_CACHE_LABEL "set"

/* Behind the name of a rank's directory while it is being filled from elsewhere. */
#define VEL_CACHE_NEW ".new"

/* The caches of one user for one prefix below a store: "<store>/<user>/<prefix id>", or
 * what stands for <user> there (sys/user_dir.h). So is what else he has there, by its
 * name. A new string; NULL: no memory. */
char *vel_cache_home(struct vel_fs *fs, const char *store, const char *user,
                     const char *prefix_id);

/* The same, made when it is not there, as below. */
int vel_cache_make_home(struct vel_fs *fs, const char *store, const char *user,
                        const char *prefix_id, char **ret_home, struct vel_err *err);

/* Make a directory of ours with everything above it, owner only, and refuse one that is
 * not safely ours, or that lies where others may put another one in its place. */
int vel_cache_make_dir(struct vel_fs *fs, const char *dir, struct vel_err *err);

/* All parts below `home`, appended to *ret (items struct vel_part), by level, dataset
 * and rank. A home that is not there holds none; one that is not ours is told in the
 * log and left out. */
int vel_cache_scan(struct vel_fs *fs, const char *home, struct vel_vec *ret,
                   struct vel_err *err);
void vel_parts_fini(struct vel_vec *parts);

/* The bytes of files of programs below `home`, of datasets or of none yet; redundancy
 * does not count. */
int vel_cache_bytes(struct vel_fs *fs, const char *home, uint64_t *ret,
                    struct vel_err *err);

/* Remove a rank's part, so that a crash in the middle leaves files that are no dataset:
 * its redundancy files first. The dataset's directory goes with its last part. */
int vel_cache_remove_part(struct vel_fs *fs, const char *level, int64_t id, int rank,
                          struct vel_err *err);

/* Remove what moves and fetches of launches that are over have left half done, and the
 * directories of datasets of which no rank has a part; but nothing of those that
 * are another's, which may be at work (is_anothers NULL: none is). */
struct vel_cache_others {
    bool (*is_anothers)(void *arg, int64_t id);
    void *arg;
};
void vel_cache_sweep(struct vel_fs *fs, const char *home,
                     const struct vel_cache_others *others);

/* Mark a dataset as not restorable by this launch, or take the mark off. */
int vel_cache_set_aside(struct vel_fs *fs, const char *level, int64_t id, bool aside,
                        struct vel_err *err);

#endif
