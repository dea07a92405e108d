/* SPDX-License-Identifier: BSD-3-Clause */
/* partlab - files of a launch in a cache, and a take of them into parts of a dataset,
 * in a directory of a test. */
#ifndef TEST_TAP_PARTLAB_H
#define TEST_TAP_PARTLAB_H

#include "jobs/batches.h"

enum { PARTLAB_ID = 7 }; /* the dataset */

/* The caches of node n0, below a test's directory: of the files, and of a level with a
 * store of its own. */
extern const char *const partlab_caches[2];

extern bool partlab_is_far;   /* the level has a store of its own, */
extern bool partlab_is_apart; /* on another disk */
extern bool partlab_has_none; /* of files: no part has */
extern bool partlab_is_spilt; /* rank 1 has a file, in the other cache */

/* "DIR/NAME"; good for some more calls. */
const char *partlab_in(const char *dir, const char *name);

/* Whatever fails ends the test. */
void partlab_must(int rc, const struct vel_err *err);

/* The cache where the parts are, or are to be, and the dataset's directory. */
const char *partlab_cache_of_parts(const char *dir);
const char *partlab_dataset_dir(const char *dir);

/* A leader's ledger of one of the caches; nothing is adopted yet. */
struct vel_batches *partlab_begin(struct vel_fs *fs, const char *dir, int cache);

/* As a sweep calls them. Rank 0 has a file in a directory and, unless there is an
 * argument, a late one, rank 1 none; the others are on another node. */
void partlab_prepare(const char *dir, void *arg);
int partlab_take(struct vel_fs *fs, const char *dir, void *arg, struct vel_err *err);

/* The same from the beginning: nothing is there, rank 0 writes its file and closes it,
 * unless that was done before, and it is taken. */
void partlab_prepare_nothing(const char *dir, void *arg);
int partlab_write_and_take(struct vel_fs *fs, const char *dir, void *arg,
                           struct vel_err *err);

#endif
