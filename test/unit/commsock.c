/* SPDX-License-Identifier: BSD-3-Clause */
/* The communicator over sockets. */
#include "config.h"

#include <string.h>

#include "comm/sock.h"
#include "tap/commcheck.h"
#include "tap/sockjob.h"
#include "tap/tap.h"

static int long_message(struct vel_comm *comm, void *unused)
{
    (void)unused;
    return commcheck_long(comm, (size_t)64 << 20);
}

static bool goes_on(void *arg)
{
    int *asked = arg;

    return ++*asked < 3;
}

/* Whoever comes first (0), or last (1), and the other one never. */
static void stops(int rank)
{
    static const uint8_t token[VEL_COMM_TOKEN] = {1};
    struct vel_comm_listener *here = NULL, *there = NULL;
    struct vel_comm *comm = NULL;
    struct vel_err err = {0};
    int asked = 0;
    const struct vel_comm_sock_conf conf = {
        .limit_ms = 1000000, .goes_on = goes_on, .arg = &asked};

    if (vel_comm_sock_listen("tcp:127.0.0.1:0", &here, &err) < 0 ||
        vel_comm_sock_listen("tcp:127.0.0.1:0", &there, &err) < 0)
        bail_out("%s", err.text);
    const char *own = vel_comm_listener_endpoint(here);
    const char *other = vel_comm_listener_endpoint(there);
    const char *endpoints[] = {rank == 0 ? own : other, rank == 0 ? other : own};

    is_int(vel_comm_sock_meet(here, rank, 2, endpoints, token, &conf, &comm, &err),
           VEL_ECANCEL,
           "member %d, told to stop, does not wait for one that never comes", rank);
    vel_comm_listener_destroy(here);
    vel_comm_listener_destroy(there);
}

int main(void)
{
    stops(0);
    stops(1);
    for (int n = 1; n <= 9; n++)
        is_int(sockjob_run(n, n % 2 ? "unix" : "tcp", commcheck_all, NULL), 0,
               "%d members keep every promise of a communicator", n);
    is_int(sockjob_run(16, "unix", commcheck_all, NULL), 0, "16 members too");
    is_int(sockjob_run(2, "tcp", long_message, NULL), 0, "64 MiB arrive over TCP");
    is_int(sockjob_run(3, "unix", long_message, NULL), 0, "and over a Unix socket");
    return done_testing();
}
