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

/* By its cached name, or that of its container; of an owner in its attempt to flush. */
int vel_flush_target(const struct vel_crew *crew, int64_t id, int64_t owner,
                     const struct vel_listed *file, struct vel_flush_target *ret,
                     struct vel_err *err);
void vel_flush_target_fini(struct vel_flush_target *target);

/* Carry out what is listed as a patch, as vel_patch_apply(). */
int vel_flush_patch(const struct vel_crew *crew, int64_t id,
                    const struct vel_flush_target *target,
                    const struct vel_listed *file, bool is_alone, struct vel_err *err);

/* Remove a file under its temporary names of all owners from `first` to `last`, and
 * what belongs to them; 0: a session. */
int vel_flush_remove_temporaries(const struct vel_crew *crew, int64_t id,
                                 const struct vel_listed *file, int64_t first,
                                 int64_t last, struct vel_err *err);

/* The temporary names survive a loss of power: before anybody is told that all
 * is staged. Those that are NULL are left out. */
int vel_flush_sync_names(const struct vel_crew *crew,
                         const struct vel_flush_target *targets, size_t n,
                         struct vel_err *err);

/* Give a file of a staged dataset its name, or the container of which it is the
 * last file. VEL_ENOENT, VEL_ECORRUPT: it is lost, since it has not got its name before
 * either. */
int vel_flush_name_one(const struct vel_crew *crew, const struct vel_entry *entry,
                       const struct vel_listed *file, struct vel_err *err);

/* Remove the lists and the containers of a dataset that is not on the prefix, or
 * not any more. */
int vel_flush_remove_lists(const struct vel_crew *crew, int64_t id,
                           struct vel_err *err);

#endif
