/* SPDX-License-Identifier: BSD-3-Clause */
/* orderly - does this process end in good order? MPI_Finalize was reached, or there is
 * no MPI, and exit() was not called with another status than 0, as far as that is
 * known.
 */
#ifndef VEL_PROCESS_ORDERLY_H
#define VEL_PROCESS_ORDERLY_H

#include <stdbool.h>

/* Functions of MPI's own: they are called at the very end of the process. NULL: there
 * is no MPI that is known of. */
struct vel_orderly_mpi {
    int (*initialized)(int *ret_flag), (*finalized)(int *ret_flag);
};

/* From now on the status of the exit is known. Once for the process. */
void vel_orderly_watch(const struct vel_orderly_mpi *mpi);

/* It ends now. */
bool vel_orderly_is(void);

#endif
