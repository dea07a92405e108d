/* SPDX-License-Identifier: BSD-3-Clause */
/* entry - record "entry": a dataset in the index of the prefix, where it is and what
 * happened to it (doc/format-meta.txt). One process writes it: rank 0 of the dataset,
 * or whoever owns it (doc/protocol-leader.txt, 3). Every owner has an entry of its own,
 * so that one whose number is not the highest any more changes nothing for anybody.
 */
#ifndef VEL_META_ENTRY_H
#define VEL_META_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"
#include "meta/dataset.h"
#include "meta/over.h"
#include "sys/fs.h"

/* how much of a dataset is on the prefix */
enum vel_place_on_prefix {
    VEL_ON_CACHE,    /* nothing: it is in the caches only */
    VEL_ON_FLUSHING, /* some of it, under temporary names */
    VEL_ON_REMOVING, /* what has not been deleted yet */
    VEL_ON_STAGED,   /* all of it, some under temporary names: to be renamed */
    VEL_ON_PREFIX,   /* all of it */
};

struct vel_entry {
    struct vel_dataset dataset;
    int64_t owner; /* K of who wrote it, from 1; 0: a session, which needs none */
    enum vel_place_on_prefix place;
    int lists;        /* files records of the dataset, numbered from 0 */
    int attempt;      /* of the flush: part of its temporary names, see xfer/temp.h */
    int64_t flushed;  /* when, wall time; 0: not */
    int64_t fetched;  /* last attempt */
    int64_t failed;   /* when a fetch of it failed; 0: never */
    int64_t refused;  /* when a program that read it said it is not valid; 0: never */
    int64_t replaced; /* id of a newer dataset whose files took names of its; 0: none */
    bool is_encoded;  /* in all of its sets; said by owners only */
};

void vel_entry_fini(struct vel_entry *entry);

/* Can it be fetched: complete on the prefix, and nothing said against it? */
bool vel_entry_is_fetchable(const struct vel_entry *entry);

/* `dir` is PREFIX/.veloc everywhere below. Saved is the entry of entry->owner: whoever
 * changes one that another has written leaves that as it was read. */
int vel_entry_save(struct vel_fs *fs, const char *dir, const struct vel_entry *entry,
                   struct vel_err *err);

/* That of the highest owner. */
int vel_entry_load(struct vel_fs *fs, const char *dir, int64_t id,
                   struct vel_entry *ret, struct vel_err *err);

/* The bytes of the record, for messages between ranks. */
int vel_entry_encode(const struct vel_entry *entry, struct vel_buf *ret,
                     struct vel_err *err);
int vel_entry_decode(const void *bytes, size_t len, struct vel_entry *ret,
                     struct vel_err *err);

/* Of all its owners, that of the highest last: until then the dataset is what that
 * says. */
int vel_entry_remove(struct vel_fs *fs, const char *dir, int64_t id,
                     struct vel_err *err);

/* All readable entries, newest first: items of *ret are struct vel_entry, of each
 * dataset that of the highest owner. A damaged one is told in the log, and its dataset
 * is left out: what an owner before said does not hold any more. No index is an empty
 * one. */
int vel_index_load(struct vel_fs *fs, const char *dir, struct vel_vec *ret,
                   struct vel_err *err);
void vel_index_fini(struct vel_vec *entries);

/* Which entries are read: of datasets between these two, but not those below
 * `over_below` that are in `over` (may be NULL), which forgets what the index does not
 * have any more. */
struct vel_index_range {
    int64_t above, below, over_below;
    struct vel_over *over;
};

/* One entry, which is the caller's; a result that is not 0 ends the reading, and is
 * returned. */
typedef int vel_index_f(void *arg, struct vel_entry *entry, struct vel_err *err);

/* The same entry by entry, newest first. */
int vel_index_each(struct vel_fs *fs, const char *dir,
                   const struct vel_index_range *range, vel_index_f *each, void *arg,
                   struct vel_err *err);

/* The highest id that has a place in the index, be its entry readable or not; 0: there
 * is none. */
int vel_index_last(struct vel_fs *fs, const char *dir, int64_t *ret_id,
                   struct vel_err *err);

/* Remove what nobody reads any more: entries of owners before the highest, and
 * temporary files but those that the highest may be writing, or a session that is at
 * work with that dataset. What cannot be removed stays. */
typedef bool vel_index_busy_f(void *arg, int64_t id);
void vel_index_sweep(struct vel_fs *fs, const char *dir, vel_index_busy_f *is_busy,
                     void *arg);

/* Record "dropped": tell all nodes to delete a dataset when they next look; and the ids
 * of which that was told, items int64_t. */
int vel_dropped_save(struct vel_fs *fs, const char *dir, int64_t id,
                     struct vel_err *err);
int vel_dropped_load(struct vel_fs *fs, const char *dir, struct vel_vec *ret_ids,
                     struct vel_err *err);

#endif
