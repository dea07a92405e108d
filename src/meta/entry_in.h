/* SPDX-License-Identifier: BSD-3-Clause */
/* entry_in - one entry by its owner, for the index that finds out who that is. */
#ifndef VEL_META_ENTRY_IN_H
#define VEL_META_ENTRY_IN_H

#include "meta/entry.h"

int vel_entry_load_of(struct vel_fs *fs, const char *dir, int64_t id, int64_t owner,
                      struct vel_entry *ret, struct vel_err *err);

#endif
