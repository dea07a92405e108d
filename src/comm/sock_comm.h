/* SPDX-License-Identifier: BSD-3-Clause */
/* sock_comm - a communicator on connections that exist. */
#ifndef VEL_COMM_SOCK_COMM_H
#define VEL_COMM_SOCK_COMM_H

#include "comm/comm.h"
#include "comm/sock_mesh.h"

struct sock {
    struct vel_comm comm;
    struct sock_mesh *mesh;
    uint64_t id;
    uint64_t splits; /* so far: part of the identity of a child */
    bool has_told;   /* the others know that it is broken, or told us */
    int *members;    /* ranks in the mesh */
};

/* Takes one use of the mesh when it succeeds, and `members` (their ranks in the mesh)
 * in any case. */
int vel_sock_comm_take(struct sock_mesh *mesh, uint64_t id, int *members, int rank,
                       int size, struct vel_comm **ret_comm, struct vel_err *err);

#endif
