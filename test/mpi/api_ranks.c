/* SPDX-License-Identifier: BSD-3-Clause */
/* A checkpoint read by other numbers of ranks than wrote it, through the same calls:
 * its files by their names, from caches that have all of them, and from the prefix. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "tap/apilab.h"
#include "tap/files.h"
#include "tap/mtap.h"
#include "veloc.h"

enum { WRITERS = 4 };

static int me;

static bool save(int version)
{
    char path[VELOC_MAX_NAME];

    if (VELOC_Checkpoint_begin("r", version) != VELOC_SUCCESS ||
        VELOC_Route_file(apilab_at("prefix/v%d.%d", version, me), path) !=
            VELOC_SUCCESS)
        return false;
    tap_put_file(path, apilab_text("r", version, me));
    return VELOC_Checkpoint_end(1) == VELOC_SUCCESS;
}

/* `readers` ranks deal the files of `writers` among themselves. */
static bool reads(int version, int writers, int readers)
{
    char path[VELOC_MAX_NAME];
    bool fine = VELOC_Restart_test("r", 0) == version &&
                VELOC_Restart_begin("r", version) == VELOC_SUCCESS;

    for (int r = me; fine && r < writers; r += readers)
        fine = VELOC_Route_file(apilab_at("prefix/v%d.%d", version, r), path) ==
                   VELOC_SUCCESS &&
               tap_file_is(path, apilab_text("r", version, r));
    if (!fine)
        mtap_note("version %d by %d ranks: %s", version, readers, VELOC_Error());
    return VELOC_Restart_end(fine) == VELOC_SUCCESS && fine;
}

enum what { WRITE, READ, FIND_NONE };

/* A launch of `ranks` ranks that writes a version, or reads what so many wrote. */
static bool launch(int ranks, enum what what, int version, int writers)
{
    MPI_Comm some;
    bool fine = true;

    MPI_Comm_split(MPI_COMM_WORLD, me < ranks ? 0 : MPI_UNDEFINED, me, &some);
    if (me < ranks) {
        fine = apilab_begin_on(some);
        fine = fine && (what == WRITE  ? save(version)
                        : what == READ ? reads(version, writers, ranks)
                                       : VELOC_Restart_test("r", 0) == VELOC_FAILURE);
        fine = apilab_end(0) && fine;
        MPI_Comm_free(&some);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return fine;
}

/* Two nodes, whatever the number of ranks. */
static void other_ranks(int ranks, const char *from)
{
    bool is_cached = strcmp(from, "cache") == 0;
    char name[32];

    snprintf(name, sizeof name, "%d.%s", ranks, from);
    apilab_case(name, 2, is_cached ? "FLUSH=0\n" : "FLUSH=1\n");
    launch(WRITERS, WRITE, 1, 0);
    if (!is_cached)
        apilab_lose_all();
    mok(launch(ranks, READ, 1, WRITERS), "%d ranks read from the %s what %d wrote",
        ranks, from, WRITERS);
    mok(launch(ranks, READ, 1, WRITERS), "and read it again");
    launch(ranks, WRITE, 2, 0);
    mok(launch(WRITERS, READ, 2, ranks), "%d read what they write", WRITERS);
    launch(WRITERS, WRITE, 3, 0);
    mok(launch(WRITERS, READ, 3, WRITERS), "and go on by themselves");
}

/* What a node has lost is made again from the others, whoever reads. */
static void after_a_loss(void)
{
    apilab_case("lost", 2, "FLUSH=0\n");
    launch(WRITERS, WRITE, 1, 0);
    apilab_lose(1);
    mok(launch(3, READ, 1, WRITERS),
        "a node is lost, and another number of ranks reads what was on it");
    apilab_lose(0);
    mok(launch(WRITERS, READ, 1, WRITERS), "the number that wrote it does after that");
    apilab_case("unprotected", 2, "FLUSH=0\nCOPY_TYPE=SINGLE\n");
    launch(WRITERS, WRITE, 1, 0);
    apilab_lose(1);
    mok(launch(3, FIND_NONE, 0, 0), "what cannot be made again is not offered");
}

/* A node that only some of the launches use. */
static void on_fewer_nodes(void)
{
    /* two nodes find the launch of eight over when it was still for half of T */
    apilab_case("fewer", 8, "FLUSH=0\nPEER_TIMEOUT=4\n");
    launch(WRITERS, WRITE, 1, 0);
    mok(launch(2, FIND_NONE, 0, 0),
        "nor is it with files on nodes that have no ranks now");
    mok(launch(WRITERS, READ, 1, WRITERS), "which are there when those have some");
}

int main(int argc, char **argv)
{
    const int ranks[] = {2, 3, 6}; /* not 8: all of a job have a place of their own */

    mtap_init(&argc, &argv);
    me = mtap_rank();
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        other_ranks(ranks[i], "cache");
        other_ranks(ranks[i], "prefix");
    }
    after_a_loss();
    on_fewer_nodes();
    return mtap_done();
}
