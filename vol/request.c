/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests of a connector below that works in the background. */
#include "config.h"

#include "classes.h"
#include "object.h"

static herr_t wait_for(void *req, uint64_t timeout, H5VL_request_status_t *ret)
{
    struct vel_call call = vel_call_begin(req);

    return vel_call_end(&call, H5VLrequest_wait(call.obj, call.id, timeout, ret), NULL);
}

static herr_t notify(void *req, H5VL_request_notify_t tell, void *arg)
{
    struct vel_call call = vel_call_begin(req);

    return vel_call_end(&call, H5VLrequest_notify(call.obj, call.id, tell, arg), NULL);
}

static herr_t cancel(void *req, H5VL_request_status_t *ret)
{
    struct vel_call call = vel_call_begin(req);

    return vel_call_end(&call, H5VLrequest_cancel(call.obj, call.id, ret), NULL);
}

static herr_t specific(void *req, H5VL_request_specific_args_t *args)
{
    struct vel_call call = vel_call_begin(req);

    return vel_call_end(&call, H5VLrequest_specific(call.obj, call.id, args), NULL);
}

static herr_t optional(void *req, H5VL_optional_args_t *args)
{
    struct vel_call call = vel_call_begin(req);

    return vel_call_end(&call, H5VLrequest_optional(call.obj, call.id, args), NULL);
}

static herr_t free_it(void *req)
{
    struct vel_call call = vel_call_begin(req);
    herr_t rc = H5VLrequest_free(call.obj, call.id);

    if (rc >= 0)
        vel_object_destroy(req);
    return vel_call_end(&call, rc, NULL);
}

const H5VL_request_class_t vel_request_class = {
    .wait = wait_for,
    .notify = notify,
    .cancel = cancel,
    .specific = specific,
    .optional = optional,
    .free = free_it,
};
