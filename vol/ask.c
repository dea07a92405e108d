/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdio.h>

#include "H5VLveloc.h"
#include "ask.h"
#include "info.h"
#include "process/files_ask.h"
#include "object.h"
#include "push.h"

_Static_assert((int)H5VL_VELOC_LOST == VEL_SAFETY_LOST &&
                   (int)H5VL_VELOC_ABSENT == VEL_SAFETY_ABSENT &&
                   (int)H5VL_VELOC_INCOMPLETE == VEL_SAFETY_INCOMPLETE &&
                   (int)H5VL_VELOC_COMPLETE == VEL_SAFETY_COMPLETE &&
                   (int)H5VL_VELOC_PROTECTED == VEL_SAFETY_PROTECTED &&
                   (int)H5VL_VELOC_FLUSHED == VEL_SAFETY_FLUSHED,
               "users see our values");

/* --- numbers --- */

static int op_status = -1, op_versions = -1;

/* It may have one, from when the connector was in use before. */
static herr_t find(const char *name, int *ret)
{
    if (H5VLfind_opt_operation(H5VL_SUBCLS_FILE, name, ret) >= 0)
        return 0;
    return H5VLregister_opt_operation(H5VL_SUBCLS_FILE, name, ret);
}

herr_t vel_ask_begin(void)
{
    hid_t stack = vel_stack_save();
    struct vel_quiet quiet;
    herr_t rc;

    vel_quiet_begin(&quiet);
    rc = find(H5VL_VELOC_OP_STATUS, &op_status);
    if (rc >= 0)
        rc = find(H5VL_VELOC_OP_VERSIONS, &op_versions);
    vel_quiet_end(&quiet);
    vel_stack_restore(stack);
    return rc;
}

bool vel_ask_is(int op)
{
    return op >= 0 && (op == op_status || op == op_versions);
}

/* --- answers --- */

/* The settings that a list names, if it names us. */
static herr_t read_list(hid_t fapl_id, struct vel_info **ret)
{
    hid_t list = fapl_id == H5P_DEFAULT ? H5P_FILE_ACCESS_DEFAULT : fapl_id;
    H5VL_class_value_t value;
    hid_t connector = -1;
    herr_t rc;

    *ret = NULL;
    if (H5Pget_vol_id(list, &connector) < 0)
        return -1;
    rc = H5VLget_value(connector, &value);
    H5VLclose(connector);
    if (rc < 0 || value != H5VL_VELOC_VALUE)
        return rc;
    return vel_info_of_fapl(list, ret);
}

static herr_t ask_status(const H5VL_veloc_status_args_t *args,
                         const struct vel_files_of *of)
{
    struct vel_file_standing standing;
    struct vel_err err = {0};

    if (vel_files_await(of, args->name, (enum vel_file_safety)args->wanted,
                        args->seconds, &standing, &err) < 0)
        return vel_push(H5E_CANTGET, "%s", err.text);
    args->status->safety = (H5VL_veloc_safety_t)standing.safety;
    args->status->dataset = standing.dataset;
    args->status->left = standing.left;
    snprintf(args->status->why, sizeof args->status->why, "%s",
             standing.why ? standing.why : "");
    vel_file_standing_fini(&standing);
    return 0;
}

static herr_t tell_version(const H5VL_veloc_versions_args_t *args,
                           const struct vel_file_version *from)
{
    const H5VL_veloc_version_t version = {.name = from->path,
                                          .dataset = from->dataset,
                                          .created = from->created,
                                          .size = from->size,
                                          .is_own = from->is_own,
                                          .is_cached = from->is_cached,
                                          .is_published = from->is_published,
                                          .why = from->why};

    return args->op(&version, args->op_data);
}

static herr_t ask_versions(H5VL_veloc_versions_args_t *args,
                           const struct vel_files_of *of)
{
    struct vel_err err = {0};
    struct vel_vec versions;

    if (vel_files_list(of, args->pattern, args->most, &versions, &err) < 0)
        return vel_push(H5E_CANTGET, "%s", err.text);
    for (size_t i = 0; args->result == 0 && i < versions.n; i++)
        args->result = tell_version(args, vel_vec_at(&versions, i));
    vel_file_versions_fini(&versions);
    return 0;
}

/* --- what was asked --- */

static bool is_status(const H5VL_veloc_status_args_t *args)
{
    return args && args->version == H5VL_VELOC_ARGS_VERSION && args->name &&
           *args->name && args->seconds >= 0 && args->status;
}

static bool is_versions(const H5VL_veloc_versions_args_t *args)
{
    return args && args->version == H5VL_VELOC_ARGS_VERSION && args->pattern &&
           args->op;
}

herr_t vel_ask(const H5VL_optional_args_t *args)
{
    struct vel_files_of of;
    bool is_for_status = args->op_type == op_status;
    struct vel_quiet quiet;
    struct vel_info *info;
    herr_t rc;

    if (is_for_status ? !is_status(args->args) : !is_versions(args->args))
        return vel_push(H5E_BADVALUE,
                        "an argument is missing or negative, or of a version of "
                        "H5VLveloc.h that this connector does not know");
    vel_quiet_begin(&quiet);
    rc = read_list(is_for_status
                       ? ((const H5VL_veloc_status_args_t *)args->args)->fapl_id
                       : ((const H5VL_veloc_versions_args_t *)args->args)->fapl_id,
                   &info);
    vel_quiet_end(&quiet);
    if (rc < 0)
        return -1;
    of = vel_info_files_of(info);
    rc = is_for_status ? ask_status(args->args, &of) : ask_versions(args->args, &of);
    vel_info_free(info);
    return rc;
}
