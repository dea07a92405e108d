/* SPDX-License-Identifier: BSD-3-Clause */
/* The communicator of one member. */
#include "config.h"

#include <string.h>

#include "tap/commcheck.h"
#include "tap/tap.h"

int main(void)
{
    struct vel_comm *comm = NULL;
    struct vel_err err = {0};
    char byte = 0;

    is_int(vel_comm_self(&comm, NULL), 0, "a communicator of one member is made");
    for (int i = 0; i < n_commchecks; i++)
        is_int(commchecks[i].run(comm), 0, "alone: %s", commchecks[i].promise);
    is_int(vel_comm_recv(comm, 0, 4, &byte, 1, &err), VEL_ESTATE,
           "waiting for what one has not sent to oneself ends");
    ok(strstr(err.text, "tag 4") != NULL, "and says so: %s", err.text);
    is_int(vel_comm_send(comm, 0, 4, &byte, 1, NULL), VEL_ESTATE,
           "a broken communicator stays broken");
    is_int(vel_comm_barrier(comm, NULL), VEL_ESTATE, "for collectives too");
    vel_comm_destroy(comm);
    vel_comm_destroy(NULL);
    return done_testing();
}
