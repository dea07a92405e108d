/* SPDX-License-Identifier: BSD-3-Clause */
/* Datasets: all of it belongs to the connector below. */
#include "config.h"

#include <stdlib.h>

#include "classes.h"
#include "forward.h"
#include "mpi_rank.h"
#include "plain.h"
#include "push.h"

enum { FEW = 16 };

/* The objects below several of ours. */
struct many {
    void *few[FEW];
    void **objs;
};

static int many_begin(struct many *many, void *const *dsets, size_t count)
{
    many->objs = count <= FEW ? many->few : malloc(count * sizeof *many->objs);
    if (!many->objs)
        return vel_push(H5E_NOSPACE, "there is no memory for a list of datasets");
    for (size_t i = 0; i < count; i++)
        many->objs[i] = vel_object_under(dsets[i]);
    return 0;
}

static void many_end(struct many *many)
{
    if (many->objs != many->few)
        free(many->objs);
}

/* The stack stays. */
static void transfer_end(hid_t dxpl_id)
{
    hid_t stack = vel_stack_save();

    vel_mpi_transfer_end(dxpl_id);
    vel_stack_restore(stack);
}

static void *create(void *obj, const H5VL_loc_params_t *loc, const char *name,
                    hid_t lcpl_id, hid_t type_id, hid_t space_id, hid_t dcpl_id,
                    hid_t dapl_id, hid_t dxpl_id, void **req)
{
    struct vel_call call = vel_call_begin_plain(obj);

    vel_plain_check_new_dataset(type_id, dcpl_id);

    void *dset = H5VLdataset_create(call.obj, loc, call.id, name, lcpl_id, type_id,
                                    space_id, dcpl_id, dapl_id, dxpl_id, req);

    return vel_call_end_object(&call, dset, req);
}

static herr_t read_some(size_t count, void *dsets[], hid_t type_ids[],
                        hid_t mem_space_ids[], hid_t file_space_ids[], hid_t dxpl_id,
                        void *bufs[], void **req)
{
    struct many many;
    struct vel_call call;
    bool is_changed;
    herr_t rc;

    if (count == 0)
        return 0;
    if (many_begin(&many, dsets, count) < 0)
        return -1;
    call = vel_call_begin_plain(dsets[0]);
    is_changed = call.under->is_self && vel_mpi_transfer_begin(dxpl_id);
    rc = H5VLdataset_read(count, many.objs, call.id, type_ids, mem_space_ids,
                          file_space_ids, dxpl_id, bufs, req);
    if (is_changed)
        transfer_end(dxpl_id);
    many_end(&many);
    return vel_call_end(&call, rc, req);
}

static herr_t write_some(size_t count, void *dsets[], hid_t type_ids[],
                         hid_t mem_space_ids[], hid_t file_space_ids[], hid_t dxpl_id,
                         const void *bufs[], void **req)
{
    struct many many;
    struct vel_call call;
    bool is_changed;
    herr_t rc;

    if (count == 0)
        return 0;
    if (many_begin(&many, dsets, count) < 0)
        return -1;
    call = vel_call_begin_plain(dsets[0]);
    is_changed = call.under->is_self && vel_mpi_transfer_begin(dxpl_id);
    rc = H5VLdataset_write(count, many.objs, call.id, type_ids, mem_space_ids,
                           file_space_ids, dxpl_id, bufs, req);
    if (is_changed)
        transfer_end(dxpl_id);
    many_end(&many);
    return vel_call_end(&call, rc, req);
}

static void *open_named(void *obj, const H5VL_loc_params_t *loc, const char *name,
                        hid_t dapl_id, hid_t dxpl_id, void **req)
{
    struct vel_call call = vel_call_begin_plain(obj);
    void *dset = H5VLdataset_open(call.obj, loc, call.id, name, dapl_id, dxpl_id, req);

    if (dset)
        vel_plain_check_dataset(dset, call.id);
    return vel_call_end_object(&call, dset, req);
}

static herr_t specific(void *obj, H5VL_dataset_specific_args_t *args, hid_t dxpl_id,
                       void **req)
{
    bool is_extent = args->op_type == H5VL_DATASET_SET_EXTENT;
    struct vel_call call = is_extent ? vel_call_begin_plain(obj) : vel_call_begin(obj);

    if (is_extent)
        vel_plain_check_extent(call.obj, call.id, args->args.set_extent.size);

    herr_t rc = H5VLdataset_specific(call.obj, call.id, args, dxpl_id, req);

    return vel_call_end(&call, rc, req);
}

VEL_FORWARD_GET(get, H5VLdataset_get, H5VL_dataset_get_args_t)
VEL_FORWARD(optional, H5VLdataset_optional, H5VL_optional_args_t)
VEL_FORWARD_CLOSE(close_it, H5VLdataset_close)

const H5VL_dataset_class_t vel_dataset_class = {
    .create = create,
    .open = open_named,
    .read = read_some,
    .write = write_some,
    .get = get,
    .specific = specific,
    .optional = optional,
    .close = close_it,
};
