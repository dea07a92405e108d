/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "plain.h"

/* Of a message that may lie in a dense place, where its space is that of raw data. */
enum { ATTR_MOST = 4096 };

static bool is_plain;

void vel_plain_begin(void)
{
    is_plain = true;
}

void vel_plain_end(void)
{
    is_plain = false;
}

bool vel_plain_is(void)
{
    return is_plain;
}

/* --- types --- */

static bool is_plain_type(hid_t type_id);

static bool are_plain_members(hid_t type_id)
{
    int n = H5Tget_nmembers(type_id);
    bool are = n > 0;

    for (int i = 0; are && i < n; i++) {
        hid_t member = H5Tget_member_type(type_id, (unsigned)i);

        are = is_plain_type(member);
        H5Tclose(member);
    }
    return are;
}

/* Without values elsewhere in the file: none of variable length, and no reference. */
static bool is_plain_type(hid_t type_id)
{
    bool is = false;
    hid_t base;

    switch (H5Tget_class(type_id)) {
    case H5T_INTEGER:
    case H5T_FLOAT:
    case H5T_TIME:
    case H5T_BITFIELD:
    case H5T_OPAQUE:
    case H5T_ENUM:
        return true;
    case H5T_STRING:
        return H5Tis_variable_str(type_id) == 0;
    case H5T_COMPOUND:
        return are_plain_members(type_id);
    case H5T_ARRAY:
        base = H5Tget_super(type_id);
        is = is_plain_type(base);
        H5Tclose(base);
        return is;
    default:
        return false;
    }
}

/* --- files --- */

void vel_plain_check_creation(hid_t fcpl_id)
{
    H5F_fspace_strategy_t strategy = H5F_FSPACE_STRATEGY_PAGE;
    hbool_t persists = true;
    hsize_t threshold;
    unsigned n_shared = 1;

    if (is_plain &&
        (H5Pget_file_space_strategy(fcpl_id, &strategy, &persists, &threshold) < 0 ||
         strategy != H5F_FSPACE_STRATEGY_FSM_AGGR || persists ||
         H5Pget_shared_mesg_nindexes(fcpl_id, &n_shared) < 0 || n_shared > 0))
        vel_plain_end();
}

void vel_plain_check_file(void *object, hid_t id)
{
    H5VL_file_get_args_t args = {.op_type = H5VL_FILE_GET_FCPL,
                                 .args.get_fcpl.fcpl_id = H5I_INVALID_HID};

    if (!is_plain)
        return;
    if (H5VLfile_get(object, id, &args, H5P_DATASET_XFER_DEFAULT, NULL) < 0) {
        vel_plain_end();
        return;
    }
    vel_plain_check_creation(args.args.get_fcpl.fcpl_id);
    H5Pclose(args.args.get_fcpl.fcpl_id);
}

/* --- datasets --- */

void vel_plain_check_new_dataset(hid_t type_id, hid_t dcpl_id)
{
    if (is_plain && (!is_plain_type(type_id) || H5Pget_nfilters(dcpl_id) != 0 ||
                     H5Pget_layout(dcpl_id) == H5D_VIRTUAL))
        vel_plain_end();
}

static hid_t get_of_dataset(void *object, hid_t id, H5VL_dataset_get_t what)
{
    H5VL_dataset_get_args_t args = {.op_type = what};

    if (H5VLdataset_get(object, id, &args, H5P_DATASET_XFER_DEFAULT, NULL) < 0)
        return H5I_INVALID_HID;
    return what == H5VL_DATASET_GET_TYPE    ? args.args.get_type.type_id
           : what == H5VL_DATASET_GET_SPACE ? args.args.get_space.space_id
                                            : args.args.get_dcpl.dcpl_id;
}

void vel_plain_check_dataset(void *object, hid_t id)
{
    hid_t type_id, dcpl_id;

    if (!is_plain)
        return;
    type_id = get_of_dataset(object, id, H5VL_DATASET_GET_TYPE);
    dcpl_id = get_of_dataset(object, id, H5VL_DATASET_GET_DCPL);
    vel_plain_check_new_dataset(type_id, dcpl_id);
    H5Pclose(dcpl_id);
    H5Tclose(type_id);
}

void vel_plain_check_extent(void *object, hid_t id, const hsize_t *size)
{
    hsize_t now[H5S_MAX_RANK];
    hid_t space_id;
    int rank;

    if (!is_plain)
        return;
    space_id = get_of_dataset(object, id, H5VL_DATASET_GET_SPACE);
    rank = H5Sget_simple_extent_dims(space_id, now, NULL);
    if (rank < 0)
        vel_plain_end();
    for (int i = 0; i < rank; i++)
        if (size[i] < now[i])
            vel_plain_end();
    H5Sclose(space_id);
}

/* --- attributes --- */

void vel_plain_check_attr(hid_t type_id, hid_t space_id)
{
    hssize_t n = is_plain ? H5Sget_simple_extent_npoints(space_id) : 0;

    if (is_plain && (n < 0 || !is_plain_type(type_id) ||
                     (hsize_t)n * H5Tget_size(type_id) >= ATTR_MOST))
        vel_plain_end();
}

void vel_plain_check_attr_size(void *object, hid_t id)
{
    hsize_t size = ATTR_MOST;
    H5VL_attr_get_args_t args = {.op_type = H5VL_ATTR_GET_STORAGE_SIZE,
                                 .args.get_storage_size.data_size = &size};

    if (is_plain &&
        (H5VLattr_get(object, id, &args, H5P_DATASET_XFER_DEFAULT, NULL) < 0 ||
         size >= ATTR_MOST))
        vel_plain_end();
}
