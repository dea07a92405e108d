/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects of any kind: HDF5's H5O, and its tokens. */
#include "config.h"

#include <stdbool.h>

#include "classes.h"
#include "forward.h"
#include "plain.h"

static void *open_any(void *obj, const H5VL_loc_params_t *loc, H5I_type_t *ret_type,
                      hid_t dxpl_id, void **req)
{
    struct vel_call call = vel_call_begin_plain(obj);
    void *opened = H5VLobject_open(call.obj, loc, call.id, ret_type, dxpl_id, req);

    if (opened && *ret_type == H5I_DATASET)
        vel_plain_check_dataset(opened, call.id);
    return vel_call_end_object(&call, opened, req);
}

static herr_t copy(void *from, const H5VL_loc_params_t *from_loc, const char *from_name,
                   void *to, const H5VL_loc_params_t *to_loc, const char *to_name,
                   hid_t ocpypl_id, hid_t lcpl_id, hid_t dxpl_id, void **req)
{
    struct vel_call call = vel_call_begin(from);
    herr_t rc =
        H5VLobject_copy(call.obj, from_loc, from_name, vel_object_under(to), to_loc,
                        to_name, call.id, ocpypl_id, lcpl_id, dxpl_id, req);

    return vel_call_end(&call, rc, req);
}

VEL_FORWARD_GET_AT(get, H5VLobject_get, H5VL_object_get_args_t)

static herr_t specific(void *obj, const H5VL_loc_params_t *loc,
                       H5VL_object_specific_args_t *args, hid_t dxpl_id, void **req)
{
    bool is_plain = args->op_type == H5VL_OBJECT_EXISTS ||
                    args->op_type == H5VL_OBJECT_LOOKUP ||
                    args->op_type == H5VL_OBJECT_VISIT;
    struct vel_call call = is_plain ? vel_call_begin_plain(obj) : vel_call_begin(obj);
    herr_t rc = H5VLobject_specific(call.obj, loc, call.id, args, dxpl_id, req);

    return vel_call_end(&call, rc, req);
}

VEL_FORWARD_AT(optional, H5VLobject_optional, H5VL_optional_args_t)

const H5VL_object_class_t vel_object_class = {
    .open = open_any,
    .copy = copy,
    .get = get,
    .specific = specific,
    .optional = optional,
};

/* --- tokens --- */

static herr_t compare(void *obj, const H5O_token_t *a, const H5O_token_t *b, int *ret)
{
    struct vel_call call = vel_call_begin_plain(obj);

    return vel_call_end(&call, H5VLtoken_cmp(call.obj, call.id, a, b, ret), NULL);
}

static herr_t to_string(void *obj, H5I_type_t type, const H5O_token_t *token,
                        char **ret)
{
    struct vel_call call = vel_call_begin_plain(obj);

    return vel_call_end(&call, H5VLtoken_to_str(call.obj, type, call.id, token, ret),
                        NULL);
}

static herr_t from_string(void *obj, H5I_type_t type, const char *text,
                          H5O_token_t *ret)
{
    struct vel_call call = vel_call_begin_plain(obj);

    return vel_call_end(&call, H5VLtoken_from_str(call.obj, type, call.id, text, ret),
                        NULL);
}

const H5VL_token_class_t vel_token_class = {
    .cmp = compare,
    .to_str = to_string,
    .from_str = from_string,
};
