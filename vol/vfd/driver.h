/* SPDX-License-Identifier: BSD-3-Clause */
/* A thin driver over the one that the user has chosen: the file is where the engine
 * says, and has its own name for all of HDF5 above. It tells when the file is really
 * closed, which objects may put off for long after H5Fclose. */
#ifndef VEL_VOL_VFD_DRIVER_H
#define VEL_VOL_VFD_DRIVER_H

#include <stdbool.h>

#include <hdf5.h>

#include "process/files.h"

/* Can it stand over the driver of this list: is the result one file, at one path? */
int vel_driver_fits(hid_t fapl_id);

/* Puts the driver over that of the list, for the file `name`: what was answered is
 * copied. 0, or -1 with an error on the stack. */
int vel_driver_put(hid_t fapl_id, const char *name,
                   const struct vel_file_answer *answer);

/* Of a list with it: could the file not be opened by the driver below? */
bool vel_driver_was_refused(hid_t fapl_id);

/* Takes it off a list that HDF5 has made of an open file. */
int vel_driver_take_off(hid_t fapl_id);

#endif
