/* SPDX-License-Identifier: BSD-3-Clause */
/* regroup - the redundancy sets of an earlier run, found again by a later one.
 *
 * A rank that has its redundancy file reads there which set it was in, and tells the
 * members before it, whose lists it keeps: so a rank that has lost everything learns
 * its place too, whatever the configuration is now. Nobody holds a table of all ranks.
 */
#ifndef VEL_RED_REGROUP_H
#define VEL_RED_REGROUP_H

#include "base/err.h"
#include "base/vec.h"
#include "red/header.h"
#include "red/set.h"

struct vel_regroup {
    const struct vel_red_set *where; /* all, fs, dir, label */
    struct vel_vec found;            /* this rank's redundancy files, newest first */
    struct vel_vec tried;            /* of bool, beside them */
};

/* Collective over where->all, whose ranks are those of the earlier run. */
int vel_regroup_open(const struct vel_red_set *where, struct vel_regroup *ret_regroup,
                     struct vel_err *err);
void vel_regroup_close(struct vel_regroup *regroup);

/* Collective. The newest encoding of anybody that was not looked at yet, and this
 * rank's place in it: completes *set, as vel_red_recover_all() says. VEL_ENOENT: there
 * is none; VEL_EINVAL: its sets cannot be filled, since too much is lost or the run is
 * too small, and an older one may be tried. */
int vel_regroup_next(struct vel_regroup *regroup, struct vel_red_set *set,
                     struct vel_encoding *ret_encoding, struct vel_err *err);

#endif
