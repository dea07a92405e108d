/* SPDX-License-Identifier: BSD-3-Clause */
/* The head of a file (HDF5 file format 3.0, superblock version 3) says that somebody
 * writes it, until that is closed; then nobody else may open it. */
#ifndef VEL_VOL_HEAD_H
#define VEL_VOL_HEAD_H

#include <stddef.h>

/* The first bytes of a file that is open, as they would be if it were closed now.
 * Returns how many of them that concerns; 0: none. */
size_t vel_head_closed(void *bytes, size_t len);

#endif
