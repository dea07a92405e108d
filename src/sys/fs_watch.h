/* SPDX-License-Identifier: BSD-3-Clause */
/* fs_watch - a file system that says so when an operation does not come back.
 *
 * A file system that hangs keeps a process inside a system call, where it can neither
 * be asked nor answer. A twin wraps another file system, notes what is under way on
 * which path, and a thread of its own warns of what takes too long; and again when it
 * has come back after all. Nothing is given up: only the operator can do that.
 */
#ifndef VEL_SYS_FS_WATCH_H
#define VEL_SYS_FS_WATCH_H

#include "sys/fs.h"

struct vel_fs_watch;

/* A twin over `under`, borrowed, that warns of operations that take longer than `limit`
 * ns, once each. It may be used by any thread. */
int vel_fs_watch_create(struct vel_fs *under, uint64_t limit,
                        struct vel_fs_watch **ret_watch, struct vel_err *err);

/* What is still under way may come back later: then it is never freed. NULL is nothing.
 */
void vel_fs_watch_destroy(struct vel_fs_watch *watch);

/* The file system to hand to who is watched; belongs to the twin. */
struct vel_fs *vel_fs_watch_fs(struct vel_fs_watch *watch);

#endif
