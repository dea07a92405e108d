/* SPDX-License-Identifier: BSD-3-Clause */
/* names - no two ranks may flush a file of the same name: one would replace the other.
 */
#ifndef VEL_XFER_NAMES_H
#define VEL_XFER_NAMES_H

#include "base/err.h"
#include "base/vec.h"
#include "comm/comm.h"

/* Collective. VEL_EINVAL, with a name, when any two files of the vectors of all ranks
 * (items struct vel_flush_file) have the same. Nobody holds the names of all. */
int vel_names_check(struct vel_comm *world, const struct vel_vec *files,
                    struct vel_err *err);

#endif
