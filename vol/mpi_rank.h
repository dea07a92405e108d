/* SPDX-License-Identifier: BSD-3-Clause */
/* What MPI says, for an HDF5 that knows it. Nothing here is collective, and nothing is
 * asked before MPI has begun or after it has ended. */
#ifndef VEL_VOL_MPI_RANK_H
#define VEL_VOL_MPI_RANK_H

#include <stdbool.h>
#include <stdint.h>

#include <hdf5.h>

#include "process/orderly.h"

bool vel_mpi_rank(int64_t *ret_rank, int64_t *ret_ranks);

/* What tells at the end of the process whether it ends in good order. */
struct vel_orderly_mpi vel_mpi_orderly(void);

/* Will MPI-IO open the file, and for how many processes? 0: something else will. */
int vel_mpi_sharers(hid_t fapl_id);

/* A file that MPI-IO was to open for one process is opened by this list, as by sec2;
 * and one of a file that was opened so becomes what the program would see. */
int vel_mpi_leave(hid_t fapl_id);
int vel_mpi_pretend(hid_t fapl_id);

/* Transfers of such a file by a list that asks for collective ones, which only MPI-IO
 * knows: the list of the program itself is changed meanwhile, for HDF5 writes to it
 * until the end of the program's call. True: and is to be given back. */
bool vel_mpi_transfer_begin(hid_t dxpl_id);
void vel_mpi_transfer_end(hid_t dxpl_id);

/* Calls that HDF5 allows for files of MPI-IO alone; false: it is none of them. */
bool vel_mpi_answer(H5VL_optional_args_t *args, bool *is_atomic);

#endif
