/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi - the communicator of an MPI program. */
#ifndef VEL_COMM_MPI_H
#define VEL_COMM_MPI_H

#include <mpi.h>

#include "comm/comm.h"

/* Collective over `mpi`, of which the result is a duplicate: no message of one is ever
 * taken for one of the other. All members get the same result. Needs MPI_THREAD_SINGLE
 * only; calls come from one thread at a time. vel_comm_destroy() is to be called by all
 * members before MPI_Finalize.
 *
 * MPI has no time limit: a member that died is noticed when MPI notices. A member that
 * fails while it lives tells the others, who then do not wait for it. */
int vel_comm_mpi(MPI_Comm mpi, struct vel_comm **ret_comm, struct vel_err *err);

#endif
