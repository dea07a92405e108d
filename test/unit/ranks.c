/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "recover/ranks.h"
#include "tap/crowd.h"
#include "tap/tap.h"

struct asked {
    const char *flags; /* a character per rank: x for those among them */
    const char *want;
};

static int ask(struct vel_comm *comm, void *arg)
{
    const struct asked *asked = arg;
    struct vel_buf told;
    int rc;

    vel_buf_init(&told);
    rc = vel_ranks_tell(comm, asked->flags[comm->rank] == 'x', &told, NULL);
    if (rc == 0)
        rc = strcmp(vel_buf_text(&told), asked->want);
    vel_buf_fini(&told);
    return rc;
}

static bool says(const char *flags, const char *want)
{
    struct asked asked = {flags, want};

    return crowd_run((int)strlen(flags), NULL, ask, &asked, NULL) == 0;
}

int main(void)
{
    const struct crowd_fault fault = {.rank = 1, .nth = 1};
    struct asked none = {"....", ""};

    ok(says("....", ""), "where there is none nothing is said, on all ranks");
    ok(says("x", "rank 0") && says("..x.", "rank 2") && says("...x", "rank 3"),
       "one is named");
    ok(says("xx..", "ranks 0-1") && says("xxxx", "ranks 0-3"), "a row by its ends");
    ok(says("x.xxx.x", "ranks 0, 2-4, 6"), "several one after the other");
    ok(says("x.x.x.x.x.x.x.xx", "ranks 0, 2, 4, 6, 8, 10, 12, 14-15"),
       "as many as can be read");
    ok(says("x.x.x.x.x.x.x.xx.x.x", "ranks 0, 2, 4, 6, 8, 10, 12, 14-15, ..."),
       "and no more");
    is_int(crowd_run(4, &fault, ask, &none, NULL), 4,
           "a rank without memory is a failure on all");
    return done_testing();
}
