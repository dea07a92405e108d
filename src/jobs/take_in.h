/* SPDX-License-Identifier: BSD-3-Clause */
/* take_in - what the files of take share. */
#ifndef VEL_JOBS_TAKE_IN_H
#define VEL_JOBS_TAKE_IN_H

#include "jobs/take.h"
#include "meta/filemap.h"
#include "red/header.h"
#include "view/batch.h"

/* Where complete files of the key are: struct vel_batch, appended. */
int vel_take_find_sources(const struct vel_take *take, struct vel_vec *ret,
                          struct vel_err *err);

/* The directory of the level in which the parts are made: where some are already, else
 * in `home`; NULL: in the one that is chosen. New string. */
int vel_take_level(const struct vel_take *take, const struct vel_vec *sources,
                   const char *home, char **ret_level, struct vel_err *err);
/* The cache where such files are; NULL: none of ours. */
const char *vel_take_home(const struct vel_take *take, const struct vel_batch *batch);
/* The directory of the dataset, in that. Its name is to be synced. */
int vel_take_make_home(const struct vel_take *take, const char *level, const char *home,
                       struct vel_err *err);
/* Is that another cache than one of the files'? */
bool vel_take_is_moved(const struct vel_take *take, const struct vel_vec *sources,
                       const char *level);

/* Where a file system has no links, or it is another one. */
enum vel_take_how { VEL_TAKE_MOVE, VEL_TAKE_COPY };

/* Give a file another name, in the place of what stands there. Where that cannot be it
 * gets that name alone, or is copied, and the copy is as old. */
int vel_take_add(struct vel_fs *fs, const char *source, const char *path,
                 enum vel_take_how how, struct vel_err *err);

/* Does a complete file of the dataset come from here? */
bool vel_take_is_file(const struct vel_seal_member *member,
                      const struct vel_batch_rank *rank,
                      const struct vel_batch_file *file);

/* Of several with one name the last counts, whichever rank of this node has closed it:
 * is there one after that order? */
bool vel_take_has_later(const struct vel_take *take, const struct vel_vec *sources,
                        const char *name, int64_t order);

/* Has a rank of another node closed later what this one has of the name? */
bool vel_take_is_given(const struct vel_take *take, int64_t rank, const char *name);

/* The ledger of the cache where a directory is; NULL: it is in none of ours. */
struct vel_batches *vel_take_ledger(const struct vel_take *take, const char *home);

/* What is owed for the parts of this node in `home` is said, in the ledger *ret. */
int vel_take_promise(const struct vel_take *take, const char *home, bool is_synced,
                     struct vel_batches **ret, struct vel_err *err);

/* The map of a member's part in a level's directory. */
int vel_take_map(const struct vel_take *take, const char *level,
                 const struct vel_seal_member *member, struct vel_filemap *ret,
                 struct vel_err *err);

/* All files in a part's directory, synced, listed in a redundancy file of the scheme
 * SINGLE. VEL_ENOENT: the member has files, and there are none. */
int vel_take_protect(const struct vel_take *take, const uint8_t id[VEL_ENCODING_ID],
                     const struct vel_filemap *map,
                     const struct vel_seal_member *member, const char *dir,
                     struct vel_err *err);

/* Has a rank's directory all that is listed there, be it encoded in whichever way
 * since? Has it a redundancy file, in whatever state? */
bool vel_take_holds(const struct vel_take *take, const uint8_t id[VEL_ENCODING_ID],
                    int64_t rank, const char *dir);
bool vel_take_was_protected(const struct vel_take *take, const char *dir);

/* What goes to the prefix at once, and survives nothing but its process until then, is
 * not brought to the disk here, where another boot can be told. */
bool vel_take_is_unsynced(const struct vel_take *take);

/* Was a part of this node on the disk when it was told to be one? */
bool vel_take_was_synced(const struct vel_take *take, int64_t rank);

/* Nobody has taken its checksum yet, but it has the size that it was closed with; else
 * VEL_ECORRUPT. */
int vel_take_check_size(struct vel_fs *fs, const char *path, int64_t size,
                        struct vel_err *err);

#endif
