/* SPDX-License-Identifier: BSD-3-Clause */
/* paced - files of stores that are read and written no faster than their BANDWIDTH.
 *
 * A twin of a file system for one job: whatever the job reads or writes below one of
 * these directories waits for the throttle of that directory, which all jobs share. So
 * whoever moves bytes (a copy, an encoding, a pull) need not know that there is a
 * limit.
 */
#ifndef VEL_XFER_PACED_H
#define VEL_XFER_PACED_H

#include <pthread.h>
#include <stddef.h>

#include "base/vec.h"
#include "sys/fs_twin.h"
#include "xfer/throttle.h"
#include "xfer/watch.h"

struct vel_paced_dir {
    const char *dir;
    struct vel_throttle *throttle;
};

struct vel_paced {
    struct vel_fs_twin twin; /* its fs is to be used; the first member */
    const struct vel_paced_dir *dirs;
    size_t n;
    const struct vel_watch *watch;
    pthread_mutex_t lock;  /* guards what follows */
    struct vel_vec opened; /* what waits for a throttle */
};

/* Everything is borrowed. Any thread of the job may use paced->twin.fs. While an
 * operation waits it asks the watch, which may be NULL, ten times a second; when that
 * says stop the operation is done at once, and whoever goes on is not slowed down any
 * more. */
void vel_paced_init(struct vel_paced *paced, struct vel_fs *under,
                    const struct vel_paced_dir *dirs, size_t n,
                    const struct vel_watch *watch);

/* All files are closed. */
void vel_paced_fini(struct vel_paced *paced);

#endif
