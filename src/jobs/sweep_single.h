/* SPDX-License-Identifier: BSD-3-Clause */
/* sweep_single - a file that is a dataset by itself, and by now a file on the prefix as
 * any: no DATASET line has it, nor another dataset its name, and no node holds it. What
 * is recorded of it serves nobody but who lists it.
 */
#ifndef VEL_JOBS_SWEEP_SINGLE_H
#define VEL_JOBS_SWEEP_SINGLE_H

#include "meta/index.h"
#include "view/seals.h"
#include "view/view.h"

/* So many of the newest datasets of one file keep their records: each costs whoever
 * begins some reading. */
enum { VEL_SINGLES_KEPT = 256 };

/* For a dataset on the prefix that no cache of the view has: is it one, and would the
 * view know if a cache had it? What cannot be known is no. */
bool vel_sweep_is_single(struct vel_index *index, struct vel_seals_of *seals,
                         const char *prefix, const struct vel_view *view,
                         const struct vel_entry *entry);

#endif
