/* SPDX-License-Identifier: BSD-3-Clause */
/* driver - HDF5's own drivers of plain files (sec2, stdio, core). A file is opened
 * where the engine says, and has its own name for all of HDF5; what becomes of it is
 * told: that it is written, and when it is really closed, which objects may put off for
 * long after H5Fclose.
 *
 * Functions of ours stand in the classes of these drivers, do that, and call what stood
 * there. A driver of our own could be told from them: HDF5 would take two handles of
 * one file for two files. */
#ifndef VEL_VOL_VFD_DRIVER_H
#define VEL_VOL_VFD_DRIVER_H

#include <stdbool.h>

#include <hdf5.h>

#include "process/files.h"

/* Where a file is, for its opens with one property list. */
struct vel_placed {
    const char *name; /* as the program calls it */
    struct vel_file_answer *answer;
    bool is_refused; /* the last time, by the driver */
    bool is_unseen;  /* it is opened without us: vel_driver_adopt() follows */
};

/* Does this list have such a driver: is the result one file, at one path? */
bool vel_driver_fits(hid_t fapl_id);

/* Will HDF5 lock what it opens with it, as it does by default? */
bool vel_driver_locks(hid_t fapl_id);

/* Opens with this list, which is nobody else's, go where `placed` says. It outlives
 * them. 0, or -1 with an error on the stack. */
int vel_driver_place(hid_t fapl_id, struct vel_placed *placed);

/* HDF5 has opened such a file with these flags, and this is its handle. */
void vel_driver_adopt(const struct vel_placed *placed, void *handle, unsigned flags);

/* The connector goes: HDF5's classes become what they were, once its files are closed.
 */
void vel_driver_end(void);

#endif
