/* SPDX-License-Identifier: BSD-3-Clause */
/* What the connector can do: what the one below can. */
#include "config.h"

#include "ask.h"
#include "classes.h"
#include "info.h"
#include "object.h"

static herr_t get_conn_cls(void *obj, H5VL_get_conn_lvl_t level,
                           const H5VL_class_t **ret)
{
    struct vel_object *o = obj;

    if (level == H5VL_GET_CONN_LVL_CURR) {
        *ret = vel_class();
        return 0;
    }
    return H5VLintrospect_get_conn_cls(o->obj, o->under->id, level, ret);
}

/* Without information HDF5's own connector is below. */
static herr_t get_cap_flags(const void *data, uint64_t *ret)
{
    const struct vel_info *info = data;
    hid_t native;
    herr_t rc;

    if (info) {
        rc = H5VLintrospect_get_cap_flags(info->under_info, info->under_id, ret);
    } else {
        native = H5VLget_connector_id_by_value(H5_VOL_NATIVE);
        if (native < 0)
            return -1;
        rc = H5VLintrospect_get_cap_flags(NULL, native, ret);
        H5Idec_ref(native);
    }
    if (rc >= 0)
        *ret &= vel_class()->cap_flags;
    return rc;
}

static herr_t opt_query(void *obj, H5VL_subclass_t subclass, int op, uint64_t *ret)
{
    struct vel_object *o = obj;

    if (subclass == H5VL_SUBCLS_FILE && vel_ask_is(op)) {
        *ret = H5VL_OPT_QUERY_SUPPORTED | H5VL_OPT_QUERY_NO_ASYNC;
        return 0;
    }
    return H5VLintrospect_opt_query(o->obj, o->under->id, subclass, op, ret);
}

const H5VL_introspect_class_t vel_introspect_class = {
    .get_conn_cls = get_conn_cls,
    .get_cap_flags = get_cap_flags,
    .opt_query = opt_query,
};
