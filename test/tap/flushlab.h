/* SPDX-License-Identifier: BSD-3-Clause */
/* flushlab - nodes with parts of datasets in their caches, a prefix, and claims on it:
 * what jobs/flushing.h works with, without leaders. Every byte of a file follows from
 * its dataset, rank and number. */
#ifndef TEST_TAP_FLUSHLAB_H
#define TEST_TAP_FLUSHLAB_H

#include "jobs/flushing.h"

enum {
    FLUSHLAB_RANKS = 2,
    FLUSHLAB_FILES = 3, /* of each rank: small, large, empty */
};

struct flushlab {
    char prefix[512], dir[600], cache[512]; /* dir: PREFIX/.veloc */
    size_t large;                           /* bytes of a rank's large file */
    bool has_same_names;                    /* in every dataset */
    bool are_ranks_alike;                   /* theirs have the same names, too */
    /* the bytes of the large file, to be freed; NULL: as of any */
    char *(*large_bytes)(void *arg, int64_t id, int rank, size_t *ret_len);
    void *arg;
};

/* An empty prefix and an empty cache, below the test's directory. */
void flushlab_init(struct flushlab *lab, const char *name, size_t large);

/* Write a rank's part of a dataset into the cache, with its redundancy file. */
void flushlab_part(const struct flushlab *lab, int64_t id, int rank);

/* Make owner.K, and the entry of it. */
void flushlab_claim(const struct flushlab *lab, int64_t id, int64_t owner);
void flushlab_entry(const struct flushlab *lab, int64_t id, int64_t owner, int ranks,
                    enum vel_place_on_prefix place);

/* A node with the part of one rank, which is its number, and a job for it: its next
 * leader, when there was one of this node before. */
struct flushlab_node {
    struct vel_flushing flushing;
    struct vel_flush_part part;
    struct vel_flush_job job;
    char dir[1024], home[800], name[16];
};
void flushlab_node(const struct flushlab *lab, struct vel_fs *fs, int64_t id,
                   int64_t owner, int rank, struct flushlab_node *ret);

/* The ledger of a leader of that node for another launch. */
void flushlab_other(const struct flushlab *lab, int rank, const char *launch,
                    struct vel_batches **ret);

/* All leaders go. */
void flushlab_leave(void);

/* Where a file stands on the prefix; the last 8 results stay good. */
const char *flushlab_path(const struct flushlab *lab, int64_t id, int rank, int file);

/* Which dataset has the files of a rank on the prefix, all of them whole: 0, when there
 * is none of them, -1 when it is a mix. */
int64_t flushlab_shows(const struct flushlab *lab, int64_t id, int rank);

/* Temporary files below the prefix but for .veloc. */
int flushlab_strays(const struct flushlab *lab);

/* The place that the entry says, or -1; whose entry that is. */
int flushlab_place(const struct flushlab *lab, int64_t id, int64_t *ret_owner);

/* --- steps, of one node or of all FLUSHLAB_RANKS --- */

void flushlab_parts(const struct flushlab *lab, int64_t id);
/* Claim, and say FLUSHING. */
void flushlab_begin(const struct flushlab *lab, int64_t id, int64_t owner);
int flushlab_copy(const struct flushlab *lab, struct vel_fs *fs, int64_t id,
                  int64_t owner, int rank, bool may_resume, uint64_t *ret_resumed,
                  struct vel_err *err);
int flushlab_name(const struct flushlab *lab, int64_t id, int64_t owner, int rank,
                  struct vel_err *err);
bool flushlab_copy_all(const struct flushlab *lab, int64_t id, int64_t owner);
/* A step of the owner, with its entry. */
int flushlab_owner(const struct flushlab *lab, int64_t id, int64_t owner,
                   int (*act)(const struct vel_flushing *, struct vel_entry *,
                              struct vel_err *),
                   struct vel_err *err);
/* The whole way. */
bool flushlab_flush(const struct flushlab *lab, int64_t id, int64_t owner);
bool flushlab_shows_all(const struct flushlab *lab, int64_t id, int64_t want);
/* The record "current". */
int64_t flushlab_current(const struct flushlab *lab);

#endif
