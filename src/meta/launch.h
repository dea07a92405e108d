/* SPDX-License-Identifier: BSD-3-Clause */
/* launch - the directory of a launch, PREFIX/.veloc/launch.NAME; `dir` is PREFIX/.veloc
 * (doc/protocol.txt, 3).
 */
#ifndef VEL_META_LAUNCH_H
#define VEL_META_LAUNCH_H

#include <stdbool.h>

#include "base/vec.h"
#include "sys/fs.h"

enum { VEL_LAUNCH_MOST = 64, VEL_LAUNCH_ROOM = VEL_LAUNCH_MOST + 1 };

bool vel_launch_is_name(const char *launch);

/* The launch to which a directory of this name belongs, in the name; or NULL. */
const char *vel_launch_of(const char *name);

/* New strings, NULL when out of memory: the directory, and what is in it. */
char *vel_launch_dir(const char *dir, const char *launch);
char *vel_launch_path(const char *dir, const char *launch, const char *name);

/* The mark of a launch that is over, and of which nothing but what its ledger says of
 * datasets is needed: to all who do not ask for that it is gone. A new string, or NULL;
 * and the launch to which one of this name belongs, or NULL. */
char *vel_launch_past_path(const char *dir, const char *launch);
const char *vel_launch_past_of(const char *name);
int vel_launch_is_gone(struct vel_fs *fs, const char *dir, const char *launch,
                       bool *ret_is, struct vel_err *err);

/* Its ledger cannot be read now: the status and the sentence for who must know what it
 * says. */
int vel_launch_fail_unread(const char *dir, const char *launch,
                           const struct vel_err *why, struct vel_err *err);

/* Append the launches that have a directory, and are not gone, char *. */
int vel_launch_list(struct vel_fs *fs, const char *dir, struct vel_vec *ret,
                    struct vel_err *err);

enum vel_launch_fate {
    VEL_LAUNCH_OPEN,
    VEL_LAUNCH_ENDED, /* by itself, or another */
    VEL_LAUNCH_GONE,  /* the same; or it has no directory, not yet or not any more */
};

int vel_launch_fate(struct vel_fs *fs, const char *dir, const char *launch,
                    enum vel_launch_fate *ret, struct vel_err *err);

/* Has somebody ended it? What has no directory any more was over long ago. Not so,
 * when that cannot be known. */
int vel_launch_is_over(struct vel_fs *fs, const char *dir, const char *launch,
                       bool *ret_is_over, struct vel_err *err);

#endif
