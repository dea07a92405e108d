/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of settings that rank 0 alone can see: what they say holds for all ranks, and
 * for who works beside them. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tap/apilab.h"
#include "tap/files.h"
#include "tap/mtap.h"
#include "veloc.h"

static int me;

/* A new case. Each rank works in a directory of its own, and has a variable of the name
 * of a system file in it; only that of rank 0 has files. */
static void in_own_directories(const char *name)
{
    char dir[32];

    apilab_case(name, 4, "");
    snprintf(dir, sizeof dir, "rank.%d", me);
    tap_fresh_dir(apilab_at("%s", dir));
    mok(chdir(apilab_at("%s", dir)) == 0, "%s: each rank is somewhere else", name);
    if (me == 0)
        setenv("VELOC_SYSTEM_FILE", "system.conf", 1);
    else
        unsetenv("VELOC_SYSTEM_FILE");
}

static void put(const char *file, const char *mode, const char *more)
{
    char text[2048];

    snprintf(text, sizeof text,
             "MODE=%s\nCACHE_BASE=%s\nCOPY_TYPE=PARTNER\nSET_SIZE=2\n%s\n", mode,
             apilab_at("cache"), more);
    if (me == 0) {
        tap_put_file(apilab_at("rank.0/%s", file), text);
        tap_put_file(apilab_at("rank.0/system.conf"), "CACHE_SIZE=3\nFLUSH=1\n");
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A file of a name that leads to nothing elsewhere. */
static void a_file_of_its_own(const char *mode)
{
    char prefix[1100];
    bool fine;

    in_own_directories(mode);
    snprintf(prefix, sizeof prefix, "PREFIX=%s", apilab_at("prefix"));
    put("only.conf", mode, prefix);
    fine = VELOC_Init(MPI_COMM_WORLD, "only.conf") == VELOC_SUCCESS;
    mok(fine, "MODE=%s: rank 0 reads the files: %s", mode, fine ? "" : VELOC_Error());
    for (int v = 1; v <= 6; v++)
        fine = apilab_save("s", v) == VELOC_SUCCESS && fine;
    mok(fine && apilab_restores("s", 6), "checkpoints are saved and restored");
    mok(apilab_end(1) && apilab_files("prefix", "s.?.*") == 24,
        "each is flushed, as the system's file says");
    mok(apilab_files("cache", "s.1.*") == 0 && apilab_files("cache", "s.4.*") == 4,
        "the newest three stay in the caches, as it says, too");
    apilab_lose(2);
    mok(VELOC_Init(MPI_COMM_WORLD, "only.conf") == VELOC_SUCCESS &&
            apilab_restores("s", 6) && apilab_end(0),
        "what a lost node had comes back from its partner, the scheme of the user's");
}

/* The file of a prefix that is rank 0's working directory. */
static void the_file_of_the_prefix(void)
{
    bool fine;

    in_own_directories("here");
    put(".velocconf", "ASYNC", "");
    fine = VELOC_Init(MPI_COMM_WORLD, NULL) == VELOC_SUCCESS;
    fine = fine && apilab_save("s", 1) == VELOC_SUCCESS;
    mok(fine && apilab_end(1), "rank 0 reads the file in its working directory");
    mok(apilab_files("cache", "s.1.*") == 4 &&
            access(apilab_at("rank.0/.veloc"), F_OK) == 0 &&
            (me == 0 || access(".veloc", F_OK) < 0),
        "which is the prefix of all");
}

/* What rank 0 cannot read fails for all, with its sentence. */
static void a_fault(void)
{
    in_own_directories("fault");
    put("only.conf", "SYNC", "CACHE_SIEZ=2");
    mok(VELOC_Init(MPI_COMM_WORLD, "only.conf") != VELOC_SUCCESS &&
            apilab_says("only.conf:5: unknown key CACHE_SIEZ"),
        "a fault is told to all ranks");
    mok(VELOC_Init(MPI_COMM_WORLD, me == 0 ? "absent.conf" : "only.conf") !=
                VELOC_SUCCESS &&
            apilab_says("absent.conf"),
        "so is a file that is not there for rank 0");
}

int main(int argc, char **argv)
{
    mtap_init(&argc, &argv);
    me = mtap_rank();
    a_file_of_its_own("SYNC");
    a_file_of_its_own("ASYNC");
    the_file_of_the_prefix();
    a_fault();
    return mtap_done();
}
