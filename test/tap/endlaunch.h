/* SPDX-License-Identifier: BSD-3-Clause */
/* endlaunch - another launch ends the one of a directory, .veloc/launch.L. */
#ifndef TEST_TAP_ENDLAUNCH_H
#define TEST_TAP_ENDLAUNCH_H

#include "meta/terms.h"
#include "tap/tap.h"

static inline void tap_end_launch(const char *launch_dir)
{
    const struct vel_terms_self self = {.launch = "tap", .node = "tap", .address = ""};
    struct vel_err err = {0};
    bool is_mine;

    if (vel_terms_end(vel_fs_posix(), launch_dir, &self, NULL, &is_mine, &err) < 0)
        bail_out("%s", err.text);
}

#endif
