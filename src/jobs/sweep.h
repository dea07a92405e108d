/* SPDX-License-Identifier: BSD-3-Clause */
/* sweep - what launches that are over have left on the prefix, and nobody needs any
 * more (doc/protocol.txt, 10; doc/life.txt, 12): their directories and views, claims of
 * meetings, stubs at names whose files are lost.
 *
 * Done by who has made a view, which tells what is still needed. Each step may be
 * interrupted: the next view's chair goes on. What cannot be known is left.
 */
#ifndef VEL_JOBS_SWEEP_H
#define VEL_JOBS_SWEEP_H

#include "base/err.h"
#include "sys/fs.h"
#include "view/view.h"

struct vel_sweep { /* all borrowed */
    struct vel_fs *fs;
    const char *prefix, *dir; /* PREFIX, PREFIX/.veloc */
    struct vel_index *index;  /* of that */
    const char *launch;       /* ours */
    const struct vel_view *view;
    bool leaves_stubs; /* to others */
};

struct vel_swept {
    int launches, meetings, stubs, datasets;
};

/* Are there datasets of HDF5 files that nobody has seen? Nobody knows their names then,
 * and all stubs stay. */
bool vel_sweep_has_unseen_files(struct vel_fs *fs, const char *dir,
                                const struct vel_view *view);

int vel_sweep(const struct vel_sweep *sweep, struct vel_swept *ret,
              struct vel_err *err);

#endif
