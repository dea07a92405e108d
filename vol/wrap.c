/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects that HDF5 makes by itself while it works for us (in callbacks of iterations,
 * for object ids) and wants to look like ours. */
#include "config.h"

#include <stdlib.h>

#include "classes.h"
#include "object.h"

static void *get_object(const void *obj)
{
    const struct vel_object *o = obj;

    return H5VLget_object(o->obj, o->under->id);
}

/* HDF5 asks for one in each of its calls. */
static herr_t get_wrap_ctx(const void *obj, void **ret)
{
    const struct vel_object *o = obj;
    struct vel_context *context = &o->under->plain;
    void *below = NULL;

    if (!o->under->is_native && H5VLget_wrap_ctx(o->obj, o->under->id, &below) < 0)
        return -1;
    if (below) {
        context = malloc(sizeof *context);
        if (!context) {
            H5VLfree_wrap_ctx(below, o->under->id);
            return -1;
        }
        *context = (struct vel_context){.under = o->under, .below = below};
    }
    vel_under_share(o->under);
    *ret = context;
    return 0;
}

static void *wrap_object(void *obj, H5I_type_t type, void *data)
{
    struct vel_context *context = data;

    return vel_object_create(
        H5VLwrap_object(obj, type, context->under->id, context->below), context->under);
}

static void *unwrap_object(void *obj)
{
    struct vel_object *o = obj;
    void *below = H5VLunwrap_object(o->obj, o->under->id);

    if (below)
        vel_object_destroy(o);
    return below;
}

/* The stack may tell of a failure. Saving it costs more than anything else that a call
 * through us does: only where it could be cleared. */
static herr_t free_wrap_ctx(void *data)
{
    struct vel_context *context = data;
    struct vel_under *under = context->under;

    if (context->below) {
        hid_t stack = vel_stack_save();

        H5VLfree_wrap_ctx(context->below, under->id);
        vel_stack_restore(stack);
        free(context);
    }
    vel_under_release(under);
    return 0;
}

const H5VL_wrap_class_t vel_wrap_class = {
    .get_object = get_object,
    .get_wrap_ctx = get_wrap_ctx,
    .wrap_object = wrap_object,
    .unwrap_object = unwrap_object,
    .free_wrap_ctx = free_wrap_ctx,
};
