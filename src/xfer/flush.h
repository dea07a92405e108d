/* SPDX-License-Identifier: BSD-3-Clause */
/* flush - a dataset on the prefix: what was written there is listed, and one goes. How
 * it gets there from the caches, and its names, is in jobs/flushing.h.
 *
 * All of it is there under temporary names before the first file gets its own; from
 * then on whoever comes next can only finish. So a file that replaces an older one of
 * the same name is never the only trace of either dataset.
 */
#ifndef VEL_XFER_FLUSH_H
#define VEL_XFER_FLUSH_H

#include "base/vec.h"
#include "meta/index.h"
#include "meta/filelist.h"
#include "xfer/crew.h"

/* A file of this process to be flushed; one that was written through is only checked,
 * and listed. */
struct vel_flush_file {
    char *from;               /* where it is now */
    struct vel_listed listed; /* whose it is; size and checksum as recorded */
    bool is_dated;            /* but no checksum yet */
};

/* Frees the items of a vector of them, too. */
void vel_flush_files_fini(struct vel_vec *files);

/* Collective over crew->world. Files that were written on the prefix, under their
 * temporary names (xfer/temp.h), by one rank or by several, are listed there, as they
 * are now; entry->lists is how many lists there are. */
int vel_flush_list(const struct vel_crew *crew, struct vel_vec *files,
                   struct vel_entry *entry, struct vel_err *err);

/* By one process. Remove what a dataset that the caches hold has on the prefix: the
 * entry says VEL_ON_CACHE. Files that were written through stay, as a part of what is
 * held. */
int vel_flush_take_back(const struct vel_crew *crew, struct vel_entry *entry,
                        struct vel_err *err);

/* By one process. Remove a dataset's files from the prefix, unless another dataset has
 * replaced them, with the directories that are empty then; and its entry. */
int vel_flush_remove(const struct vel_crew *crew, struct vel_entry *entry,
                     struct vel_err *err);

#endif
