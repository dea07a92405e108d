/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>

#include "object.h"
#include "plain.h"

/* --- the connector below --- */

static bool has_other;

bool vel_under_is_always_native(void)
{
    return !has_other;
}

struct vel_under *vel_under_create(hid_t id)
{
    struct vel_under *under = malloc(sizeof *under);
    H5VL_class_value_t value;

    if (!under)
        return NULL;
    H5Iinc_ref(id);
    *under = (struct vel_under){.id = id, .uses = 1, .plain.under = under};
    under->is_native = H5VLget_value(id, &value) >= 0 && value == H5_VOL_NATIVE;
    if (!under->is_native) {
        has_other = true;
        vel_plain_end();
    }
    return under;
}

struct vel_under *vel_under_share(struct vel_under *under)
{
    under->uses++;
    return under;
}

void vel_under_release(struct vel_under *under)
{
    hid_t stack;

    if (!under || --under->uses)
        return;
    stack = vel_stack_save();
    H5Idec_ref(under->id);
    vel_stack_restore(stack);
    free(under);
}

/* --- objects --- */

struct vel_object *vel_object_create(void *obj, struct vel_under *under)
{
    struct vel_object *object = obj && under ? malloc(sizeof *object) : NULL;

    if (object)
        *object = (struct vel_object){.obj = obj, .under = vel_under_share(under)};
    return object;
}

void vel_object_destroy(struct vel_object *object)
{
    if (!object)
        return;
    vel_under_release(object->under);
    free(object);
}

/* --- error stacks --- */

#ifndef H5_NO_DEPRECATED_SYMBOLS
static int is_old_style(void)
{
    unsigned is_v2 = 1;

    return H5Eauto_is_v2(H5E_DEFAULT, &is_v2) >= 0 && !is_v2;
}
#endif

void vel_quiet_begin(struct vel_quiet *quiet)
{
    *quiet = (struct vel_quiet){0};
#ifndef H5_NO_DEPRECATED_SYMBOLS
    if (is_old_style()) {
        H5Eget_auto1(&quiet->print1, &quiet->arg);
        if (quiet->print1)
            H5Eset_auto1(NULL, NULL);
        return;
    }
#endif
    H5Eget_auto2(H5E_DEFAULT, &quiet->print, &quiet->arg);
    if (quiet->print)
        H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

void vel_quiet_end(const struct vel_quiet *quiet)
{
#ifndef H5_NO_DEPRECATED_SYMBOLS
    if (quiet->print1)
        H5Eset_auto1(quiet->print1, quiet->arg);
#endif
    if (quiet->print)
        H5Eset_auto2(H5E_DEFAULT, quiet->print, quiet->arg);
}

hid_t vel_stack_save(void)
{
    return H5Eget_current_stack();
}

void vel_stack_restore(hid_t stack)
{
    if (stack >= 0)
        H5Eset_current_stack(stack);
}

/* --- calls --- */

static size_t n_calls; /* under way */

bool vel_call_is_inside(void)
{
    return n_calls > 0;
}

struct vel_call vel_call_begin_plain(void *object)
{
    struct vel_object *o = object;
    struct vel_call call = {.obj = o->obj,
                            .id = o->under->id,
                            .under = vel_under_share(o->under),
                            .is_counted = true};

    n_calls++;
    vel_quiet_begin(&call.quiet);
    return call;
}

struct vel_call vel_call_begin(void *object)
{
    vel_plain_end();
    return vel_call_begin_plain(object);
}

/* A request that cannot be made ours is waited for here: then nobody needs it. */
static void take_request(struct vel_under *under, void **req)
{
    struct vel_object *object = vel_object_create(*req, under);
    H5VL_request_status_t status;

    if (!object) {
        H5VLrequest_wait(*req, under->id, H5ES_WAIT_FOREVER, &status);
        H5VLrequest_free(*req, under->id);
    }
    *req = object;
}

herr_t vel_call_end(struct vel_call *call, herr_t rc, void **req)
{
    if (req && *req)
        take_request(call->under, req);
    n_calls -= call->is_counted;
    vel_quiet_end(&call->quiet);
    vel_under_release(call->under);
    return rc;
}

void *vel_call_end_object(struct vel_call *call, void *obj, void **req)
{
    struct vel_object *object = vel_object_create(obj, call->under);

    vel_call_end(call, 0, req);
    return object;
}
