/* SPDX-License-Identifier: BSD-3-Clause */
/* indexlab - entries for tests, read and written anew each time; the launch "lab" says
 * them, and has made the datasets that nobody else has. */
#ifndef TEST_TAP_INDEXLAB_H
#define TEST_TAP_INDEXLAB_H

#include "meta/index.h"

/* Of who writes; the caller closes it, or it is closed when the test ends. */
struct vel_index *indexlab_open(struct vel_fs *fs, const char *dir);
struct vel_index *indexlab_keep(struct vel_fs *fs, const char *dir);

int indexlab_save(struct vel_fs *fs, const char *dir, const struct vel_entry *entry,
                  struct vel_err *err);
int indexlab_load(struct vel_fs *fs, const char *dir, int64_t id, struct vel_entry *ret,
                  struct vel_err *err);
int indexlab_files(struct vel_fs *fs, const char *dir, int64_t id, int list,
                   struct vel_vec *ret, struct vel_err *err);
int indexlab_remove(struct vel_fs *fs, const char *dir, int64_t id,
                    struct vel_err *err);
int indexlab_load_all(struct vel_fs *fs, const char *dir, struct vel_vec *ret,
                      struct vel_err *err);

/* Claim the dataset; the owner's number. And until that is `owner`, from 1. */
int64_t indexlab_claim(struct vel_fs *fs, const char *dir, int64_t id);
void indexlab_claim_up_to(struct vel_fs *fs, const char *dir, int64_t id,
                          int64_t owner);

/* Nobody can read the line any more that has this text, in the ledger of a launch. */
void indexlab_damage(const char *dir, const char *launch, const char *text);

/* What nobody may leave: of ledgers names may stay by which somebody has looked. */
bool indexlab_is_temporary(const char *name);

/* The current one; 0: none, or nobody knows. And choose it. */
int64_t indexlab_current(struct vel_fs *fs, const char *dir);
int indexlab_choose(struct vel_fs *fs, const char *dir, int64_t id,
                    struct vel_err *err);

#endif
