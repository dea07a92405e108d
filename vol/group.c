/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups: all of it belongs to the connector below. */
#include "config.h"

#include "classes.h"
#include "forward.h"

static void *create(void *obj, const H5VL_loc_params_t *loc, const char *name,
                    hid_t lcpl_id, hid_t gcpl_id, hid_t gapl_id, hid_t dxpl_id,
                    void **req)
{
    struct vel_call call = vel_call_begin_plain(obj);
    void *group = H5VLgroup_create(call.obj, loc, call.id, name, lcpl_id, gcpl_id,
                                   gapl_id, dxpl_id, req);

    return vel_call_end_object(&call, group, req);
}

/* A file that is mounted is one of ours, too. */
static herr_t specific(void *obj, H5VL_group_specific_args_t *args, hid_t dxpl_id,
                       void **req)
{
    struct vel_call call = vel_call_begin(obj);
    H5VL_group_specific_args_t below = *args;

    if (args->op_type == H5VL_GROUP_MOUNT)
        below.args.mount.child_file = vel_object_under(args->args.mount.child_file);
    return vel_call_end(
        &call, H5VLgroup_specific(call.obj, call.id, &below, dxpl_id, req), req);
}

VEL_FORWARD_OPEN(open_named, H5VLgroup_open)
VEL_FORWARD_GET(get, H5VLgroup_get, H5VL_group_get_args_t)
VEL_FORWARD(optional, H5VLgroup_optional, H5VL_optional_args_t)
VEL_FORWARD_CLOSE(close_it, H5VLgroup_close)

const H5VL_group_class_t vel_group_class = {
    .create = create,
    .open = open_named,
    .get = get,
    .specific = specific,
    .optional = optional,
    .close = close_it,
};
