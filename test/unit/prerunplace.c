/* SPDX-License-Identifier: BSD-3-Clause */
/* On which node a rank of a program will run, as its launcher deals blocks. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "process/prerun_in.h"
#include "tap/tap.h"

/* "0 0 1": the node of each rank. */
static const char *blocks(int ranks, int nodes, const struct vel_conf *conf)
{
    const struct vel_prerun_of of = {.conf = conf, .nodes = nodes};
    const struct vel_prerun p = {.of = &of};
    const struct vel_view_dataset dataset = {.about.ranks = ranks};
    static char text[256];
    size_t at = 0;

    text[0] = '\0';
    for (int rank = 0; rank < ranks; rank++) {
        const struct vel_view_place part = {.rank = rank, .node = -1};

        at += (size_t)snprintf(text + at, sizeof text - at, "%s%d", rank ? " " : "",
                               vel_prerun_place(&p, &dataset, &part));
    }
    return text;
}

int main(void)
{
    struct vel_conf *conf = NULL;
    struct vel_err err = {0};

    if (vel_conf_create(&conf, &err) < 0)
        bail_out("%s", err.text);
    is_str(blocks(8, 4, conf), "0 0 1 1 2 2 3 3", "each node as many as the others");
    is_str(blocks(8, 3, conf), "0 0 0 1 1 1 2 2", "the first ones have one more");
    is_str(blocks(7, 5, conf), "0 0 1 1 2 3 4", "be there few to go round");
    is_str(blocks(3, 5, conf), "0 1 2", "or more nodes than ranks");
    is_str(blocks(4, 1, conf), "0 0 0 0", "or one node");
    vel_conf_destroy(conf);
    return done_testing();
}
