/* SPDX-License-Identifier: BSD-3-Clause */
/* forget - the records of datasets leave the prefix: nobody needs them any more, or
 * newer files have their names. The caller knows that, and that nobody flushes them. */
#ifndef VEL_JOBS_FORGET_H
#define VEL_JOBS_FORGET_H

#include <stdint.h>

#include "base/err.h"
#include "meta/index.h"

/* Also what flushes have left of their files under temporary names. What cannot be done
 * for one is no reason to do nothing for the others. Returns how many are gone. */
int64_t vel_forget_datasets(struct vel_index *index, const char *prefix,
                            const int64_t *ids, size_t n);

/* Its lists, when it is forgotten. Containers, or what may be some, stay: they are the
 * program's, which asked for that. */
int vel_forget_lists(struct vel_fs *fs, const char *dir, int64_t id,
                     struct vel_err *err);

#endif
