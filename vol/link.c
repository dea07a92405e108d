/* SPDX-License-Identifier: BSD-3-Clause */
/* Links. HDF5 gives one object of two where both places are in one file, or where the
 * first is `here`. */
#include "config.h"

#include "classes.h"
#include "forward.h"

static herr_t create(H5VL_link_create_args_t *args, void *obj,
                     const H5VL_loc_params_t *loc, hid_t lcpl_id, hid_t lapl_id,
                     hid_t dxpl_id, void **req)
{
    H5VL_link_create_args_t below = *args;
    void *other = NULL;
    struct vel_call call;
    herr_t rc;

    if (args->op_type == H5VL_LINK_CREATE_HARD) {
        other = args->args.hard.curr_obj;
        below.args.hard.curr_obj = vel_object_under(other);
    }
    call = vel_call_begin_plain(obj ? obj : other);
    rc = H5VLlink_create(&below, vel_object_under(obj), loc, call.id, lcpl_id, lapl_id,
                         dxpl_id, req);
    return vel_call_end(&call, rc, req);
}

static herr_t copy(void *from, const H5VL_loc_params_t *from_loc, void *to,
                   const H5VL_loc_params_t *to_loc, hid_t lcpl_id, hid_t lapl_id,
                   hid_t dxpl_id, void **req)
{
    struct vel_call call = vel_call_begin(from ? from : to);
    herr_t rc = H5VLlink_copy(vel_object_under(from), from_loc, vel_object_under(to),
                              to_loc, call.id, lcpl_id, lapl_id, dxpl_id, req);

    return vel_call_end(&call, rc, req);
}

static herr_t move(void *from, const H5VL_loc_params_t *from_loc, void *to,
                   const H5VL_loc_params_t *to_loc, hid_t lcpl_id, hid_t lapl_id,
                   hid_t dxpl_id, void **req)
{
    struct vel_call call = vel_call_begin(from ? from : to);
    herr_t rc = H5VLlink_move(vel_object_under(from), from_loc, vel_object_under(to),
                              to_loc, call.id, lcpl_id, lapl_id, dxpl_id, req);

    return vel_call_end(&call, rc, req);
}

VEL_FORWARD_GET_AT(get, H5VLlink_get, H5VL_link_get_args_t)
static herr_t specific(void *obj, const H5VL_loc_params_t *loc,
                       H5VL_link_specific_args_t *args, hid_t dxpl_id, void **req)
{
    bool is_plain =
        args->op_type == H5VL_LINK_EXISTS || args->op_type == H5VL_LINK_ITER;
    struct vel_call call = is_plain ? vel_call_begin_plain(obj) : vel_call_begin(obj);
    herr_t rc = H5VLlink_specific(call.obj, loc, call.id, args, dxpl_id, req);

    return vel_call_end(&call, rc, req);
}

VEL_FORWARD_AT(optional, H5VLlink_optional, H5VL_optional_args_t)

const H5VL_link_class_t vel_link_class = {
    .create = create,
    .copy = copy,
    .move = move,
    .get = get,
    .specific = specific,
    .optional = optional,
};
