/* SPDX-License-Identifier: BSD-3-Clause */
/* opened - the open files of HDF5's drivers, as driver.c sees them: each has been given
 * a place, or has an undo journal, or is nothing to us. */
#ifndef VEL_VOL_VFD_OPENED_H
#define VEL_VOL_VFD_OPENED_H

#include <stdbool.h>

#include <hdf5.h>

#include "log/journal.h"
#include "vfd/track.h"

struct vel_opened {
    H5FD_t *file;
    const H5FD_class_t *class; /* the driver's own functions */
    bool is_sec2;              /* its handle is a descriptor, and leads to all of it */
    struct vel_track *track;   /* NULL: it was given no place, and is not read */
    struct vel_journal *journal; /* NULL: it has none */
    haddr_t point;               /* where it ended at its newest point */
    bool is_asked;               /* whether it may have one: if not, that was told */
    bool is_flushed;             /* by the H5Fflush of now */
    size_t handles; /* that it has, of a file with a journal; 0: it is being opened */
};

/* A copy is kept. False: there is no memory. */
bool vel_opened_add(const struct vel_opened *opened);
void vel_opened_remove(struct vel_opened *opened);
void vel_opened_forget_all(void);

/* NULL: it is none of them. Good until another one is added or removed. */
struct vel_opened *vel_opened_find(const H5FD_t *file);

/* The one with this handle (H5Fget_vfd_handle()). */
struct vel_opened *vel_opened_find_handle(const void *handle);

/* Their descriptors: false behind the last. Below 0: its driver tells none. */
bool vel_opened_descriptor(size_t i, int *ret_fd);

/* All of them: NULL behind the last. */
struct vel_opened *vel_opened_at(size_t i);

#endif
