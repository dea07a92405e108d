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

bool vel_mpi_is_shared(hid_t fapl_id)
{
    return H5Pget_driver(fapl_id) == H5FD_MPIO;
}

#else

bool vel_mpi_rank(int64_t *ret_rank, int64_t *ret_ranks)
{
    (void)ret_rank, (void)ret_ranks;
    return false;
}

bool vel_mpi_is_shared(hid_t fapl_id)
{
    (void)fapl_id;
    return false;
}

#endif
