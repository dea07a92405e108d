/* SPDX-License-Identifier: BSD-3-Clause */
/* Files. They have property lists that name us: what goes below names the connector
 * there. */
#include "config.h"

#include <stdbool.h>

#include "ask.h"
#include "classes.h"
#include "forward.h"
#include "head.h"
#include "info.h"
#include "mpi_rank.h"
#include "plain.h"
#include "push.h"
#include "route.h"
#include "vfd/home.h"
#include "vfd/live.h"

/* A call of the connector below that has no object yet. */
struct file_call {
    struct vel_call call;
    struct vel_info *info;
    hid_t given_id; /* the program's list */
    hid_t fapl_id;  /* the same for the connector below; below 0: nobody needs it yet */
};

/* To copy a list costs as much as a small read. */
static hid_t list_below(struct file_call *f)
{
    if (f->fapl_id < 0)
        f->fapl_id = vel_info_fapl_below(f->info, f->given_id);
    return f->fapl_id;
}

static int file_call_begin(struct file_call *f, hid_t fapl_id)
{
    *f = (struct file_call){.given_id = fapl_id, .fapl_id = -1};
    if (vel_info_of_fapl(fapl_id, &f->info) < 0)
        return -1;
    f->call.id = f->info->under_id;
    f->call.under = vel_under_create(f->call.id);
    if (!f->call.under) {
        vel_push(H5E_NOSPACE, "there is no memory for a file");
        vel_info_free(f->info);
        return -1;
    }
    vel_quiet_begin(&f->call.quiet);
    return 0;
}

/* After what begin has made is no longer needed; the stack stays. */
static void file_call_release(struct file_call *f)
{
    hid_t stack = vel_stack_save();

    if (f->fapl_id >= 0)
        H5Pclose(f->fapl_id);
    vel_info_free(f->info);
    vel_stack_restore(stack);
}

static void *file_call_end_object(struct file_call *f, void *obj, void **req)
{
    file_call_release(f);
    return vel_call_end_object(&f->call, obj, req);
}

static herr_t file_call_end(struct file_call *f, herr_t rc, void **req)
{
    file_call_release(f);
    return vel_call_end(&f->call, rc, req);
}

/* --- create and open --- */

enum { ROUNDS = 3 }; /* a file that is read may move meanwhile: looked for so often */

/* How a file is opened below: what create and open differ in. */
struct opening {
    const char *name;
    unsigned flags;
    hid_t fcpl_id; /* to create it; H5I_INVALID_HID: it is opened */
    hid_t dxpl_id;
    void **req;
};

static void *open_below(const struct opening *o, hid_t fapl_id)
{
    return o->fcpl_id >= 0
               ? H5VLfile_create(o->name, o->flags, o->fcpl_id, fapl_id, o->dxpl_id,
                                 o->req)
               : H5VLfile_open(o->name, o->flags, fapl_id, o->dxpl_id, o->req);
}

/* Whether it is open is known when a connector below that works later has done it. */
static bool is_open_now(const struct file_call *f, void *obj, void **req)
{
    H5VL_request_status_t status = H5VL_REQUEST_STATUS_SUCCEED;

    if (obj && req && *req &&
        H5VLrequest_wait(*req, f->call.id, H5ES_WAIT_FOREVER, &status) < 0)
        return false;
    return obj && status == H5VL_REQUEST_STATUS_SUCCEED;
}

/* Of a file that is open below. NULL: it has none. */
static void *handle_of(const struct vel_under *under, void *obj)
{
    H5VL_native_file_optional_args_t native = {
        .get_vfd_handle = {.fapl_id = H5P_FILE_ACCESS_DEFAULT}};
    void *handle = NULL;
    H5VL_optional_args_t args = {.op_type = H5VL_NATIVE_FILE_GET_VFD_HANDLE,
                                 .args = &native};

    native.get_vfd_handle.file_handle = &handle;
    if (!under->is_native ||
        H5VLfile_optional(obj, under->id, &args, H5P_DATASET_XFER_DEFAULT, NULL) < 0)
        return NULL;
    return handle;
}

