/* SPDX-License-Identifier: BSD-3-Clause */
/* placeholders_in - what the files of placeholders share: the table and its items. */
#ifndef VEL_JOBS_PLACEHOLDERS_IN_H
#define VEL_JOBS_PLACEHOLDERS_IN_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/vec.h"
#include "jobs/placeholders.h"

/* An anchor of a file. Its descriptor does not change, another item takes its place: so
 * whoever follows it needs no lock. */
struct vel_placeholder {
    char *dir;
    int64_t rank;
    struct vel_anchor anchor;
    struct vel_anchor_hold hold;
    unsigned users; /* the table, and who follows it */
    bool is_open;   /* its file is: it is not said, and none that is looked for */
    int64_t said;   /* how late it was, of what leaders before have said */
};

struct vel_placeholders {
    struct vel_fs *fs;
    struct vel_batches *const *ledgers; /* of each cache */
    size_t n_ledgers;
    pthread_mutex_t lock; /* guards all below */
    struct vel_vec items; /* struct vel_placeholder *, the oldest first */
    atomic_size_t held;
    unsigned changes; /* versions that came to a path: what was seen before is stale */
};

/* One that is in no table yet, held if there is a descriptor for it. Asks the prefix.
 * NULL: out of memory. The anchor is copied, for file `name`, at `path`. */
struct vel_placeholder *vel_placeholder_make(struct vel_placeholders *all,
                                             const struct vel_placeholder_file *file,
                                             const struct vel_anchor *anchor,
                                             const char *path);

void vel_placeholder_discard(struct vel_placeholders *all,
                             struct vel_placeholder *item);

/* --- with the lock --- */

struct vel_placeholder *vel_placeholder_at(const struct vel_placeholders *all,
                                           size_t i);
size_t vel_placeholder_find(const struct vel_placeholders *all,
                            const struct vel_placeholder_file *file);

/* Into the table, in the place of item `at` or behind all; takes the item. */
int vel_placeholder_put(struct vel_placeholders *all, size_t at,
                        struct vel_placeholder *item, struct vel_err *err);
/* The same, right behind item `like`: another name of a file is as old as that. NULL,
 * or one that is there no more: behind all. */
int vel_placeholder_put_beside(struct vel_placeholders *all,
                               const struct vel_placeholder *like,
                               struct vel_placeholder *item, struct vel_err *err);
void vel_placeholder_drop(struct vel_placeholders *all, size_t at);
void vel_placeholder_leave(struct vel_placeholders *all, struct vel_placeholder *item);

/* What the table has, or that it has nothing of a file any more, is said in the ledger
 * of its cache; is_synced: and on the disk. */
int vel_placeholder_say(struct vel_placeholders *all,
                        const struct vel_placeholder *item, bool is_synced,
                        struct vel_err *err);
int vel_placeholder_unsay(struct vel_placeholders *all,
                          const struct vel_placeholder_file *file, struct vel_err *err);

/* The item goes, and is said no more if it was: a cache that is full is no reason to
 * keep it. */
void vel_placeholder_remove(struct vel_placeholders *all, size_t at);

/* --- without the lock: the prefix may be slow --- */

/* An item in use, with copies of what others may change meanwhile. */
struct vel_placeholder_use {
    struct vel_placeholder *item;
    char *dir;
    int64_t rank;
    struct vel_anchor anchor;
    struct vel_anchor_hold hold;
};

/* VEL_ENOENT: the file has none. */
int vel_placeholder_begin_use(struct vel_placeholders *all,
                              const struct vel_placeholder_file *file,
                              struct vel_placeholder_use *use, struct vel_err *err);
void vel_placeholder_end_use(struct vel_placeholders *all,
                             struct vel_placeholder_use *use);

/* The same of an item, with the lock. */
int vel_placeholder_use_item(struct vel_placeholder *item,
                             struct vel_placeholder_use *use, struct vel_err *err);

/* The next file from item *next on that has the same placeholder as `file`. *ret_older:
 * it was closed before it. */
bool vel_placeholder_find_other(struct vel_placeholders *all,
                                const struct vel_placeholder_use *of,
                                const struct vel_placeholder_file *file, size_t *next,
                                struct vel_placeholder_use *ret, bool *ret_older);

/* With the lock: what is being patched is what it was. */
void vel_placeholder_inherit(const struct vel_placeholders *all,
                             struct vel_placeholder *item);

bool vel_placeholder_is_same(const struct vel_anchor *a, const struct vel_anchor *b);

#endif
