/* SPDX-License-Identifier: BSD-3-Clause */
/* What HDF5 asks a plug-in for, and the class table of the connector.
 *
 * In this version the connector can be found, loaded and asked for its name; it does
 * not yet route files, and says so to whoever creates or opens one through it. */
#include "config.h"

#include <hdf5.h>

#include "H5VLveloc.h"

H5PL_type_t H5PLget_plugin_type(void);
const void *H5PLget_plugin_info(void);

static void *refuse(const char *what, const char *name)
{
    H5Epush2(H5E_DEFAULT, __FILE__, what, __LINE__, H5E_ERR_CLS, H5E_VOL,
             H5E_UNSUPPORTED,
             "%s: h5veloc " PACKAGE_VERSION " cannot route files yet; unset "
             "HDF5_VOL_CONNECTOR to use HDF5's own connector",
             name);
    return NULL;
}

static void *H5VL_veloc_file_create(const char *name, unsigned flags, hid_t fcpl_id,
                                    hid_t fapl_id, hid_t dxpl_id, void **req)
{
    (void)flags, (void)fcpl_id, (void)fapl_id, (void)dxpl_id, (void)req;
    return refuse("H5VL_veloc_file_create", name);
}

static void *H5VL_veloc_file_open(const char *name, unsigned flags, hid_t fapl_id,
                                  hid_t dxpl_id, void **req)
{
    (void)flags, (void)fapl_id, (void)dxpl_id, (void)req;
    return refuse("H5VL_veloc_file_open", name);
}

static const H5VL_class_t H5VL_veloc_class;

static herr_t H5VL_veloc_get_conn_cls(void *obj, H5VL_get_conn_lvl_t lvl,
                                      const H5VL_class_t **conn_cls)
{
    (void)obj, (void)lvl;
    *conn_cls = &H5VL_veloc_class;
    return 0;
}

static herr_t H5VL_veloc_get_cap_flags(const void *info, uint64_t *cap_flags)
{
    (void)info;
    *cap_flags = H5VL_veloc_class.cap_flags;
    return 0;
}

static herr_t H5VL_veloc_opt_query(void *obj, H5VL_subclass_t subcls, int opt_type,
                                   uint64_t *flags)
{
    (void)obj, (void)subcls, (void)opt_type;
    *flags = 0;
    return 0;
}

static const H5VL_class_t H5VL_veloc_class = {
    .version = H5VL_VERSION,
    .value = H5VL_VELOC_VALUE,
    .name = H5VL_VELOC_NAME,
    .conn_version = 0,
    .cap_flags = H5VL_CAP_FLAG_FILE_BASIC,
    .introspect_cls =
        {
            .get_conn_cls = H5VL_veloc_get_conn_cls,
            .get_cap_flags = H5VL_veloc_get_cap_flags,
            .opt_query = H5VL_veloc_opt_query,
        },
    .file_cls = {.create = H5VL_veloc_file_create, .open = H5VL_veloc_file_open},
};

H5PL_type_t H5PLget_plugin_type(void)
{
    return H5PL_TYPE_VOL;
}

const void *H5PLget_plugin_info(void)
{
    return &H5VL_veloc_class;
}
