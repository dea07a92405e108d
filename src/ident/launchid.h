/* SPDX-License-Identifier: BSD-3-Clause */
/* launchid - the name of the launch that a process belongs to (doc/protocol.txt,
 * 2): from what its launcher says, or by a meeting on the prefix.
 *
 * Asks no environment: conf/ does, and gives the texts. A name is 1 to 64 letters,
 * digits and "._-", not beginning with a dot or a dash: a part of names of files.
 */
#ifndef VEL_IDENT_LAUNCHID_H
#define VEL_IDENT_LAUNCHID_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "meta/launch.h"
#include "sys/clock.h"
#include "sys/fs.h"

/* What launchers say; NULL or "": nothing. */
struct vel_launch_texts {
    const char *launch; /* the setting LAUNCH */
    const char *pmix;   /* PMIX_NAMESPACE */
    const char *job;    /* of Flux, PALS or ALPS */
    const char *slurm_job, *slurm_step;
    const char *slurm_restart; /* SLURM_RESTART_COUNT: of a job that was requeued */
    const char *starter;       /* the process that has started all ranks */
};

/* "" when none of them names it. A name of the launcher that cannot be part of a path
 * is made one, the same everywhere; a LAUNCH that cannot is VEL_ECONFIG. */
int vel_launchid_named(const struct vel_launch_texts *texts, char ret[VEL_LAUNCH_ROOM],
                       struct vel_err *err);

/* One that nobody else has: of a process without a rank, or to hand to all over MPI. */
int vel_launchid_fresh(char ret[VEL_LAUNCH_ROOM], struct vel_err *err);

/* A rank that looks for its launch. */
struct vel_launch_self {
    const char *name;            /* that its launcher gives; NULL or "": none */
    const char *dir;             /* .veloc of the prefix */
    const struct vel_host *host; /* whose locks tell who lives here; NULL: none do */
    bool is_virtual;             /* its node is */
    const char *cntl_base;
    uid_t user;
    const char *program, *working_dir;
    int64_t rank, ranks;
    struct vel_clock *clock;
    uint64_t limit; /* T in ns: a beat that stands so long is that of no launch */
};

/* Meet the others of the launch. A name that was given is never believed to be new: its
 * launches are NAME, NAME.2, ... in `dir`. *ret_is_child: another process of this rank
 * has started this one, which is nobody's rank, and a launch of its own. */
int vel_launchid_meet(struct vel_fs *fs, const struct vel_launch_self *self,
                      char ret[VEL_LAUNCH_ROOM], bool *ret_is_child,
                      struct vel_err *err);

#endif
