/* SPDX-License-Identifier: BSD-3-Clause */
/* prefix - record "prefix": the identity of a prefix directory, by which caches find
 * their way back to it, whatever job runs (doc/format-meta.txt). */
#ifndef VEL_META_PREFIX_H
#define VEL_META_PREFIX_H

#include "base/err.h"
#include "sys/fs.h"

enum { VEL_PREFIX_ID = 37 }; /* room for a uuid as text */

/* The identity; made when there is none, by whoever comes first. `dir` is
 * PREFIX/.veloc, or a directory in it for a part of a job that keeps its datasets
 * apart; it is made with what lies below it. */
int vel_prefix_open(struct vel_fs *fs, const char *dir, char ret_id[VEL_PREFIX_ID],
                    struct vel_err *err);

/* Remove identities that launches which died have left half written. What cannot be
 * removed stays. */
void vel_prefix_sweep(struct vel_fs *fs, const char *dir);

/* The same as vel_prefix_open without leaving a trace: VEL_ENOENT when there
 * is none. */
int vel_prefix_look(struct vel_fs *fs, const char *dir, char ret_id[VEL_PREFIX_ID],
                    struct vel_err *err);

#endif
