/* SPDX-License-Identifier: BSD-3-Clause */
/* Files. They have property lists that name us: what goes below names the connector
 * there. */
#include "config.h"

#include <stdbool.h>

#include "base/log.h"
#include "classes.h"
#include "forward.h"
#include "info.h"
#include "push.h"

/* A call of the connector below that has no object yet. */
struct file_call {
    struct vel_call call;
    struct vel_info *info;
    hid_t fapl_id; /* for the connector below */
};

static int file_call_begin(struct file_call *f, hid_t fapl_id)
{
    *f = (struct file_call){.fapl_id = -1};
    if (vel_info_of_fapl(fapl_id, &f->info) < 0)
        return -1;
    f->call.id = f->info->under_id;
    f->call.under = vel_under_create(f->call.id);
    if (!f->call.under)
        vel_push(H5E_NOSPACE, "there is no memory for a file");
    else
        f->fapl_id = vel_info_fapl_below(f->info, fapl_id);
    if (f->fapl_id < 0) {
        vel_under_release(f->call.under);
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

/* --- callbacks --- */

/* Whoever asks for the connector wants files to be protected, and must know that they
 * are not. */
static void tell_once(void)
{
    static bool is_told;

    if (!is_told)
        vel_log(VEL_LOG_WARN, "this version of the HDF5 connector writes files where "
                              "they belong and does not protect them: programs that "
                              "call veloc.h are protected");
    is_told = true;
}

static void *create(const char *name, unsigned flags, hid_t fcpl_id, hid_t fapl_id,
                    hid_t dxpl_id, void **req)
{
    struct file_call f;

    tell_once();
    if (file_call_begin(&f, fapl_id) < 0)
        return NULL;
    return file_call_end_object(
        &f, H5VLfile_create(name, flags, fcpl_id, f.fapl_id, dxpl_id, req), req);
}

static void *open_named(const char *name, unsigned flags, hid_t fapl_id, hid_t dxpl_id,
                        void **req)
{
    struct file_call f;

    if (file_call_begin(&f, fapl_id) < 0)
        return NULL;
    return file_call_end_object(&f, H5VLfile_open(name, flags, f.fapl_id, dxpl_id, req),
                                req);
}

/* Where there is a name and no file. */
static herr_t specific_named(H5VL_file_specific_args_t *args, hid_t *fapl_id,
                             hid_t dxpl_id, void **req)
{
    struct file_call f;

    if (file_call_begin(&f, *fapl_id) < 0)
        return -1;
    *fapl_id = f.fapl_id;
    return file_call_end(&f, H5VLfile_specific(NULL, f.call.id, args, dxpl_id, req),
                         req);
}

/* The second file of IS_EQUAL comes as the object at the very bottom already. */
static herr_t specific(void *obj, H5VL_file_specific_args_t *args, hid_t dxpl_id,
                       void **req)
{
    H5VL_file_specific_args_t below = *args;
    struct vel_call call;
    herr_t rc;

    if (args->op_type == H5VL_FILE_IS_ACCESSIBLE)
        return specific_named(&below, &below.args.is_accessible.fapl_id, dxpl_id, req);
    if (args->op_type == H5VL_FILE_DELETE)
        return specific_named(&below, &below.args.del.fapl_id, dxpl_id, req);
    call = vel_call_begin(obj);
    rc = H5VLfile_specific(call.obj, call.id, &below, dxpl_id, req);
    if (rc >= 0 && args->op_type == H5VL_FILE_REOPEN && *args->args.reopen.file) {
        void *again = *args->args.reopen.file;

        *args->args.reopen.file = vel_object_create(again, call.under);
        rc = *args->args.reopen.file ? rc : -1;
    }
    return vel_call_end(&call, rc, req);
}

VEL_FORWARD(get, H5VLfile_get, H5VL_file_get_args_t)
VEL_FORWARD(optional, H5VLfile_optional, H5VL_optional_args_t)
VEL_FORWARD_CLOSE(close_it, H5VLfile_close)

const H5VL_file_class_t vel_file_class = {
    .create = create,
    .open = open_named,
    .get = get,
    .specific = specific,
    .optional = optional,
    .close = close_it,
};
