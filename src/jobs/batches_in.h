/* SPDX-License-Identifier: BSD-3-Clause */
/* batches_in - what the files of batches share. */
#ifndef VEL_JOBS_BATCHES_IN_H
#define VEL_JOBS_BATCHES_IN_H

#include <pthread.h>

#include "jobs/batches.h"
#include "ledger/carry.h"

struct vel_batches {
    struct vel_batches_of of;
    struct vel_ledger_dir dir;
    char *path;    /* of that */
    char self[17]; /* who writes, in titles */
    pthread_mutex_t lock;

    struct vel_ledger *ledger;    /* NULL: none that can be written */
    int64_t number;               /* of the launch in this cache; 0: it has none yet */
    int64_t claimed;              /* the last turn of it that is ours; -1: none */
    struct vel_ledger_name known; /* what this ledger says, and more, is in `all` */
    bool is_out;                  /* another leader writes in our place */
    bool is_bare;                 /* a begin says whose it is, and no more */
    uint64_t failed_at;           /* the last begin; 0: not */
    struct vel_err why;           /* then */

    struct vel_vec all;        /* struct vel_batch */
    struct vel_catalog *notes; /* of files: batches_notes.c */
    struct vel_catalog *heard; /* what others owe; it is theirs to say */
    bool is_unread;            /* what leaders before have said could not be read */
    int64_t said;              /* the highest count of notes in this cache */
    struct vel_vec doomed;     /* char *: directories that go with the lock */
    size_t many;               /* so many are looked through for what is gone */
    int64_t last_batch, last_line;
    char *level; /* the last one whose name is on the disk, as we know; or NULL */
};

/* Who has it says so before others may; directories that go do that then. */
void vel_batches_unlock(struct vel_batches *batches);

/* With the lock, all of these. A batch by its directory, or NULL. */
struct vel_batch *vel_batches_at(const struct vel_batches *batches, const char *dir);

/* A fact of a file, with its subject. */
struct vel_fact vel_batches_fact(enum vel_fact_kind kind, const struct vel_batch *batch,
                                 const struct vel_batch_file *file);

/* Say it: only then it is so. There is a ledger. */
int vel_batches_say(struct vel_batches *batches, const struct vel_fact *fact,
                    struct vel_err *err);

/* Say this; all that was said is on the disk then, and we are who says it. */
int vel_batches_tell(struct vel_batches *batches, const struct vel_buf *text,
                     struct vel_err *err);

/* The same, and what was said comes to the disk when the next thing does: it counts
 * only with all that was said before it. */
int vel_batches_join(struct vel_batches *batches, const struct vel_buf *text,
                     struct vel_err *err);

int vel_batches_unlink(struct vel_batches *batches, const char *dir, int64_t rank,
                       const char *name, struct vel_err *err);

/* Forget batches, from one on, of which nothing is in the cache any more: no file, no
 * directory, no dataset; and notes. */
void vel_batches_prune(struct vel_batches *batches, size_t from);

/* Is a dataset in one of these directories of the cache? */
bool vel_batches_have_dataset(const struct vel_batches *batches,
                              const struct vel_vec *levels, int64_t id);

/* What we note from now on is newer than what a catalog has, and what is owed by others
 * we know. */
int vel_batches_hear_notes(struct vel_batches *batches,
                           const struct vel_catalog *catalog, struct vel_err *err);

/* Without the lock: what leaders before have said is read now, if it was not. */
int vel_batches_read_before(struct vel_batches *batches, struct vel_err *err);

/* Notes of what is not there go; and those of a catalog are ours now. */
void vel_batches_prune_notes(struct vel_batches *batches, const struct vel_vec *levels);
int vel_batches_learn_notes(struct vel_batches *batches,
                            const struct vel_catalog *catalog, struct vel_err *err);

/* With the lock: has a begin failed a moment ago? That is the failure then. */
int vel_batches_check_failed(const struct vel_batches *batches, struct vel_err *err);

/* With the lock: there is a ledger to write to. A new turn moves all batches. */
int vel_batches_need(struct vel_batches *batches, struct vel_err *err);

/* With the lock: begin the next turn, or the first one, and end these launches (their
 * numbers, int64_t) with it. */
int vel_batches_begin(struct vel_batches *batches, const struct vel_vec *ends,
                      struct vel_err *err);

/* Has another leader begun after this one? VEL_ECANCEL. */
int vel_batches_check(struct vel_batches *batches, struct vel_err *err);

/* Facts as text: whose a batch is; its line; a launch; all that there are; any one. */
int vel_batches_put(const struct vel_batch *batch, struct vel_buf *ret,
                    struct vel_err *err);
int vel_batches_put_line(const struct vel_batch *batch, struct vel_buf *ret,
                         struct vel_err *err);
int vel_batches_put_fact(const struct vel_fact *fact, struct vel_buf *ret,
                         struct vel_err *err);

int vel_batches_put_own(const struct vel_batches *batches, int64_t number,
                        struct vel_buf *ret, struct vel_err *err);
int vel_batches_put_all(const struct vel_batches *batches, int64_t number,
                        struct vel_buf *ret, struct vel_err *err);

/* Nobody makes a batch of the own turn any more. */
void vel_batches_leave_turn(struct vel_batches *batches);

/* A directory goes when the lock is given back. */
void vel_batches_doom(struct vel_batches *batches, const char *dir);

/* Directories of batches that are none go, of this launch and of those that it has just
 * taken over. Others' are theirs. */
void vel_batches_sweep(struct vel_batches *batches, const struct vel_carry *carry);

#endif
