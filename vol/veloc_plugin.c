/* SPDX-License-Identifier: BSD-3-Clause */
/* What HDF5 asks a plug-in for, and the connector's class. */
#define _GNU_SOURCE /* dladdr */
#include "config.h"

#include <dlfcn.h>
#include <stdbool.h>

#include "H5VLveloc.h"
#include "ask.h"
#include "classes.h"
#include "forward.h"
#include "info.h"
#include "process/files.h"
#include "vfd/driver.h"

H5PL_type_t H5PLget_plugin_type(void);
const void *H5PLget_plugin_info(void);

VEL_FORWARD(optional, H5VLoptional, H5VL_optional_args_t)

/* HDF5 takes us in: when it begins, or after a failure, whose errors stay. */
static herr_t initialize(hid_t vipl_id)
{
    hid_t errors = H5Eget_num(H5E_DEFAULT) > 0 ? vel_stack_save() : H5I_INVALID_HID;
    herr_t rc;

    (void)vipl_id;
    vel_files_begin();
    rc = vel_ask_begin();
    if (rc >= 0)
        vel_stack_restore(errors);
    else if (errors >= 0)
        H5Eclose_stack(errors);
    return rc;
}

static herr_t terminate(void)
{
    vel_driver_end();
    return 0;
}

/* Everything: what the connector below cannot do is taken away by get_cap_flags. */
#define CAPABILITIES (~(uint64_t)0)

const H5VL_class_t *vel_class(void)
{
    static H5VL_class_t class;

    class = (H5VL_class_t){
        .version = H5VL_VERSION,
        .value = H5VL_VELOC_VALUE,
        .name = H5VL_VELOC_NAME,
        .conn_version = 1,
        .cap_flags = CAPABILITIES,
        .initialize = initialize,
        .terminate = terminate,
        .info_cls = vel_info_class,
        .wrap_cls = vel_wrap_class,
        .attr_cls = vel_attr_class,
        .dataset_cls = vel_dataset_class,
        .datatype_cls = vel_datatype_class,
        .file_cls = vel_file_class,
        .group_cls = vel_group_class,
        .link_cls = vel_link_class,
        .object_cls = vel_object_class,
        .introspect_cls = vel_introspect_class,
        .request_cls = vel_request_class,
        .blob_cls = vel_blob_class,
        .token_cls = vel_token_class,
        .optional = optional,
    };
    return &class;
}

/* A process may hold several HDF5 libraries, and the environment speaks to all: only
 * the one whose functions we call may use us. */
static bool is_our_library(const void *caller)
{
    Dl_info ours, theirs;

    return dladdr((const void *)(uintptr_t)H5get_libversion, &ours) == 0 ||
           dladdr(caller, &theirs) == 0 || ours.dli_fbase == theirs.dli_fbase;
}

/* A plug-in of another type is passed over without a word, which a failure is not. */
H5PL_type_t H5PLget_plugin_type(void)
{
    return is_our_library(__builtin_return_address(0)) ? H5PL_TYPE_VOL
                                                       : H5PL_TYPE_FILTER;
}

const void *H5PLget_plugin_info(void)
{
    return vel_class();
}
