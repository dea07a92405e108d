/* SPDX-License-Identifier: BSD-3-Clause */
/* Files protected in the sets of a descriptor. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/mpi.h"
#include "red/set.h"
#include "tap/mtap.h"
#include "tap/redlab.h"
#include "tap/tap.h"
#include "tap/topolab.h"

static struct vel_red_set set_of(const struct vel_reddesc *desc, uint32_t rank,
                                 const char *root)
{
    return (struct vel_red_set){.comm = desc->comm,
                                .scheme = desc->scheme,
                                .m = desc->m,
                                .set = desc->place.set,
                                .sets = desc->place.sets,
                                .rank = rank,
                                .fs = vel_fs_posix(),
                                .dir = redlab_dir(root, rank),
                                .label = "topo",
                                .memory = 1 << 20};
}

/* Files of this rank, protected; what they are. */
static uint64_t protect(struct vel_comm *comm, const struct vel_reddesc *desc,
                        const char *root)
{
    struct vel_red_set set = set_of(desc, (uint32_t)comm->rank, root);
    struct vel_vec names;
    struct vel_err err = {0};

    redlab_lose(root, set.rank);
    redlab_make(root, set.rank, 5, 30000, &names);
    int rc = vel_red_apply(&set, names.items, names.n, NULL, 0, NULL, &err);
    mis_int(rc, 0, "files are protected %s", err.text);
    vel_fs_names_fini(&names);
    return redlab_state(root, set.rank);
}

/* Ranks first and first + 1 lose all; *ret_whole: are my files as they were? */
static int lose_two(struct vel_comm *comm, const struct vel_reddesc *desc, int first,
                    uint64_t state, const char *root, bool *ret_whole)
{
    struct vel_red_set set = set_of(desc, (uint32_t)comm->rank, root);
    struct vel_red_report report;

    if (comm->rank == first || comm->rank == first + 1)
        redlab_lose(root, set.rank);
    int rc = vel_red_recover(&set, &report, NULL);
    if (rc == 0)
        vel_red_report_fini(&report);
    *ret_whole = redlab_state(root, set.rank) == state;
    return rc;
}

static void hop_distance(struct vel_comm *comm)
{
    char root[512], text[64];
    struct topolab lab;
    bool is_whole;

    for (int hop = 1; hop <= 2; hop++) {
        snprintf(text, sizeof text, "SET_SIZE=4\nHOP_DISTANCE=%d", hop);
        snprintf(root, sizeof root, "%s/hop%d", mtap_dir(), hop);
        mis_int(topolab_open(comm, text, topolab_node(comm, "n", 8), &lab), 0,
                "XOR over eight nodes, %s %s", topolab_line(text), lab.err.text);
        uint64_t state = protect(comm, lab.descs->items, root);
        int rc = lose_two(comm, lab.descs->items, 2, state, root, &is_whole);
        if (hop == 1)
            mok(comm->rank < 4 ? rc == VEL_EINVAL && (comm->rank / 2 == 1) != is_whole
                               : rc == 0 && is_whole,
                "two neighbouring nodes are too much for their set");
        else
            mok(rc == 0 && is_whole, "two neighbouring nodes come back");
        topolab_close(&lab);
    }
}

int main(int argc, char **argv)
{
    struct topolab_log log;
    struct vel_comm *comm;
    struct vel_err err = {0};

    mtap_init(&argc, &argv);
    if (!mok(vel_comm_mpi(MPI_COMM_WORLD, &comm, &err) == 0 && comm->size == 8,
             "a communicator of eight %s", err.text))
        return mtap_done();
    topolab_listen(&log, false); /* losses have their warnings */
    hop_distance(comm);
    vel_comm_destroy(comm);
    return mtap_done();
}
