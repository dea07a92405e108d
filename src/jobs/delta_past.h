/* SPDX-License-Identifier: BSD-3-Clause */
/* delta_past - the datasets on the prefix before one, and the hashes that they have. */
#ifndef VEL_JOBS_DELTA_PAST_H
#define VEL_JOBS_DELTA_PAST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "jobs/hashes.h"
#include "meta/index.h"

struct vel_past;

/* Before dataset `id`. Only the record of the same list is looked at in each: of one
 * node while nodes keep their places, so that no node reads those of all. */
int vel_past_open(struct vel_index *index, int64_t id, int list,
                  struct vel_past **ret_past, struct vel_err *err);
void vel_past_close(struct vel_past *past);

/* The newest version of a file on the prefix, which is the past's, and its dataset;
 * NULL: none is known. Records that are damaged are told in the log and left out. */
int vel_past_find(struct vel_past *past, const char *name,
                  const struct vel_hashed **ret, int64_t *ret_id, struct vel_err *err);

/* Is no dataset between that one and ours still to be published? */
bool vel_past_is_last(const struct vel_past *past, int64_t id);

#endif
