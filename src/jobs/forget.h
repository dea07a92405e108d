/* SPDX-License-Identifier: BSD-3-Clause */
/* forget - the records of a dataset leave the prefix: nobody needs it any more, or
 * newer files have its names. The caller knows that, and that nobody flushes it. */
#ifndef VEL_JOBS_FORGET_H
#define VEL_JOBS_FORGET_H

#include <stdint.h>

#include "base/err.h"
#include "meta/index.h"

/* Also what flushes have left of its files under temporary names. */
int vel_forget_dataset(struct vel_index *index, const char *prefix, int64_t id,
                       struct vel_err *err);

#endif
