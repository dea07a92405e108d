/* SPDX-License-Identifier: BSD-3-Clause */
/* lock - one holder at a time, or several that share it, by a locked file.
 *
 * The system releases the lock when its holder dies, however he dies. The file stays,
 * and says who holds it for the sentence that others get. It must lie where flock(2)
 * works between those who compete: on one node everywhere, between nodes as the file
 * system was mounted.
 *
 * The lock belongs to the open file. A forked child shares it without knowing: there,
 * call vel_lock_abandon() and nothing else.
 */
#ifndef VEL_SYS_LOCK_H
#define VEL_SYS_LOCK_H

#include "sys/clock.h"
#include "sys/fs.h"
#include "sys/host.h"

struct vel_lock;

/* Take the lock at `path`, creating the file (0600) when there is none. VEL_EBUSY with
 * the holder's process and node while someone else has it, another thread of this
 * process included. fs must outlive the lock. */
int vel_lock_try(struct vel_fs *fs, const struct vel_host *host, const char *path,
                 struct vel_lock **ret_lock, struct vel_err *err);

/* The same, asking again for up to `limit` ns; then VEL_ETIMEOUT. */
int vel_lock_wait(struct vel_fs *fs, const struct vel_host *host,
                  struct vel_clock *clock, uint64_t limit, const char *path,
                  struct vel_lock **ret_lock, struct vel_err *err);

/* The process that holds the lock, when it is one of this machine, as far as the file
 * says so: there the system frees it at once when that dies. 0: none that is known. */
int64_t vel_lock_holder_here(struct vel_fs *fs, const struct vel_host *host,
                             const char *path);

/* Let the next one have it. NULL is nothing. */
void vel_lock_release(struct vel_lock *lock);

/* The same, and remove the file: for locks of what is itself going away. Those who wait
 * go on with a new file, and still one at a time. */
void vel_lock_remove(struct vel_lock *lock);

/* In a forked child: forget the lock and leave it to the parent. */
void vel_lock_abandon(struct vel_lock *lock);

#endif
