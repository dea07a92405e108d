/* SPDX-License-Identifier: BSD-3-Clause */
/* track - what becomes of a file that the engine has given a place: whether it was
 * written, or only marked as open; and where it is read. */
#ifndef VEL_VOL_VFD_TRACK_H
#define VEL_VOL_VFD_TRACK_H

#include <stdbool.h>
#include <stddef.h>

#include <hdf5.h>

#include "process/files.h"

enum { VEL_TRACK_HEAD = 256 }; /* more than any head of a file of HDF5 */

struct vel_track {
    struct vel_file *file; /* that is written in the cache; NULL: none */
    struct vel_reading *reading;
    struct vel_hold *hold; /* while it is read; NULL: none */
    enum vel_file_was was;
    bool is_own;      /* at its own path */
    bool is_marked;   /* its head is not what it was */
    size_t head_size; /* 0: not written since it was opened */
    char head[VEL_TRACK_HEAD];
};

/* A change of an open file, by its driver's class. */
struct vel_write {
    const H5FD_class_t *class;
    H5FD_t *file;
    H5FD_mem_t type;
    hid_t dxpl_id;
    haddr_t at;
    size_t size;
    const void *buf;
};

/* It was opened so, as it was answered: `place` is NULL at its own path. */
void vel_track_begin(struct vel_track *track, const char *name, const char *place,
                     unsigned flags, struct vel_file *file);

/* Before it is written. True: it is HDF5's mark alone, that it is open. */
bool vel_track_writes(struct vel_track *track, const struct vel_write *write);

/* Before it changes otherwise. */
void vel_track_changes(struct vel_track *track);

/* What came of it: rc. is_kept: what HDF5 does to every file that may be written, if
 * nothing was. */
herr_t vel_track_done(struct vel_track *track, bool is_kept, herr_t rc);

/* It is closed, with this result. */
herr_t vel_track_end(struct vel_track *track, herr_t rc);

#endif
