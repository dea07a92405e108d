/* SPDX-License-Identifier: BSD-3-Clause */
/* Our own sentences on HDF5's error stack. */
#ifndef VEL_VOL_PUSH_H
#define VEL_VOL_PUSH_H

#include <hdf5.h>

/* Always -1. `minor` is one of HDF5's, such as H5E_BADVALUE. */
herr_t vel_push(hid_t minor, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
