/* SPDX-License-Identifier: BSD-3-Clause */
/* part_files - which files a rank's part in a cache consists of, to be flushed. */
#ifndef VEL_JOBS_PART_FILES_H
#define VEL_JOBS_PART_FILES_H

#include "base/err.h"
#include "base/vec.h"
#include "sys/fs.h"

/* Among a rank's files, and no cached name of any: the list of those that it has
 * written where they belong, past the cache. */
#define VEL_THROUGH_LIST "@through"

/* The files of `rank` in `dir`, as its redundancy file says, and those of the list
 * above; appended to *files, items struct vel_flush_file. Those that are dated have to
 * be summed up before they are flushed. VEL_ENOENT: there is no redundancy file that
 * can be read. */
int vel_part_files(struct vel_fs *fs, const char *prefix, const char *dir, int rank,
                   struct vel_vec *files, struct vel_err *err);

#endif
