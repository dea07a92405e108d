/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI ranks that split themselves into redundancy sets. */
#include "config.h"

#include <inttypes.h>

#include "comm/mpi.h"
#include "tap/mtap.h"
#include "tap/splitlab.h"

int main(int argc, char **argv)
{
    struct vel_comm *comm = NULL, *fewer = NULL;
    struct vel_err err = {0};

    mtap_init(&argc, &argv);
    if (!mok(vel_comm_mpi(MPI_COMM_WORLD, &comm, &err) == 0, "a communicator %s",
             err.text))
        return mtap_done();
    struct splitlab_seeds seeds = {1, 40};
    mis_int(splitlab_compare(comm, &seeds), 0,
            "ranks come to what one process would, SEEDS=%" PRIu64 "-%" PRIu64,
            seeds.first, seeds.last);
    mis_int(splitlab_refusals(comm, NULL), 0,
            "what is wrong on one rank is refused on all, with nothing broken");
    int color = comm->rank < comm->size - 1 ? 0 : -1;
    mok(vel_comm_split(comm, color, 0, &fewer, NULL) == 0, "one rank steps aside");
    mis_int(fewer ? splitlab_compare(fewer, &seeds) : 0, 0,
            "and the others do the same among themselves");
    vel_comm_destroy(fewer);
    vel_comm_destroy(comm);
    return mtap_done();
}
