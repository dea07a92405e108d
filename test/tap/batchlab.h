/* SPDX-License-Identifier: BSD-3-Clause */
/* batchlab - batches of a cache in a directory of a test: files are begun and closed,
 * and what is said of them is compared with what is read. */
#ifndef TEST_TAP_BATCHLAB_H
#define TEST_TAP_BATCHLAB_H

#include "jobs/batches.h"

enum { BATCHLAB_RANKS = 3 };

extern char batchlab_home[600];

/* An empty cache. */
void batchlab_fresh(const char *name);

/* Whatever fails ends the test. */
void batchlab_must(int rc, const struct vel_err *err);

/* A leader of node "n1"; nothing is adopted yet. */
struct vel_batches *batchlab_begin(const char *launch);
struct vel_batches *batchlab_begin_on(struct vel_fs *fs, const char *node,
                                      const char *launch);
struct vel_batches *batchlab_adopt(const char *launch);

struct vel_batch_key batchlab_key(const char *launch, const char *template,
                                  const char *step, int64_t generation);

/* A batch: its directory, a new string. */
char *batchlab_make(struct vel_batches *batches, const char *launch, const char *step);
void batchlab_write(struct vel_batches *batches, const char *dir, int64_t rank,
                    const char *name, const char *text);
void batchlab_close(struct vel_batches *batches, const char *dir, int64_t rank,
                    const char *name, int64_t order);

/* Of rank 0: is it there, in a batch of a launch? */
bool batchlab_has(struct vel_batches *batches, const char *launch, const char *name);

/* Is what they know what a reader finds? */
bool batchlab_is_told(struct vel_batches *batches, const char *when);

#endif
