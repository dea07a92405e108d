/* SPDX-License-Identifier: BSD-3-Clause */
/* sweep_temps - what a flush has left on the prefix that nobody goes on with: the
 * temporary files of a dataset which no cache has any more, and its lists of files. */
#ifndef VEL_JOBS_SWEEP_TEMPS_H
#define VEL_JOBS_SWEEP_TEMPS_H

#include <stdint.h>

#include "base/err.h"
#include "meta/index.h"

/* Remove them, of all its owners, or the files alone and keep the lists. The caller
 * knows that nobody flushes it. */
int vel_sweep_temps(struct vel_index *index, const char *prefix, int64_t id,
                    bool keeps_lists, struct vel_err *err);

#endif
