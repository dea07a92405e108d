/* SPDX-License-Identifier: BSD-3-Clause */
/* sweep - an action on files run with every operation failing in turn, and with a crash
 * and a loss of power at every operation.
 *
 * After each run: the old state is intact or the new one whole; success means the new
 * one, also after a loss of power; a failure has a sentence; no temporary is left by a
 * failure, and none after the action has been run again without faults, which must
 * succeed; no descriptor is left open. One check is printed per kind of run, and what
 * went wrong first is noted with the numbers that repeat it.
 */
#ifndef TEST_TAP_SWEEP_H
#define TEST_TAP_SWEEP_H

#include <stdbool.h>

#include "tap/fs_fault.h"

enum sweep_state {
    SWEEP_OLD,
    SWEEP_NEW,
    SWEEP_BROKEN, /* neither: what no crash may leave; say why with note() */
};

struct sweep {
    const char *name; /* of the action, for the check's text */

    /* Make the old state in `dir`, an empty directory. */
    void (*prepare)(const char *dir, void *arg);
    int (*action)(struct vel_fs *fs, const char *dir, void *arg, struct vel_err *err);
    enum sweep_state (*check)(const char *dir, void *arg);
    void *arg;

    bool is_lazy;      /* success may be forgotten by a loss of power */
    bool may_stay_old; /* success may look like the old state: nothing was to be done */
    bool (*is_temporary)(const char *name); /* NULL: vel_fs_is_temporary */
    bool has_temporary; /* prepare leaves one, which a failure may leave too */
};

/* Faults, crashes and losses, as above. */
void sweep_run(const struct sweep *sweep);

#endif
