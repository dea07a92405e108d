/* SPDX-License-Identifier: BSD-3-Clause */
/* What MPI says, for an HDF5 that knows it. Nothing here is collective, and nothing is
 * asked before MPI has begun or after it has ended. */
#ifndef VEL_VOL_MPI_RANK_H
#define VEL_VOL_MPI_RANK_H

#include <stdbool.h>
#include <stdint.h>

#include <hdf5.h>

bool vel_mpi_rank(int64_t *ret_rank, int64_t *ret_ranks);

/* Will the file be opened by the processes of a communicator? */
bool vel_mpi_is_shared(hid_t fapl_id);

#endif
