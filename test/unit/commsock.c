/* SPDX-License-Identifier: BSD-3-Clause */
/* The communicator over sockets. */
#include "config.h"

#include <string.h>

#include "tap/commcheck.h"
#include "tap/sockjob.h"
#include "tap/tap.h"

static int long_message(struct vel_comm *comm, void *unused)
{
    (void)unused;
    return commcheck_long(comm, (size_t)64 << 20);
}

int main(void)
{
    for (int n = 1; n <= 9; n++)
        is_int(sockjob_run(n, n % 2 ? "unix" : "tcp", commcheck_all, NULL), 0,
               "%d members keep every promise of a communicator", n);
    is_int(sockjob_run(16, "unix", commcheck_all, NULL), 0, "16 members too");
    is_int(sockjob_run(2, "tcp", long_message, NULL), 0, "64 MiB arrive over TCP");
    is_int(sockjob_run(3, "unix", long_message, NULL), 0, "and over a Unix socket");
    return done_testing();
}
