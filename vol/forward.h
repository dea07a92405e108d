/* SPDX-License-Identifier: BSD-3-Clause */
/* Callbacks of one shape differ in the types of their arguments and in the function of
 * HDF5 that they call, and in nothing else: each shape is written once, here. */
#ifndef VEL_VOL_FORWARD_H
#define VEL_VOL_FORWARD_H

#include "object.h"

/* on an object */
#define VEL_FORWARD_BY(begin, name, call_below, args_t)                                \
    static herr_t name(void *obj, args_t *args, hid_t dxpl_id, void **req)             \
    {                                                                                  \
        struct vel_call call = begin(obj);                                             \
        herr_t rc = call_below(call.obj, call.id, args, dxpl_id, req);                 \
                                                                                       \
        return vel_call_end(&call, rc, req);                                           \
    }

/* at a place */
#define VEL_FORWARD_AT_BY(begin, name, call_below, args_t)                             \
    static herr_t name(void *obj, const H5VL_loc_params_t *loc, args_t *args,          \
                       hid_t dxpl_id, void **req)                                      \
    {                                                                                  \
        struct vel_call call = begin(obj);                                             \
        herr_t rc = call_below(call.obj, loc, call.id, args, dxpl_id, req);            \
                                                                                       \
        return vel_call_end(&call, rc, req);                                           \
    }

/* What asks changes nothing. */
#define VEL_FORWARD(name, call_below, args_t)                                          \
    VEL_FORWARD_BY(vel_call_begin, name, call_below, args_t)
#define VEL_FORWARD_GET(name, call_below, args_t)                                      \
    VEL_FORWARD_BY(vel_call_begin_plain, name, call_below, args_t)
#define VEL_FORWARD_AT(name, call_below, args_t)                                       \
    VEL_FORWARD_AT_BY(vel_call_begin, name, call_below, args_t)
#define VEL_FORWARD_GET_AT(name, call_below, args_t)                                   \
    VEL_FORWARD_AT_BY(vel_call_begin_plain, name, call_below, args_t)

/* what has a name is opened */
#define VEL_FORWARD_OPEN(name, call_below)                                             \
    static void *name(void *obj, const H5VL_loc_params_t *loc, const char *below,      \
                      hid_t apl_id, hid_t dxpl_id, void **req)                         \
    {                                                                                  \
        struct vel_call call = vel_call_begin_plain(obj);                              \
        void *opened =                                                                 \
            call_below(call.obj, loc, call.id, below, apl_id, dxpl_id, req);           \
                                                                                       \
        return vel_call_end_object(&call, opened, req);                                \
    }

/* what is closed is no object of ours any longer, if that works */
#define VEL_FORWARD_CLOSE(name, call_below)                                            \
    static herr_t name(void *obj, hid_t dxpl_id, void **req)                           \
    {                                                                                  \
        struct vel_call call = vel_call_begin_plain(obj);                              \
        herr_t rc = call_below(call.obj, call.id, dxpl_id, req);                       \
                                                                                       \
        if (rc >= 0)                                                                   \
            vel_object_destroy(obj);                                                   \
        return vel_call_end(&call, rc, req);                                           \
    }

#endif
