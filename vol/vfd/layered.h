/* SPDX-License-Identifier: BSD-3-Clause */
/* layered - an open file as the driver has it, and how it leaves the cache while it is
 * open. */
#ifndef VEL_VOL_VFD_LAYERED_H
#define VEL_VOL_VFD_LAYERED_H

#include <stdbool.h>
#include <stddef.h>

#include <hdf5.h>

#include "process/files.h"
#include "vfd/ticket.h"

enum { VEL_LAYERED_HEAD = 256 }; /* more than any head of a file of HDF5 */

struct vel_layered {
    H5FD_t pub; /* the first: it is what HDF5 sees */
    H5FD_t *below;
    struct vel_ticket *ticket;
    struct vel_file *file; /* that is written in the cache; NULL: none */
    struct vel_reading *reading;
    enum vel_file_was was;
    bool is_own;      /* at its own path */
    bool is_marked;   /* its head is not what it was */
    size_t head_size; /* 0: not written since it was opened */
    char head[VEL_LAYERED_HEAD];
};

/* A cache that is full makes no write fail: the file goes on at its own path. A driver
 * that keeps in memory what it has been given cannot. */
bool vel_layered_move_home(struct vel_layered *file);

/* Before it is closed: what somebody has removed from the cache is brought home. */
void vel_layered_rescue(const struct vel_layered *file);

#endif
