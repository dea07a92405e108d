/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks that split themselves come to what one process would, for any number of
 * them. */
#include "config.h"

#include <inttypes.h>

#include "tap/seeds.h"
#include "tap/sockjob.h"
#include "tap/splitlab.h"
#include "tap/tap.h"

int main(void)
{
    struct tap_seeds slice = tap_seeds(24);
    struct splitlab_seeds seeds = {slice.first, slice.last};
    struct vel_comm *self = NULL;

    ok(vel_comm_self(&self, NULL) == 0 && splitlab_compare(self, &seeds) == 0 &&
           splitlab_refusals(self, NULL) == 0,
       "one rank alone is split as one process would");
    vel_comm_destroy(self);
    for (int n = 2; n <= 17; n++)
        is_int(sockjob_run(n, n % 2 ? "tcp" : "unix", splitlab_compare, &seeds), 0,
               "%d ranks come to what one process would, SEEDS=%" PRIu64 "-%" PRIu64, n,
               seeds.first, seeds.last);
    is_int(sockjob_run(5, "unix", splitlab_refusals, NULL), 0,
           "what is wrong on one rank is refused on all, with nothing broken");
    return done_testing();
}
