/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of the connector's class, one file for each. */
#ifndef VEL_VOL_CLASSES_H
#define VEL_VOL_CLASSES_H

#include <hdf5.h>

extern const H5VL_wrap_class_t vel_wrap_class;
extern const H5VL_attr_class_t vel_attr_class;
extern const H5VL_dataset_class_t vel_dataset_class;
extern const H5VL_datatype_class_t vel_datatype_class;
extern const H5VL_file_class_t vel_file_class;
extern const H5VL_group_class_t vel_group_class;
extern const H5VL_link_class_t vel_link_class;
extern const H5VL_object_class_t vel_object_class;
extern const H5VL_introspect_class_t vel_introspect_class;
extern const H5VL_request_class_t vel_request_class;
extern const H5VL_blob_class_t vel_blob_class;
extern const H5VL_token_class_t vel_token_class;

/* The whole class. */
const H5VL_class_t *vel_class(void);

#endif
