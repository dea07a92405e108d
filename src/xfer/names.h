/* SPDX-License-Identifier: BSD-3-Clause */
/* names - no two ranks may have a file of the same name in one dataset: on the prefix
 * one would replace the other. */
#ifndef VEL_XFER_NAMES_H
#define VEL_XFER_NAMES_H

#include <stddef.h>

#include "base/err.h"
#include "comm/comm.h"

/* Collective. VEL_EINVAL, with the name and two of its ranks, when any two of the `n`
 * names of all ranks are the same; those of one rank differ. Nobody holds the names of
 * all. `rc` is what this rank did before; a failure there is everyone's. */
int vel_names_check(struct vel_comm *world, int rc, const char *const *names, size_t n,
                    struct vel_err *err);

#endif
