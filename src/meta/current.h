/* SPDX-License-Identifier: BSD-3-Clause */
/* current - the dataset that a restart takes first of those on the prefix. That is the
 * newest checkpoint there, unless somebody has chosen another one since (record
 * "current", doc/format-meta.txt 5).
 */
#ifndef VEL_META_CURRENT_H
#define VEL_META_CURRENT_H

#include <stdint.h>

#include "base/err.h"
#include "meta/index.h"

/* Choose `id`, until a checkpoint that is not there yet comes to the prefix. */
int vel_current_choose(struct vel_index *index, int64_t id, struct vel_err *err);

/* The one that is current; 0: there is none. */
int vel_current_find(struct vel_index *index, int64_t *ret_id, struct vel_err *err);

#endif
