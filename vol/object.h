/* SPDX-License-Identifier: BSD-3-Clause */
/* What every callback of the connector does: it takes the connector's own object, calls
 * the connector below with the object there, and gives back what comes out of it.
 *
 *     struct vel_call call = vel_call_begin(obj);
 *     herr_t rc = H5VLattr_read(call.obj, call.id, type_id, buf, dxpl_id, req);
 *     return vel_call_end(&call, rc, req);
 *
 * The calls of the connector below are public ones, which print the error stack when
 * they fail, as HDF5 itself does once more for its caller: between begin and end the
 * automatic printing is off, and the stack stays as it is. */
#ifndef VEL_VOL_OBJECT_H
#define VEL_VOL_OBJECT_H

#include <stdbool.h>

#include <hdf5.h>

/* What HDF5 keeps during each of its calls, to wrap what comes up meanwhile. */
struct vel_context {
    struct vel_under *under;
    void *below; /* context of the connector below; NULL: it needs none */
};

/* The connector below; one for all objects of a file, since each of them would have to
 * count a reference of the id else. */
struct vel_under {
    hid_t id;
    size_t uses;
    bool is_native;           /* HDF5's own: it wraps nothing, and needs no context */
    struct vel_context plain; /* whoever needs none shares this one */
    struct vel_file *file; /* that is written in the cache, while it is open; or NULL */
    bool
        is_self; /* to the program it is one that MPI-IO has opened for this process, */
    bool is_atomic; /* and this is how */
};

struct vel_object {
    void *obj; /* of the connector below */
    struct vel_under *under;
};

/* Takes a reference of the id. NULL when there is no memory. */
struct vel_under *vel_under_create(hid_t id);

/* Has this process never had another than HDF5's own? They may work in other threads,
 * and later. */
bool vel_under_is_always_native(void);

struct vel_under *vel_under_share(struct vel_under *under);
void vel_under_release(struct vel_under *under);

/* Both take NULL. An object that cannot be made leaves that below to the caller. */
struct vel_object *vel_object_create(void *obj, struct vel_under *under);
void vel_object_destroy(struct vel_object *object);

/* How errors were printed, to be put back. */
struct vel_quiet {
    H5E_auto2_t print;
    void *arg;
#ifndef H5_NO_DEPRECATED_SYMBOLS
    H5E_auto1_t print1;
#endif
};

void vel_quiet_begin(struct vel_quiet *quiet);
void vel_quiet_end(const struct vel_quiet *quiet);

/* What is cleaned up after a failure must not clear the stack that tells of it: the
 * stack of now is put aside, and put back. */
hid_t vel_stack_save(void);
void vel_stack_restore(hid_t stack);

struct vel_call {
    void *obj;
    hid_t id;
    struct vel_under *under; /* outlives the call, also when its object does not */
    struct vel_quiet quiet;
    bool is_counted; /* for vel_call_is_inside() */
};

/* `object` is one of ours, of any class. After vel_call_begin() a process is no longer
 * plain (plain.h); the other is for what is known to be harmless. */
struct vel_call vel_call_begin(void *object);
struct vel_call vel_call_begin_plain(void *object);

/* Is a call of an object under way? A file that HDF5 opens then it opens by itself. */
bool vel_call_is_inside(void);

/* The result, after a request was made ours if the connector below made one. */
herr_t vel_call_end(struct vel_call *call, herr_t rc, void **req);

/* The same when the result is an object of the connector below, or NULL. */
void *vel_call_end_object(struct vel_call *call, void *obj, void **req);

/* The object below ours; NULL stays NULL. */
static inline void *vel_object_under(void *object)
{
    return object ? ((struct vel_object *)object)->obj : NULL;
}

#endif
