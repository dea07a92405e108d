/* SPDX-License-Identifier: BSD-3-Clause */
/* digestlab - a prefix whose launches are over and marked, and who begins there: what
 * he hears of their datasets, and whether he has to look at the launches for that. */
#ifndef TEST_TAP_DIGESTLAB_H
#define TEST_TAP_DIGESTLAB_H

#include "meta/index.h"

enum { DIGESTLAB_LAUNCHES = 5 };

/* As they are told: newest first. */
#define DIGESTLAB_ALL "10 9 8 7 6 5 4 3 2 1 "

struct digestlab {
    struct vel_fs_ops ops; /* of all that begins: for a test to make worse */
    struct vel_fs fs;
    char dir[512], digest[600];
    int reads; /* of directories and ledgers of launches, and of blocks */
};
extern struct digestlab digestlab;

/* Two datasets of each launch, N and N+5 of "L<N>" or "L0". */
void digestlab_make(void);

const char *digestlab_launch(int64_t id);
void digestlab_save(int64_t id, enum vel_place_on_prefix place);
void digestlab_forget(int64_t id);
void digestlab_mark(const char *launch);

/* Its directory and its mark go. */
void digestlab_remove(const char *launch);

/* Its block goes, too, and is claimed late by another one. */
void digestlab_give(int64_t first, const char *launch);

/* Who begins, and has read nothing yet. */
struct vel_index *digestlab_begin(void);

/* All datasets as he is told of them, with a "?" where one is not on the prefix; and
 * behind them whose blocks are not those that were made: "5=B". */
const char *digestlab_tell(struct vel_index *index);

/* The same of one who begins now; reads are those that it takes. He may keep it in the
 * digest. */
const char *digestlab_hear(bool keeps);

#endif
