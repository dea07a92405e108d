/* SPDX-License-Identifier: BSD-3-Clause */
/* stub - what stands at a new name until its file is flushed: for HDF5 a file that it
 * refuses to open, for people a small text, for us the launch that made it and a random
 * mark by which it is known again (doc/format-view.txt). */
#ifndef VEL_JOBS_STUB_H
#define VEL_JOBS_STUB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "sys/fs.h"

enum { VEL_STUB_MOST = 4096, VEL_STUB_LAUNCH = 64 };

#define VEL_STUB_LINE "h5veloc stub 2\n" /* the second line of each */

struct vel_stub {
    char launch[VEL_STUB_LAUNCH + 1];
    uint64_t mark;
};

struct vel_stub_maker {
    const char *launch;
    const char *drafts; /* a directory that goes with the launch; NULL: none */
    mode_t mode;        /* that the file will have; 0: 0600 */
};

/* Make one at a path that is free; VEL_EEXIST when it is not. It is written in `drafts`
 * and linked, so that a kill leaves no half of one at the name; at once where no link
 * leads there, as to another file system. */
int vel_stub_make(struct vel_fs *fs, const char *path,
                  const struct vel_stub_maker *maker, struct vel_stub *ret,
                  struct vel_err *err);

/* An empty file becomes one, in place: whoever has renamed or linked it has a stub.
 * VEL_EINVAL: it is not empty. */
int vel_stub_fill(struct vel_fs *fs, const char *path, const char *launch);

/* VEL_ENOENT: nothing is there. VEL_EINVAL: something else. */
int vel_stub_read(struct vel_fs *fs, const char *path, struct vel_stub *ret,
                  struct vel_err *err);

/* Unlink it if it is a stub of this launch, which is over, and whose file is lost.
 * *ret_removed (may be NULL) tells. */
int vel_stub_remove(struct vel_fs *fs, const char *path, const char *launch,
                    bool *ret_removed, struct vel_err *err);

#endif
