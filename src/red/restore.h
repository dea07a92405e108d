/* SPDX-License-Identifier: BSD-3-Clause */
/* restore - a lost member while it is made again: everything under temporary names
 * first, so that nothing that is there changes until all members agree. */
#ifndef VEL_RED_RESTORE_H
#define VEL_RED_RESTORE_H

#include "base/err.h"
#include "red/header.h"
#include "red/member.h"
#include "sys/fs.h"

struct vel_restore {
    struct vel_fs *fs;
    const char *dir;
    struct vel_red_header
        *header;  /* lists complete, checksums of the payload still 0 */
    char **names; /* temporary names of the files, relative to dir */
    char *path;   /* of the redundancy file */
    char *temporary;
    struct vel_member member;
};

/* Open the member to be written; what an earlier attempt left under the temporary names
 * is removed. `label` is that of the redundancy file. header is borrowed. */
int vel_restore_open(struct vel_restore *restore, struct vel_fs *fs, const char *dir,
                     const char *label, struct vel_red_header *header,
                     struct vel_err *err);

/* All bytes are written: compare the checksums of the files with those recorded. */
int vel_restore_check(struct vel_restore *restore, struct vel_err *err);

/* Bring everything to disk with its mode and times, still under temporary names; then
 * under the right ones. After a failed rename the rest is missing, and the member
 * counts as lost again. */
int vel_restore_settle(struct vel_restore *restore, struct vel_err *err);
int vel_restore_commit(struct vel_restore *restore, struct vel_err *err);

/* Close, and remove what was not committed. */
void vel_restore_close(struct vel_restore *restore);

#endif
