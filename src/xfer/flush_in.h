/* SPDX-License-Identifier: BSD-3-Clause */
/* flush_in - what a flush and whoever goes on with one share. */
#ifndef VEL_XFER_FLUSH_IN_H
#define VEL_XFER_FLUSH_IN_H

#include "xfer/flush.h"

/* Where a file of a dataset goes. */
struct vel_flush_target {
    char *dest;
    char *temporary;
};

/* By its cached name, in this attempt to flush the dataset. */
int vel_flush_target(const struct vel_crew *crew, int64_t id, int attempt,
                     const char *name, struct vel_flush_target *ret,
                     struct vel_err *err);
void vel_flush_target_fini(struct vel_flush_target *target);

/* Collective. Rank 0 changes the entry, and everybody sees it changed or not; what the
 * new place says must be true of all ranks by then. After a failure the record may be
 * either. */
int vel_flush_mark(const struct vel_crew *crew, struct vel_entry *entry,
                   enum vel_place_on_prefix place, struct vel_err *err);

/* Local. Give a file of a staged dataset its name. VEL_ENOENT, VEL_ECORRUPT: it is
 * lost, since it has not got its name before either. */
int vel_flush_name_one(const struct vel_crew *crew, const struct vel_entry *entry,
                       const struct vel_listed *file, struct vel_err *err);

/* Local. Remove the lists and the containers of a dataset that is not on the prefix, or
 * not any more. */
int vel_flush_remove_lists(const struct vel_crew *crew, int64_t id,
                           struct vel_err *err);

#endif
