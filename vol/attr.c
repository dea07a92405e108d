/* SPDX-License-Identifier: BSD-3-Clause */
/* Attributes: all of it belongs to the connector below. */
#include "config.h"

#include "classes.h"
#include "forward.h"
#include "plain.h"

static void *create(void *obj, const H5VL_loc_params_t *loc, const char *name,
                    hid_t type_id, hid_t space_id, hid_t acpl_id, hid_t aapl_id,
                    hid_t dxpl_id, void **req)
{
    struct vel_call call = vel_call_begin_plain(obj);

    vel_plain_check_attr(type_id, space_id);

    void *attr = H5VLattr_create(call.obj, loc, call.id, name, type_id, space_id,
                                 acpl_id, aapl_id, dxpl_id, req);

    return vel_call_end_object(&call, attr, req);
}

static herr_t read_all(void *attr, hid_t type_id, void *buf, hid_t dxpl_id, void **req)
{
    struct vel_call call = vel_call_begin_plain(attr);
    herr_t rc = H5VLattr_read(call.obj, call.id, type_id, buf, dxpl_id, req);

    return vel_call_end(&call, rc, req);
}

static herr_t write_all(void *attr, hid_t type_id, const void *buf, hid_t dxpl_id,
                        void **req)
{
    struct vel_call call = vel_call_begin_plain(attr);

    vel_plain_check_attr_size(call.obj, call.id);

    herr_t rc = H5VLattr_write(call.obj, call.id, type_id, buf, dxpl_id, req);

    return vel_call_end(&call, rc, req);
}

VEL_FORWARD_OPEN(open_named, H5VLattr_open)
VEL_FORWARD_GET(get, H5VLattr_get, H5VL_attr_get_args_t)
static herr_t specific(void *obj, const H5VL_loc_params_t *loc,
                       H5VL_attr_specific_args_t *args, hid_t dxpl_id, void **req)
{
    bool is_plain =
        args->op_type == H5VL_ATTR_EXISTS || args->op_type == H5VL_ATTR_ITER;
    struct vel_call call = is_plain ? vel_call_begin_plain(obj) : vel_call_begin(obj);
    herr_t rc = H5VLattr_specific(call.obj, loc, call.id, args, dxpl_id, req);

    return vel_call_end(&call, rc, req);
}

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
