/* SPDX-License-Identifier: BSD-3-Clause */
/* fetch - a dataset on the prefix comes back into the caches. */
#ifndef VEL_XFER_FETCH_H
#define VEL_XFER_FETCH_H

#include "base/vec.h"
#include "meta/index.h"
#include "meta/filelist.h"
#include "xfer/crew.h"

/* Collective over crew->world. The files of a dataset on the prefix, each told to the
 * rank that wrote it, or to another one when there are fewer ranks now: items of
 * *ret_files are struct vel_listed. */
int vel_fetch_lists(const struct vel_crew *crew, const struct vel_entry *entry,
                    struct vel_vec *ret_files, struct vel_err *err);

/* Collective. Copy these files into `dir`, this rank's own in the cache, under their
 * cached names, each checked against its record; those that were written through are
 * only checked. On failure, the same on all ranks,
 * `dir` is empty of them. */
int vel_fetch_files(const struct vel_crew *crew, const struct vel_entry *entry,
                    const struct vel_vec *files, const char *dir, struct vel_err *err);

/* Local. Are they all where they were published, as they were? For files that are read
 * in place. */
int vel_fetch_check(const struct vel_crew *crew, const struct vel_entry *entry,
                    const struct vel_vec *files, struct vel_err *err);

#endif
