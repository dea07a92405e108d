/* SPDX-License-Identifier: BSD-3-Clause */
/* delta - a file goes to the prefix where an older version of it was flushed to: only
 * what has changed is written (FLUSH_DELTA; doc/life.txt, 10).
 *
 * A version is known by its hashes record, and only while it stands there as it was
 * left. Where anything is in doubt the whole file is written, as without this.
 */
#ifndef VEL_JOBS_DELTA_H
#define VEL_JOBS_DELTA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "meta/filelist.h"
#include "meta/index.h"
#include "sys/fs.h"
#include "xfer/copy.h"

struct vel_delta_counts {
    uint64_t compared; /* bytes of files of which an older version was there */
    uint64_t cloned;   /* bytes of these that were not written, but shared or left */
    uint64_t written;  /* bytes that were written, of all files and of patches */
};

struct vel_delta;

/* For the files of list `list` of dataset `id`; the index is borrowed. */
int vel_delta_open(struct vel_index *index, int64_t id, int list,
                   struct vel_delta **ret_delta, struct vel_err *err);
void vel_delta_close(struct vel_delta *delta);

/* Copy file->from to file->to as vel_copy_resume() does, for the name `dest`. With
 * may_patch what comes to lie there may be a patch: listed->is_patch tells. Of the
 * dataset in which the older version was nothing needs to be there any more. */
int vel_delta_copy(struct vel_delta *delta, const struct vel_copy_how *how,
                   const struct vel_xfer_file *file, const char *dest, bool may_patch,
                   struct vel_copy_resume *resume, struct vel_listed *listed,
                   struct vel_xfer_copied *ret_copied, struct vel_err *err);

/* A file that an earlier attempt has copied whole to file->to: its hashes are those of
 * the source, when that has its checksum still. */
int vel_delta_keep(struct vel_delta *delta, const struct vel_copy_how *how,
                   const struct vel_xfer_file *file, const struct vel_listed *listed,
                   struct vel_err *err);

/* Everything is copied: the hashes record. */
int vel_delta_save(struct vel_delta *delta, struct vel_err *err);

struct vel_delta_counts vel_delta_counts(const struct vel_delta *delta);

#endif
