/* SPDX-License-Identifier: BSD-3-Clause */
/* entry - a dataset of a prefix: how far it is, and what happened to it
 * (doc/format-meta.txt). The index (meta/index.h) has one of each; its owner says it.
 */
#ifndef VEL_META_ENTRY_H
#define VEL_META_ENTRY_H

#include <stdbool.h>
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
    int64_t owner; /* K of whose word it is, from 1; 0: a session's */
    enum vel_place_on_prefix place;
    int lists;        /* files records of the dataset, numbered from 0 */
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

/* As text: what is said of it in a ledger, and in messages. VEL_ECORRUPT: it is none.
 */
int vel_entry_encode(const struct vel_entry *entry, struct vel_buf *ret,
                     struct vel_err *err);
int vel_entry_decode(const void *bytes, size_t len, struct vel_entry *ret,
                     struct vel_err *err);

/* A short list of its files (meta/filelist.h), which is in the text in the ledger. */
struct vel_entry_list {
    int list;
    struct vel_vec files; /* struct vel_listed */
};
void vel_entry_lists_fini(struct vel_vec *lists);

/* The text with these lists, items struct vel_entry_list. NULL: with those of the text
 * `before`, unless nothing of the dataset is on the prefix any more. */
int vel_entry_encode_lists(const struct vel_entry *entry, const struct vel_vec *lists,
                           const char *before, struct vel_buf *ret,
                           struct vel_err *err);

/* One of them, out of the text. VEL_ENOENT: it does not have that. */
int vel_entry_decode_list(const char *text, int list, struct vel_vec *ret,
                          struct vel_err *err);

/* Record "dropped": tell all nodes to delete a dataset when they next look; and the ids
 * of which that was told, items int64_t. `dir` is PREFIX/.veloc. */
int vel_dropped_save(struct vel_fs *fs, const char *dir, int64_t id,
                     struct vel_err *err);
int vel_dropped_load(struct vel_fs *fs, const char *dir, struct vel_vec *ret_ids,
                     struct vel_err *err);

#endif
