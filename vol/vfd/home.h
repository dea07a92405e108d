/* SPDX-License-Identifier: BSD-3-Clause */
/* home - a file leaves the cache while it is open, and goes on at its own path. Only
 * one of sec2 can: what it has written is in a file. */
#ifndef VEL_VOL_VFD_HOME_H
#define VEL_VOL_VFD_HOME_H

#include <stdbool.h>

#include "vfd/opened.h"

/* A write has failed: a cache that is full makes none fail. True: it is to be tried
 * again. */
bool vel_home_goes_on(struct vel_opened *opened);

/* The file with this handle (H5Fget_vfd_handle()) is to be read by others while it is
 * written: they look at its own path. False: it cannot be there, which was told. */
bool vel_home_lets_read(const void *handle);

/* Before it is closed: what somebody has removed from the cache is brought home. */
void vel_home_rescue(struct vel_opened *opened);

#endif
