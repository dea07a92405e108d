/* SPDX-License-Identifier: BSD-3-Clause */
/* halt_watch - the halt records as a run sees them: looked at while it goes on, and
 * never a reason for it to fail.
 *
 * An operator may ask at any time, so the record is read again when a second has passed
 * since the last look. A record that is damaged or cannot be read stops nothing: one
 * warning says so, and what was last known stays in force. For rank 0.
 *
 * Programs that share a prefix share its record: each changes it under a lock beside
 * it, after reading it anew, so that no count of one is lost by another.
 */
#ifndef VEL_META_HALT_WATCH_H
#define VEL_META_HALT_WATCH_H

#include "meta/halt.h"
#include "sys/clock.h"
#include "sys/host.h"

struct vel_halt_watch {
    struct vel_fs *fs;
    struct vel_clock *clock;
    const struct vel_host *host;
    char *dir;
    struct vel_halt halt;
    uint64_t next; /* when to look again */
    bool is_told;  /* the warning about the present trouble */
};

/* `dir` is the directory .veloc of the prefix; copied. fs, clock and host must outlive
 * the watch. Fails only for lack of memory. */
int vel_halt_watch_init(struct vel_halt_watch *watch, struct vel_fs *fs,
                        struct vel_clock *clock, const struct vel_host *host,
                        const char *dir, struct vel_err *err);
void vel_halt_watch_fini(struct vel_halt_watch *watch);

/* What is in force now; belongs to the watch. */
const struct vel_halt *vel_halt_watch_look(struct vel_halt_watch *watch);

/* vel_halt_begin, _count and _finish on what is there at the moment; a failure is a
 * warning. */
void vel_halt_watch_begin(struct vel_halt_watch *watch);
void vel_halt_watch_count(struct vel_halt_watch *watch);
void vel_halt_watch_finish(struct vel_halt_watch *watch, const char *reason);

#endif
