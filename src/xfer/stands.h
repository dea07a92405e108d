/* SPDX-License-Identifier: BSD-3-Clause */
/* stands - is a file on the prefix still the one that a record lists?
 *
 * Anybody may write there: a newer dataset under the same names, the program itself, a
 * user. Size and time of a file that nobody touched are those of the record, which
 * costs one look; bytes are compared where that is not enough. Nothing here is
 * collective.
 */
#ifndef VEL_XFER_STANDS_H
#define VEL_XFER_STANDS_H

#include <stdbool.h>

#include "meta/index.h"
#include "meta/filelist.h"
#include "xfer/crew.h"
#include "xfer/flush.h"

/* It is there, with the recorded size and time. */
bool vel_stands_untouched(struct vel_fs *fs, const char *path,
                          const struct vel_listed *file);

/* The same, or with the recorded bytes: touched, or copied back. VEL_ENOENT,
 * VEL_ECORRUPT. */
int vel_stands_check(const struct vel_crew *crew, const char *path,
                     const struct vel_listed *file, struct vel_err *err);

/* If it is untouched it goes: not what another has written there. */
int vel_stands_remove(struct vel_fs *fs, const char *path,
                      const struct vel_listed *file, struct vel_err *err);

/* Size, checksum, mode and time of a file that stands where it belongs, into *file. */
int vel_stands_record(const struct vel_crew *crew, const char *path,
                      struct vel_listed *file, struct vel_err *err);

/* Checksums of those that are dated, which must not have been written to since. */
int vel_stands_sum_up(const struct vel_crew *crew, struct vel_vec *files,
                      struct vel_err *err);

/* Is what stands at `path` what a dataset of that range has put there as its file
 * `name`? */
bool vel_stands_put(struct vel_index *index, const struct vel_index_range *range,
                    const char *name, const char *path);

/* Of a dataset on the prefix, as its lists tell: is every file untouched? Containers
 * are nobody else's. */
int vel_stands_dataset(const struct vel_crew *crew, const struct vel_entry *entry,
                       bool *ret_stands, struct vel_err *err);

#endif