/* From now on it can be brought back to its newest flush. */
static void begin_live(const struct file_call *f, void *obj, const struct opening *o)
{
    bool is_new = o->fcpl_id >= 0;
    const char *why = !f->call.under->is_native ? "another connector is below ours"
                      : H5Pget_driver(f->given_id) != H5FD_SEC2
                          ? "its driver is another than sec2"
                          : NULL;

    if (why)
        vel_journal_tell_none(o->name, why);
    if (why || !vel_live_begin(o->name, handle_of(f->call.under, obj), is_new))
        return;
    if (is_new)
        vel_plain_check_creation(o->fcpl_id);
    else
        vel_plain_check_file(obj, f->call.id);
}

/* As without us. */
static void *open_unseen(struct file_call *f, const struct opening *o,
                         const struct vel_route *route)
{
    void *obj;

    H5Eclear2(H5E_DEFAULT);
    obj = open_below(o, list_below(f));
    if (obj && route->answer.has_journal)
        vel_journal_tell_none(o->name, "it could not be opened at first");
    return obj;
}

static void *open_routed(struct file_call *f, struct vel_route *route, hid_t fapl_id,
                         const struct opening *o)
{
    bool is_placed = fapl_id != f->given_id;
    void *obj = open_below(o, is_placed ? fapl_id : list_below(f));
    bool is_open = is_open_now(f, obj, o->req);

    if (vel_route_settle(route, fapl_id, is_open))
        return open_unseen(f, o, route);
    if (is_open && route->placed.is_unseen)
        vel_driver_adopt(&route->placed, handle_of(f->call.under, obj), o->flags);
    if (is_open && route->answer.has_journal)
        begin_live(f, obj, o);
    if (is_open)
        f->call.under->file = route->answer.file;
    f->call.under->is_self = route->is_self && is_placed;
    return obj;
}

/* *ret_is_stale: it is to be tried again. */
static void *open_once(struct file_call *f, const struct opening *o, bool *ret_is_stale)
{
    hid_t routed = f->given_id;
    struct vel_route route;
    void *obj = NULL;
    int rc = o->fcpl_id >= 0
                 ? vel_route_create(&route, f->info, o->name, o->flags, &routed)
                 : vel_route_open(&route, f->info, o->name, o->flags, &routed);

    *ret_is_stale = false;
    if (rc == 0) {
        obj = open_routed(f, &route, routed, o);
        *ret_is_stale = !obj && vel_route_is_stale(&route);
    } else {
        vel_route_settle(&route, routed, false);
    }
    vel_route_end(&route, routed);
    return obj;
}

static void *open_file(const struct opening *o, hid_t fapl_id)
{
    struct file_call f;
    bool is_stale = true;
    void *obj = NULL;

    if (file_call_begin(&f, fapl_id) < 0)
        return NULL;
    for (int round = 0; is_stale && round < ROUNDS; round++) {
        if (round > 0)
            H5Eclear2(H5E_DEFAULT);
        obj = open_once(&f, o, &is_stale);
    }
    return file_call_end_object(&f, obj, o->req);
}

static void *create(const char *name, unsigned flags, hid_t fcpl_id, hid_t fapl_id,
                    hid_t dxpl_id, void **req)
{
    const struct opening o = {name, flags, fcpl_id, dxpl_id, req};

    return open_file(&o, fapl_id);
}

static void *open_named(const char *name, unsigned flags, hid_t fapl_id, hid_t dxpl_id,
                        void **req)
{
    const struct opening o = {name, flags, H5I_INVALID_HID, dxpl_id, req};

    return open_file(&o, fapl_id);
}

/* --- where there is a name and no file --- */

