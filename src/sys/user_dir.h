/* SPDX-License-Identifier: BSD-3-Clause */
/* user_dir - BASE/USER, where all lies that a user has below CACHE_BASE, CNTL_BASE or a
 * STORE. Others may write in BASE, as in /tmp, and be there first: what stands at that
 * name then is not touched, and BASE/USER.1 to BASE/USER.7 are tried in turn.
 *
 * The first that is ours is the one, for all processes and tools and for good: a
 * directory, no link, in which nobody else may write. Only where none is ours a new one
 * is made, at the first of these names that is free; so two that begin together make
 * the same one, unless another user takes one of his away just between their looks.
 */
#ifndef VEL_SYS_USER_DIR_H
#define VEL_SYS_USER_DIR_H

#include "sys/fs.h"

/* Which it is, or would be when it is made; BASE/USER itself where all names are taken,
 * which whoever looks at it finds not to be ours. A new string; NULL: no memory. */
char *vel_user_dir(struct vel_fs *fs, const char *base, const char *user);

/* The same, made when it is not there, with everything above it; told in the log when
 * it is another than BASE/USER. VEL_EUNSAFE: all names are taken. */
int vel_user_dir_make(struct vel_fs *fs, const char *base, const char *user,
                      char **ret_dir, struct vel_err *err);

#endif
