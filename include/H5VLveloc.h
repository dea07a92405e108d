/* SPDX-License-Identifier: BSD-3-Clause */
/* H5VLveloc.h - names of the h5veloc connector, for programs that choose it themselves.
 * A program that sets HDF5_VOL_CONNECTOR=veloc needs nothing of this. */
#ifndef H5VLVELOC_H
#define H5VLVELOC_H

#define H5VL_VELOC_NAME "veloc"

/* 256 to 511 are the values of connectors that are not registered with The HDF Group.
 */
#define H5VL_VELOC_VALUE 455

#endif
