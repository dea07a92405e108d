/* SPDX-License-Identifier: BSD-3-Clause */
/* Attributes: all of it belongs to the connector below. */
#include "config.h"

#include "classes.h"
#include "forward.h"

static void *create(void *obj, const H5VL_loc_params_t *loc, const char *name,
                    hid_t type_id, hid_t space_id, hid_t acpl_id, hid_t aapl_id,
                    hid_t dxpl_id, void **req)
{
    struct vel_call call = vel_call_begin(obj);
    void *attr = H5VLattr_create(call.obj, loc, call.id, name, type_id, space_id,
                                 acpl_id, aapl_id, dxpl_id, req);

    return vel_call_end_object(&call, attr, req);
}

static herr_t read_all(void *attr, hid_t type_id, void *buf, hid_t dxpl_id, void **req)
{
    struct vel_call call = vel_call_begin(attr);
    herr_t rc = H5VLattr_read(call.obj, call.id, type_id, buf, dxpl_id, req);

    return vel_call_end(&call, rc, req);
}

static herr_t write_all(void *attr, hid_t type_id, const void *buf, hid_t dxpl_id,
                        void **req)
{
    struct vel_call call = vel_call_begin(attr);
    herr_t rc = H5VLattr_write(call.obj, call.id, type_id, buf, dxpl_id, req);

    return vel_call_end(&call, rc, req);
}

VEL_FORWARD_OPEN(open_named, H5VLattr_open)
VEL_FORWARD(get, H5VLattr_get, H5VL_attr_get_args_t)
VEL_FORWARD_AT(specific, H5VLattr_specific, H5VL_attr_specific_args_t)
VEL_FORWARD(optional, H5VLattr_optional, H5VL_optional_args_t)
VEL_FORWARD_CLOSE(close_it, H5VLattr_close)

const H5VL_attr_class_t vel_attr_class = {
    .create = create,
    .open = open_named,
    .read = read_all,
    .write = write_all,
    .get = get,
    .specific = specific,
    .optional = optional,
    .close = close_it,
};
