/* SPDX-License-Identifier: BSD-3-Clause */
/* batch - files of this node for one generation of a key, whose dataset has no id yet
 * (doc/facts.txt, 5): what the ledgers of a cache say of them.
 *
 *   CACHE/USER/ID/N.K/B/   batch B of turn K of launch N
 *       rank.R/            files of rank R under their cached names, as in a dataset
 */
#ifndef VEL_VIEW_BATCH_H
#define VEL_VIEW_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "facts/catalog.h"
#include "ledger/read.h"
#include "sys/fs.h"

/* Which dataset they will be of. */
struct vel_batch_key {
    char *launch;
    char *template;
    char *step;
    int64_t generation;
    bool is_alone, is_late;
    int64_t ranks; /* of the launch; 0: not known */
    int64_t boot;  /* of its machine, in which it was; 0: not known */
    int64_t above; /* no dataset was newer when the first file was made, but of its own
                      launch */
};

void vel_batch_key_fini(struct vel_batch_key *key);
int vel_batch_key_copy(const struct vel_batch_key *key, struct vel_batch_key *ret,
                       struct vel_err *err);

struct vel_batch_file {
    int64_t number; /* in its batch */
    char *name;     /* cached name */
    int64_t order;  /* of closing, on this node; 0: it is open */
    int64_t size;
    int64_t given;  /* what was closed up to this order a rank of another node has
                       closed later, */
    bool is_before; /* and said so when it was of no dataset */
};

/* Has a rank of another node closed it later, and has it? Then it is of no dataset that
 * links the files of one before; and of none at all, if that was said in time. */
bool vel_batch_is_given(const struct vel_batch_file *file);
bool vel_batch_is_given_before(const struct vel_batch_file *file);

struct vel_batch_rank {
    int64_t rank;
    int64_t upto;         /* what was closed up to this order is of datasets */
    struct vel_vec files; /* struct vel_batch_file */
};

/* What a rank has closed in a batch up to an order is of a dataset. */
struct vel_batch_part {
    int64_t id, rank, upto;
};

struct vel_batch_id {
    int64_t launch, turn, number;
};

struct vel_batch {
    struct vel_batch_id id;
    char *dir;
    int64_t count; /* how often it was said whose it is */
    int64_t level, line;
    int64_t last_file; /* the highest number that it has given */
    int kind;          /* of the line, VEL_LINE_IS_..., but for `alone` */
    struct vel_batch_key key;
    struct vel_vec ranks; /* struct vel_batch_rank, by rank */
    struct vel_vec parts; /* struct vel_batch_part */
};

void vel_batch_init(struct vel_batch *batch);
void vel_batch_fini(struct vel_batch *batch);
void vel_batch_list_fini(struct vel_vec *list);

/* --- paths --- */

/* "HOME/N.K/B"; NULL when out of memory. */
char *vel_batch_dir(const char *home, const struct vel_batch_id *id);

/* Is a directory the one of a batch, by its name? And is a name in a cache that of the
 * directory of a ledger's batches, "N.K"? */
bool vel_batch_is_dir(const char *dir);
bool vel_batch_is_turn(const char *name, int64_t *ret_launch, int64_t *ret_turn);

/* The path of a rank's file, a new string. */
int vel_batch_path(const char *dir, int64_t rank, const char *name, char **ret_path,
                   struct vel_err *err);

/* "DIR/WHAT.NUMBER"; NULL when out of memory. */
char *vel_batch_numbered(const char *dir, const char *what, int64_t number);

/* Is there no such directory? What cannot be seen is no reason to think so. */
bool vel_batch_is_gone(struct vel_fs *fs, const char *dir);

/* --- what it has --- */

/* NULL: nothing. */
struct vel_batch_rank *vel_batch_rank(const struct vel_batch *batch, int64_t rank);
struct vel_batch_file *vel_batch_file(const struct vel_batch_rank *rank,
                                      const char *name);

/* NULL: out of memory. */
struct vel_batch_rank *vel_batch_make_rank(struct vel_batch *batch, int64_t rank);

/* A rank writes this name anew: the file that had it is none any more. */
int vel_batch_add_file(struct vel_batch_rank *rank, const struct vel_batch_file *file,
                       struct vel_err *err);
void vel_batch_remove_file(struct vel_batch_rank *rank, const char *name);

/* Is a file of no dataset? Has it such files? */
bool vel_batch_is_left(const struct vel_batch_rank *rank,
                       const struct vel_batch_file *file);
bool vel_batch_has_left(const struct vel_batch *batch);

/* With the files that are of no dataset alone. */
int vel_batch_copy_left(const struct vel_batch *batch, struct vel_batch *ret,
                        struct vel_err *err);

/* --- what ledgers say --- */

/* All batches of a catalog, appended to *ret: struct vel_batch, with all files. What
 * facts are missing of is told in the log and left out. What was closed in another boot
 * (0: not known) of this machine, and is of no part, was not brought to the disk, and
 * is open. */
int vel_batches_fold(const struct vel_catalog *catalog, const char *home, int64_t boot,
                     struct vel_vec *ret, struct vel_err *err);

/* Fold what a ledger says; a line that is no fact is told in the log. */
int vel_batches_fold_text(struct vel_catalog *catalog,
                          const struct vel_ledger_text *text, struct vel_err *err);

/* vel_ledger_read_all() of a cache, which may have none. */
int vel_batches_read_ledgers(const struct vel_ledger_dir *dir, struct vel_vec *ret,
                             struct vel_err *err);

/* What all ledgers below "CACHE/USER/ID" say; vel_catalog_destroy() it. */
int vel_batches_read_catalog(struct vel_fs *fs, const char *home,
                             struct vel_catalog **ret, struct vel_err *err);

/* Those of all ledgers below "CACHE/USER/ID" that have files of no dataset, or none at
 * all, with these alone, appended to *ret. */
int vel_batches_read(struct vel_fs *fs, const char *home, int64_t boot,
                     struct vel_vec *ret, struct vel_err *err);

/* The directory of a cache's ledgers, a new string; NULL: out of memory. */
char *vel_batches_path(const char *home);

#endif
