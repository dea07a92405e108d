/* SPDX-License-Identifier: BSD-3-Clause */
/* scrub - what h5veloc-rebuild --scrub prints. */
#ifndef VEL_CMD_SCRUB_H
#define VEL_CMD_SCRUB_H

#include <stdbool.h>
#include <stddef.h>

struct vel_cmd_scrub {
    bool dry_run;
    bool json;
    bool quiet;
};

/* The exit code. */
int vel_cmd_scrub(char *const *dirs, size_t n_dirs, const struct vel_cmd_scrub *how);

#endif