/* *ret_is_stale: it is to be tried again. */
static herr_t look_once(struct file_call *f, H5VL_file_specific_args_t *args,
                        hid_t dxpl_id, void **req, bool *ret_is_stale)
{
    H5VL_file_specific_args_t below = *args;
    const char *name = args->args.is_accessible.filename;
    hid_t routed = f->given_id;
    struct vel_route route;
    herr_t rc = vel_route_look(&route, f->info, name, &routed);

    below.args.is_accessible.fapl_id = routed == f->given_id ? list_below(f) : routed;
    if (rc == 0 && route.answer.at == VEL_FILE_AWAY)
        *args->args.is_accessible.accessible = true;
    else if (rc == 0)
        rc = H5VLfile_specific(NULL, f->call.id, &below, dxpl_id, req);
    if (vel_route_settle(&route, routed, false) && rc < 0) {
        H5Eclear2(H5E_DEFAULT);
        below.args.is_accessible.fapl_id = list_below(f);
        rc = H5VLfile_specific(NULL, f->call.id, &below, dxpl_id, req);
    }
    *ret_is_stale = rc < 0 && vel_route_is_stale(&route);
    vel_route_end(&route, routed);
    return rc;
}

static herr_t look(struct file_call *f, H5VL_file_specific_args_t *args, hid_t dxpl_id,
                   void **req)
{
    bool is_stale = true;
    herr_t rc = -1;

    for (int round = 0; is_stale && round < ROUNDS; round++) {
        if (round > 0)
            H5Eclear2(H5E_DEFAULT);
        rc = look_once(f, args, dxpl_id, req, &is_stale);
    }
    return rc;
}

static herr_t remove_it(struct file_call *f, H5VL_file_specific_args_t *args,
                        hid_t dxpl_id, void **req)
{
    H5VL_file_specific_args_t below = *args;
    bool is_gone;
    herr_t rc =
        vel_route_remove(f->info, args->args.del.filename, f->given_id, &is_gone);

    below.args.del.fapl_id = list_below(f);
    if (rc == 0 && !is_gone)
        rc = H5VLfile_specific(NULL, f->call.id, &below, dxpl_id, req);
    return rc;
}

/* When the connector that nobody has chosen cannot open a file, HDF5 asks all plug-ins
 * whether they could, with its errors on the stack; the calls of a program begin
 * without any. Who did not choose us is to see what is there without us. */
static bool is_probe(const H5VL_file_specific_args_t *args)
{
    return args->op_type == H5VL_FILE_IS_ACCESSIBLE && H5Eget_num(H5E_DEFAULT) > 0;
}

static herr_t specific_named(H5VL_file_specific_args_t *args, hid_t dxpl_id, void **req)
{
    bool is_look = args->op_type == H5VL_FILE_IS_ACCESSIBLE;
    struct file_call f;
    herr_t rc;

    if (is_probe(args)) {
        *args->args.is_accessible.accessible = false;
        return 0;
    }
    if (file_call_begin(&f, is_look ? args->args.is_accessible.fapl_id
                                    : args->args.del.fapl_id) < 0)
        return -1;
    rc = (is_look ? look : remove_it)(&f, args, dxpl_id, req);
    return file_call_end(&f, rc, req);
}

/* --- what is open --- */

static herr_t flush(void *obj, H5VL_file_specific_args_t *args, hid_t dxpl_id,
                    void **req)
{
    struct vel_call call = vel_call_begin_plain(obj);
    herr_t rc;

    vel_live_flush_begin();
    rc = H5VLfile_specific(call.obj, call.id, args, dxpl_id, req);
    vel_live_flush_end(rc >= 0);
    if (rc >= 0 && call.under->file)
        vel_file_flushed(call.under->file, vel_head_closed);
    return vel_call_end(&call, rc, req);
}

/* The second file of IS_EQUAL comes as the object at the very bottom already. */
static herr_t specific(void *obj, H5VL_file_specific_args_t *args, hid_t dxpl_id,
                       void **req)
{
    struct vel_call call;
    herr_t rc;

    if (args->op_type == H5VL_FILE_IS_ACCESSIBLE || args->op_type == H5VL_FILE_DELETE)
        return specific_named(args, dxpl_id, req);
    if (args->op_type == H5VL_FILE_FLUSH)
        return flush(obj, args, dxpl_id, req);
    call = vel_call_begin(obj);
    rc = H5VLfile_specific(call.obj, call.id, args, dxpl_id, req);
    if (rc >= 0 && args->op_type == H5VL_FILE_REOPEN && *args->args.reopen.file) {
        void *again = *args->args.reopen.file;

        *args->args.reopen.file = vel_object_create(again, call.under);
        rc = *args->args.reopen.file ? rc : -1;
    }
    return vel_call_end(&call, rc, req);
}

