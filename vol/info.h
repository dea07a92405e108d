/* SPDX-License-Identifier: BSD-3-Clause */
/* The connector's information string: `behind;dataset=NAME KEY=VALUE ...;config=FILE;
 * under_vol=N;under_info={...}`, each part once or not at all, in any order. `behind`,
 * or `live`, is what becomes of files that no DATASET line has, and `dataset` is such a
 * line; FILE is the user's file of settings; N is the value of the connector below
 * (HDF5's own if it is not given), and what stands in the braces is its own string. */
#ifndef VEL_VOL_INFO_H
#define VEL_VOL_INFO_H

#include <hdf5.h>

#include "info_text.h"
#include "process/files.h"

struct vel_info {
    hid_t under_id;
    void *under_info;          /* of the connector below */
    struct vel_info_text said; /* but for that */
};

/* What is said of files. */
struct vel_files_of vel_info_files_of(const struct vel_info *info);

/* What a property list says. Without information HDF5's own connector is below. The
 * result is a copy, to be freed. 0, or -1 with an error on the stack. */
int vel_info_of_fapl(hid_t fapl_id, struct vel_info **ret);

/* A copy of the list that names the connector below, for its calls; or -1. */
hid_t vel_info_fapl_below(const struct vel_info *info, hid_t fapl_id);

herr_t vel_info_free(void *info);

extern const H5VL_info_class_t vel_info_class;

#endif
