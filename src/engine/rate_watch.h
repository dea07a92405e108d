/* SPDX-License-Identifier: BSD-3-Clause */
/* rate_watch - how often something fails, as others tell it while the program runs: a
 * predictor of failures, for instance, writes MTBF_FILE.
 *
 * The file has GROUPS lines with MTBF, as the settings may have. Together they are the
 * failure rate of the job, instead of the one by the settings, as long as the file is
 * there. It is read again when a second has passed since the last look, and is never a
 * reason to fail: of a file that is no good one warning tells, and what it said last
 * stays in force. For rank 0.
 */
#ifndef VEL_ENGINE_RATE_WATCH_H
#define VEL_ENGINE_RATE_WATCH_H

#include "engine/policy.h"
#include "sys/fs.h"

struct vel_rate_watch {
    struct vel_fs *fs;
    struct vel_clock *clock;
    const struct vel_conf *conf; /* its path, and which groups there are */
    uint64_t next;               /* when to look again */
    bool is_told;                /* the warning about the present trouble */
    double rate;                 /* failures per second; 0: nobody tells */
};

/* Everything is borrowed. */
void vel_rate_watch_init(struct vel_rate_watch *watch, struct vel_fs *fs,
                         struct vel_clock *clock, const struct vel_conf *conf);

/* What is told now; 0: nothing. `groups` as in vel_policy_failure_rate(). */
double vel_rate_watch_look(struct vel_rate_watch *watch, vel_policy_groups_f *groups,
                           void *arg);

#endif
