/* SPDX-License-Identifier: BSD-3-Clause */
/* The optional operations of H5VLveloc.h: what programs ask that know of us. */
#ifndef VEL_VOL_ASK_H
#define VEL_VOL_ASK_H

#include <stdbool.h>

#include <hdf5.h>

/* HDF5 gives them their numbers. The error stack stays as it is. */
herr_t vel_ask_begin(void);

bool vel_ask_is(int op);
herr_t vel_ask(const H5VL_optional_args_t *args);

#endif
