/* SPDX-License-Identifier: BSD-3-Clause */
/* busy FIFO - an MPI program that never ends by itself: its ranks talk to each other
 * for ever. Once all have met, each writes "HOST RANK" to the FIFO, and keeps it open:
 * a reader meets the end of the FIFO when no rank is left.
 */
#include "config.h"

#include <stdio.h>
#include <unistd.h>

#include <mpi.h>

int main(int argc, char **argv)
{
    char host[256] = "";
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    gethostname(host, sizeof host - 1);
    FILE *fifo = fopen(argc > 1 ? argv[1] : "", "w");
    if (!fifo) {
        perror("busy: FIFO");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    fprintf(fifo, "%s %d\n", host, rank);
    fflush(fifo);
    for (;;)
        MPI_Barrier(MPI_COMM_WORLD);
}
