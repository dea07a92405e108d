/* SPDX-License-Identifier: BSD-3-Clause */
/* track - files of a flush moved with a record on disk for as long as a service may be
 * at it (meta/transfer.h): so that it is found when this process dies. */
#ifndef VEL_XFER_TRACK_H
#define VEL_XFER_TRACK_H

#include "xfer/crew.h"

/* What is moved. Everything is borrowed. */
struct vel_tracked {
    int64_t id;    /* of the dataset */
    int64_t owner; /* of the flush, as in the entry */
    int attempt;
    const char *store; /* directory of the store that the files lie on */
    const struct vel_xfer_file *files;
    const char *const *names; /* their cached names */
    size_t n;
};

/* Local. Move them by crew->transport: whole, checked and on disk, or none of them.
 * *ret_loose: it failed, and the service could not be stopped; the record stays. */
int vel_track_move(const struct vel_crew *crew, const struct vel_tracked *move,
                   bool *ret_loose, struct vel_err *err);

#endif
