/* SPDX-License-Identifier: BSD-3-Clause */
/* The communicator of MPI programs. */
#include "config.h"

#include <string.h>

#include <mpi.h>

#include "comm/mpi.h"
#include "tap/commcheck.h"
#include "tap/mtap.h"

/* The failure of one member ends the waits of all others, whatever they wait for. */
static void a_failure_is_heard(struct vel_comm *comm)
{
    struct vel_comm *child = NULL;
    struct vel_err err = {0};
    char byte = 0;
    int rc;

    vel_comm_split(comm, 0, 0, &child, NULL);
    if (comm->rank == 1) {
        vel_fail(&err, VEL_ENOMEM, "no memory for a table");
        vel_comm_fail(child, &err);
        rc = vel_comm_barrier(child, &err);
    } else {
        rc = vel_comm_recv(child, comm->rank, 5, &byte, 1, &err);
    }
    mis_int(rc, VEL_ENOMEM, "the failure of one member ends what the others wait for");
    const char *want = comm->rank == 1 ? "no memory" : "rank 1: no memory";
    mok(strncmp(err.text, want, strlen(want)) == 0, "and they know whose it was");
    vel_comm_destroy(child);
}

int main(int argc, char **argv)
{
    struct vel_comm *comm = NULL;

    mtap_init(&argc, &argv);
    mok(vel_comm_mpi(MPI_COMM_WORLD, &comm, NULL) == 0 && comm->size == mtap_size() &&
            comm->rank == mtap_rank(),
        "a communicator is made of MPI's");
    for (int i = 0; i < n_commchecks; i++)
        mis_int(commchecks[i].run(comm), 0, "%s", commchecks[i].promise);
    mis_int(commcheck_long(comm, (size_t)64 << 20), 0, "64 MiB arrive");
    a_failure_is_heard(comm);
    vel_comm_destroy(comm);
    return mtap_done();
}
