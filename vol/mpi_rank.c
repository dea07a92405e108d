/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "mpi_rank.h"

#ifdef H5_HAVE_PARALLEL

#include <mpi.h>

bool vel_mpi_rank(int64_t *ret_rank, int64_t *ret_ranks)
{
    int is_up = 0, is_down = 0, rank, ranks;

    MPI_Initialized(&is_up);
    MPI_Finalized(&is_down);
    if (!is_up || is_down)
        return false;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    *ret_rank = rank;
    *ret_ranks = ranks;
    return true;
}

struct vel_orderly_mpi vel_mpi_orderly(void)
{
    return (struct vel_orderly_mpi){MPI_Initialized, MPI_Finalized};
}

int vel_mpi_sharers(hid_t fapl_id)
{
    int is_up = 0, is_down = 0, sharers = 2; /* as far as is known */
    MPI_Info info = MPI_INFO_NULL;
    MPI_Comm comm;

    if (H5Pget_driver(fapl_id) != H5FD_MPIO)
        return 0;
    MPI_Initialized(&is_up);
    MPI_Finalized(&is_down);
    if (!is_up || is_down || H5Pget_fapl_mpio(fapl_id, &comm, &info) < 0)
        return sharers;
    MPI_Comm_size(comm, &sharers);
    MPI_Comm_free(&comm);
    if (info != MPI_INFO_NULL)
        MPI_Info_free(&info);
    return sharers;
}

int vel_mpi_leave(hid_t fapl_id)
{
    H5F_close_degree_t degree;

    if (H5Pget_fclose_degree(fapl_id, &degree) < 0 || H5Pset_fapl_sec2(fapl_id) < 0)
        return -1;
    if (H5Pset_file_locking(fapl_id, false, true) < 0) /* MPI-IO takes no lock */
        return -1;
    return degree == H5F_CLOSE_DEFAULT ? H5Pset_fclose_degree(fapl_id, H5F_CLOSE_SEMI)
                                       : 0;
}

int vel_mpi_pretend(hid_t fapl_id)
{
    return H5Pset_fapl_mpio(fapl_id, MPI_COMM_SELF, MPI_INFO_NULL);
}

bool vel_mpi_transfer_begin(hid_t dxpl_id)
{
    H5FD_mpio_xfer_t mode = H5FD_MPIO_INDEPENDENT;

    return dxpl_id != H5P_DEFAULT && H5Pget_dxpl_mpio(dxpl_id, &mode) >= 0 &&
           mode == H5FD_MPIO_COLLECTIVE &&
           H5Pset_dxpl_mpio(dxpl_id, H5FD_MPIO_INDEPENDENT) >= 0;
}

void vel_mpi_transfer_end(hid_t dxpl_id)
{
    H5Pset_dxpl_mpio(dxpl_id, H5FD_MPIO_COLLECTIVE);
}

bool vel_mpi_answer(H5VL_optional_args_t *args, bool *is_atomic)
{
    H5VL_native_file_optional_args_t *native = args->args;

    if (args->op_type == H5VL_NATIVE_FILE_SET_MPI_ATOMICITY)
        *is_atomic = native->set_mpi_atomicity.flag;
    else if (args->op_type == H5VL_NATIVE_FILE_GET_MPI_ATOMICITY)
        *native->get_mpi_atomicity.flag = *is_atomic;
    else
        return false;
    return true;
}

#else

bool vel_mpi_rank(int64_t *ret_rank, int64_t *ret_ranks)
{
    (void)ret_rank, (void)ret_ranks;
    return false;
}

struct vel_orderly_mpi vel_mpi_orderly(void)
{
    return (struct vel_orderly_mpi){NULL, NULL};
}

int vel_mpi_sharers(hid_t fapl_id)
{
    (void)fapl_id;
    return 0;
}

int vel_mpi_leave(hid_t fapl_id)
{
    (void)fapl_id;
    return 0;
}

int vel_mpi_pretend(hid_t fapl_id)
{
    (void)fapl_id;
    return 0;
}

bool vel_mpi_transfer_begin(hid_t dxpl_id)
{
    (void)dxpl_id;
    return false;
}

void vel_mpi_transfer_end(hid_t dxpl_id)
{
    (void)dxpl_id;
}

bool vel_mpi_answer(H5VL_optional_args_t *args, bool *is_atomic)
{
    (void)args, (void)is_atomic;
    return false;
}

#endif
