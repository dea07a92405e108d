/* SPDX-License-Identifier: BSD-3-Clause */
/* forget - the records of a dataset leave the prefix: nobody needs it any more, or
 * newer files have its names. The caller knows that, and that nobody flushes it. */
#ifndef VEL_JOBS_FORGET_H
#define VEL_JOBS_FORGET_H

#include <stdint.h>

#include "base/err.h"
#include "sys/fs.h"

/* Behind the name of a directory that is being removed, which has a dot before it. */
#define VEL_GONE ".h5v-tmp"

/* Also what flushes have left of its files under temporary names; `dir` is
 * PREFIX/.veloc. */
int vel_forget_dataset(struct vel_fs *fs, const char *prefix, const char *dir,
                       int64_t id, struct vel_err *err);

/* One that was killed has left the dataset's directory under the path `gone`. */
int vel_forget_rest(struct vel_fs *fs, const char *dir, int64_t id, const char *gone,
                    struct vel_err *err);

#endif
