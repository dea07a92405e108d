/* SPDX-License-Identifier: BSD-3-Clause */
/* fs_limit - a file system that never keeps one thread waiting for long.
 *
 * Who must answer others cannot be inside a call that does not come back. A twin wraps
 * another file system; what one thread, the bound one, does below a directory is done
 * by a thread of the twin's own, and waited for up to a limit. Then it is -ETIMEDOUT:
 * the call may still be done, or not, as with a server that was cut off. Until it has
 * come back every other one is -ETIMEDOUT at once, so that calls are done in the order
 * in which they were asked for, or not at all.
 *
 * Other threads, and paths elsewhere, are passed through.
 */
#ifndef VEL_SYS_FS_LIMIT_H
#define VEL_SYS_FS_LIMIT_H

#include "sys/fs.h"

struct vel_fs_limit;

/* A twin over `under`, borrowed; `below` is copied, and absolute. limit: ns. */
int vel_fs_limit_create(struct vel_fs *under, const char *below, uint64_t limit,
                        struct vel_fs_limit **ret_limit, struct vel_err *err);

/* Never waits: what is still under way has `under` until it comes back, and what it has
 * opened is closed then. NULL is nothing. */
void vel_fs_limit_destroy(struct vel_fs_limit *limit);

/* The calls of this thread are limited from now on. */
void vel_fs_limit_bind(struct vel_fs_limit *limit);

/* By the bound thread: what reads only, and what it opens for that, is passed through
 * from now on, or is not. */
void vel_fs_limit_let_read(struct vel_fs_limit *limit, bool lets);

/* The file system to hand to all threads; belongs to the twin. */
struct vel_fs *vel_fs_limit_fs(struct vel_fs_limit *limit);

#endif
