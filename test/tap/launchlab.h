/* SPDX-License-Identifier: BSD-3-Clause */
/* launchlab - what others say in the ledger of a launch, .veloc/launch.L: that it is
 * over, and what is sealed of it. */
#ifndef TEST_TAP_LAUNCHLAB_H
#define TEST_TAP_LAUNCHLAB_H

#include "tap/tap.h"
#include "view/seals.h"

static const struct vel_terms_self launchlab_self = {.launch = "tap", .node = "tap"};

static inline void tap_end_launch(const char *launch_dir)
{
    struct vel_err err = {0};
    bool is_mine;

    if (vel_terms_end(vel_fs_posix(), launch_dir, &launchlab_self, NULL, &is_mine,
                      &err) < 0)
        bail_out("%s", err.text);
}

static inline int launchlab_add(void *arg, const struct vel_ledger_text *now,
                                struct vel_buf *facts, struct vel_err *err)
{
    int rc = vel_seals_put(arg, facts, err);

    (void)now;
    return rc < 0 ? rc : 1;
}

static inline void tap_put_seal(const char *launch_dir, struct vel_seal *seal)
{
    struct vel_err err = {0};
    bool is_changed;

    if (vel_terms_change(vel_fs_posix(), launch_dir, &launchlab_self, launchlab_add,
                         seal, &is_changed, &err) < 0)
        bail_out("%s", err.text);
}

#endif
