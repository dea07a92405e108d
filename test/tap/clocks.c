/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tap/clocks.h"

enum { APART = 5 * 3600 + 1 }; /* seconds */

static long ahead;

void tap_clock_of(int rank)
{
    ahead = (rank % 2 ? 1L : -1L) * ((rank + 1) / 2) * APART;
}

/* In place of the C library's, for all of the program. */
int clock_gettime(clockid_t id, struct timespec *ret)
{
    int rc = (int)syscall(SYS_clock_gettime, id, ret);

    if (rc == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
        ret->tv_sec += ahead;
    return rc;
}
