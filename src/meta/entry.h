/* SPDX-License-Identifier: BSD-3-Clause */
/* entry - record "entry": a dataset in the index of the prefix, where it is and what
 * happened to it (doc/format-meta.txt). One process writes it: rank 0 of the dataset.
 */
#ifndef VEL_META_ENTRY_H
#define VEL_META_ENTRY_H

#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"
#include "meta/dataset.h"
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
    enum vel_place_on_prefix place;
    int lists;        /* files records of the dataset, numbered from 0 */
    int attempt;      /* of the flush: part of its temporary names, see xfer/temp.h */
    int64_t flushed;  /* when, wall time; 0: not */
    int64_t fetched;  /* last attempt */
    int64_t failed;   /* when a fetch of it failed; 0: never */
    int64_t refused;  /* when a program that read it said it is not valid; 0: never */
    int64_t replaced; /* id of a newer dataset whose files took names of its; 0: none */
};

void vel_entry_fini(struct vel_entry *entry);

/* Can it be fetched: complete on the prefix, and nothing said against it? */
bool vel_entry_is_fetchable(const struct vel_entry *entry);

/* `dir` is PREFIX/.veloc everywhere below. */
int vel_entry_save(struct vel_fs *fs, const char *dir, const struct vel_entry *entry,
                   struct vel_err *err);
int vel_entry_load(struct vel_fs *fs, const char *dir, int64_t id,
                   struct vel_entry *ret, struct vel_err *err);

/* The bytes of the record, for messages between ranks. */
int vel_entry_encode(const struct vel_entry *entry, struct vel_buf *ret,
                     struct vel_err *err);
int vel_entry_decode(const void *bytes, size_t len, struct vel_entry *ret,
                     struct vel_err *err);

int vel_entry_remove(struct vel_fs *fs, const char *dir, int64_t id,
                     struct vel_err *err);

/* All readable entries, newest first: items of *ret are struct vel_entry. A damaged one
 * is told in the log and left out. No index is an empty one. */
int vel_index_load(struct vel_fs *fs, const char *dir, struct vel_vec *ret,
                   struct vel_err *err);
void vel_index_fini(struct vel_vec *entries);

/* The highest id that has a place in the index, be its entry readable or not; 0: there
 * is none. */
int vel_index_last(struct vel_fs *fs, const char *dir, int64_t *ret_id,
                   struct vel_err *err);

/* Record "current": the dataset that a restart takes first; 0: none. */
int vel_current_save(struct vel_fs *fs, const char *dir, int64_t id,
                     struct vel_err *err);
int vel_current_load(struct vel_fs *fs, const char *dir, int64_t *ret_id,
                     struct vel_err *err);

/* Record "dropped": tell all nodes to delete a dataset when they next look; and the ids
 * of which that was told, items int64_t. */
int vel_dropped_save(struct vel_fs *fs, const char *dir, int64_t id,
                     struct vel_err *err);
int vel_dropped_load(struct vel_fs *fs, const char *dir, struct vel_vec *ret_ids,
                     struct vel_err *err);

#endif
