/* SPDX-License-Identifier: BSD-3-Clause */
/* writing - record "writing" (doc/format-meta.txt): the temporary name under which a
 * process brings a file to its own path by itself, in its launch's directory on the
 * prefix. When it is killed the next launch removes what is named there.
 */
#ifndef VEL_JOBS_WRITING_H
#define VEL_JOBS_WRITING_H

#include "sys/fs.h"

struct vel_writing {
    char *temporary; /* nobody else's */
    char *record;    /* NULL: none was written */
};

/* `launch_dir` may be NULL, or not be there: then there is no record. */
int vel_writing_begin(struct vel_fs *fs, const char *launch_dir, const char *dest,
                      struct vel_writing *ret, struct vel_err *err);

/* It has its name, or was removed; frees. */
void vel_writing_end(struct vel_fs *fs, struct vel_writing *writing);

/* Of a launch that is over. What cannot be removed stays for the next. */
void vel_writing_sweep(struct vel_fs *fs, const char *launch_dir);

#endif
