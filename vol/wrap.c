/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects that HDF5 makes by itself while it works for us (in callbacks of iterations,
 * for object ids) and wants to look like ours. */
#include "config.h"

#include <stdlib.h>

#include "classes.h"
#include "object.h"

struct context {
    struct vel_under *under;
    void *below; /* context of the connector below */
};

static void *get_object(const void *obj)
{
    const struct vel_object *o = obj;

    return H5VLget_object(o->obj, o->under->id);
}

static herr_t get_wrap_ctx(const void *obj, void **ret)
{
    const struct vel_object *o = obj;
    struct context *ctx = calloc(1, sizeof *ctx);

    if (!ctx)
        return -1;
    if (H5VLget_wrap_ctx(o->obj, o->under->id, &ctx->below) < 0) {
        free(ctx);
        return -1;
    }
    ctx->under = vel_under_share(o->under);
    *ret = ctx;
    return 0;
}

static void *wrap_object(void *obj, H5I_type_t type, void *context)
{
    struct context *ctx = context;

    return vel_object_create(H5VLwrap_object(obj, type, ctx->under->id, ctx->below),
                             ctx->under);
}

static void *unwrap_object(void *obj)
{
    struct vel_object *o = obj;
    void *below = H5VLunwrap_object(o->obj, o->under->id);

    if (below)
        vel_object_destroy(o);
    return below;
}

static herr_t free_wrap_ctx(void *context)
{
    struct context *ctx = context;
    hid_t stack = vel_stack_save();

    if (ctx->below)
        H5VLfree_wrap_ctx(ctx->below, ctx->under->id);
    vel_stack_restore(stack);
    vel_under_release(ctx->under);
    free(ctx);
    return 0;
}

const H5VL_wrap_class_t vel_wrap_class = {
    .get_object = get_object,
    .get_wrap_ctx = get_wrap_ctx,
    .wrap_object = wrap_object,
    .unwrap_object = unwrap_object,
    .free_wrap_ctx = free_wrap_ctx,
};