static herr_t get(void *obj, H5VL_file_get_args_t *args, hid_t dxpl_id, void **req)
{
    struct vel_call call = vel_call_begin_plain(obj);
    herr_t rc = H5VLfile_get(call.obj, call.id, args, dxpl_id, req);

    if (rc >= 0 && args->op_type == H5VL_FILE_GET_FAPL && call.under->is_self)
        rc = vel_mpi_pretend(args->args.get_fapl.fapl_id);
    return vel_call_end(&call, rc, req);
}

/* Those that HDF5 itself needs at each open, or that ask. */
static bool is_plain(int op)
{
    return op == H5VL_NATIVE_FILE_POST_OPEN || op == H5VL_NATIVE_FILE_GET_SIZE ||
           op == H5VL_NATIVE_FILE_GET_VFD_HANDLE || op == H5VL_NATIVE_FILE_GET_INFO;
}

/* Readers look at the path of the file once it is theirs, too. */
static herr_t start_swmr(const struct vel_call *call, H5VL_optional_args_t *args,
                         hid_t dxpl_id, void **req)
{
    const void *handle = handle_of(call->under, call->obj);
    herr_t rc = H5VLfile_optional(call->obj, call->id, args, dxpl_id, req);

    if (rc < 0)
        return rc;
    if (!vel_home_lets_read(handle))
        return vel_push(H5E_CANTOPENFILE, "%s",
                        "others cannot read the file while it is written: it cannot "
                        "come to its own path, and the log says why");
    vel_live_give_up(handle, "it is read while it is written (SWMR)");
    return 0;
}

/* What HDF5 allows for files of MPI-IO alone is answered here; and the handle of such a
 * file is none that the program could use. */
static herr_t ask_self(struct vel_call *call, H5VL_optional_args_t *args, hid_t dxpl_id,
                       void **req)
{
    if (vel_mpi_answer(args, &call->under->is_atomic))
        return 0;
    if (args->op_type == H5VL_NATIVE_FILE_GET_VFD_HANDLE)
        return vel_push(H5E_CANTGET, "%s",
                        "the file is in a cache, where MPI-IO has no handle for it: a "
                        "DATASET line with PUBLISH=LIVE leaves it to MPI-IO");
    return H5VLfile_optional(call->obj, call->id, args, dxpl_id, req);
}

/* Without a file there is nothing below, and no object. */
static herr_t optional(void *obj, H5VL_optional_args_t *args, hid_t dxpl_id, void **req)
{
    struct vel_call call;
    herr_t rc;

    if (vel_ask_is(args->op_type))
        return vel_ask(args);
    call = is_plain(args->op_type) ? vel_call_begin_plain(obj) : vel_call_begin(obj);
    if (call.under->is_self)
        rc = ask_self(&call, args, dxpl_id, req);
    else if (args->op_type == H5VL_NATIVE_FILE_START_SWMR_WRITE)
        rc = start_swmr(&call, args, dxpl_id, req);
    else
        rc = H5VLfile_optional(call.obj, call.id, args, dxpl_id, req);
    return vel_call_end(&call, rc, req);
}

VEL_FORWARD_CLOSE(close_below, H5VLfile_close)

static herr_t close_it(void *obj, hid_t dxpl_id, void **req)
{
    herr_t rc;

    vel_files_closing(true);
    rc = close_below(obj, dxpl_id, req);
    vel_files_closing(false);
    return rc;
}

const H5VL_file_class_t vel_file_class = {
    .create = create,
    .open = open_named,
    .get = get,
    .specific = specific,
    .optional = optional,
    .close = close_it,
};
