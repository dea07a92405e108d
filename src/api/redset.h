/* SPDX-License-Identifier: BSD-3-Clause */
/* redset - what is behind a VELOC_Redset, and how its calls begin and end. */
#ifndef VEL_API_REDSET_H
#define VEL_API_REDSET_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "red/set.h"
#include "veloc_redset.h"

struct VELOC_Redset_s {
    bool is_whole;          /* false: it only tells why it could not be made */
    struct vel_red_set set; /* owns all, comm, dir and label; comm is NULL for a rank
                               that is in no set */
    struct vel_vec files; /* of char *: the list, relative to dir where it lies there */
    struct vel_vec on_disk; /* of char *: what VELOC_Redset_protected() gave last */
    struct vel_buf report;  /* of a recovery */
    struct vel_err err;     /* the last failure */
};

/* Is MPI there to be used? The sentence says what to do else. */
int vel_redset_check_mpi(struct vel_err *err);

/* The end of a call: what failed is kept for VELOC_Redset_error() and logged, by rank 0
 * alone when it failed on all ranks. rs may be NULL. */
int vel_redset_return(VELOC_Redset rs, const char *call, bool is_collective, int rc,
                      const struct vel_err *err);

/* Takes `name`, also on failure. */
int vel_redset_push(struct vel_vec *names, char *name, struct vel_err *err);

#endif
