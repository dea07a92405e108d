/* SPDX-License-Identifier: BSD-3-Clause */
/* mend - a live file, whose process died while it wrote, is brought back to its newest
 * point by the journal that it has left on this node (doc/format-journal.txt, 6). */
#ifndef VEL_LOG_MEND_H
#define VEL_LOG_MEND_H

#include <stdbool.h>
#include <stdint.h>

#include "log/journal.h"

struct vel_mend_of {
    struct vel_fs *fs;
    struct vel_clock *clock;
    const char *dir;      /* where journals are */
    const char *path;     /* of the file */
    const char *replaced; /* a directory for what mending replaces */
    uint64_t limit;       /* ns: so long is waited for who has the file locked */
    vel_journal_head_f *close_head; /* NULL: it stays */
};

enum vel_mended {
    VEL_MEND_NOTHING, /* it has no journal */
    VEL_MEND_HELD,    /* its writer lives, or a child that it has left */
    VEL_MEND_LEFT, /* it is as native HDF5 left it: the journal said nothing, and went
                    */
    VEL_MEND_DONE,
};

/* On VEL_MEND_DONE *ret_replaced, a new string, is where what was replaced lies; NULL:
 * nothing was, but a mark that the file is open. Fails
 * when it would be mended and cannot be: what stands at the path is not to be believed.
 */
int vel_mend(const struct vel_mend_of *of, enum vel_mended *ret, char **ret_replaced,
             struct vel_err *err);

/* Journals that nobody will ask for: of before the node was started, or of a writer
 * that died while it made one. */
void vel_mend_sweep(struct vel_fs *fs, const char *dir);

/* Who makes the file anew, or removes it: its journal says nothing any more, unless its
 * writer lives. */
void vel_mend_forget(struct vel_fs *fs, const char *dir, const struct stat *file);

#endif
