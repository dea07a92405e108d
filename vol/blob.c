/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of variable length and references, where the connector below keeps them. */
#include "config.h"

#include "classes.h"
#include "object.h"

static herr_t put(void *obj, const void *buf, size_t size, void *blob_id, void *ctx)
{
    struct vel_call call = vel_call_begin(obj);

    return vel_call_end(&call, H5VLblob_put(call.obj, call.id, buf, size, blob_id, ctx),
                        NULL);
}

static herr_t get(void *obj, const void *blob_id, void *buf, size_t size, void *ctx)
{
    struct vel_call call = vel_call_begin_plain(obj);

    return vel_call_end(&call, H5VLblob_get(call.obj, call.id, blob_id, buf, size, ctx),
                        NULL);
}

static herr_t specific(void *obj, void *blob_id, H5VL_blob_specific_args_t *args)
{
    struct vel_call call = vel_call_begin(obj);

    return vel_call_end(&call, H5VLblob_specific(call.obj, call.id, blob_id, args),
                        NULL);
}

static herr_t optional(void *obj, void *blob_id, H5VL_optional_args_t *args)
{
    struct vel_call call = vel_call_begin(obj);

    return vel_call_end(&call, H5VLblob_optional(call.obj, call.id, blob_id, args),
                        NULL);
}

const H5VL_blob_class_t vel_blob_class = {
    .put = put,
    .get = get,
    .specific = specific,
    .optional = optional,
};
