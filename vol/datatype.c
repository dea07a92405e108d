/* SPDX-License-Identifier: BSD-3-Clause */
/* Committed datatypes: all of it belongs to the connector below. */
#include "config.h"

#include "classes.h"
#include "forward.h"

static void *commit(void *obj, const H5VL_loc_params_t *loc, const char *name,
                    hid_t type_id, hid_t lcpl_id, hid_t tcpl_id, hid_t tapl_id,
                    hid_t dxpl_id, void **req)
{
    struct vel_call call = vel_call_begin_plain(obj);
    void *type = H5VLdatatype_commit(call.obj, loc, call.id, name, type_id, lcpl_id,
                                     tcpl_id, tapl_id, dxpl_id, req);

    return vel_call_end_object(&call, type, req);
}

VEL_FORWARD_OPEN(open_named, H5VLdatatype_open)
VEL_FORWARD_GET(get, H5VLdatatype_get, H5VL_datatype_get_args_t)
VEL_FORWARD(specific, H5VLdatatype_specific, H5VL_datatype_specific_args_t)
VEL_FORWARD(optional, H5VLdatatype_optional, H5VL_optional_args_t)
VEL_FORWARD_CLOSE(close_it, H5VLdatatype_close)

const H5VL_datatype_class_t vel_datatype_class = {
    .commit = commit,
    .open = open_named,
    .get = get,
    .specific = specific,
    .optional = optional,
    .close = close_it,
};
