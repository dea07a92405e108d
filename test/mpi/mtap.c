/* SPDX-License-Identifier: BSD-3-Clause */
/* The collective TAP library where it agrees; test/harness/mtap.t has it disagree. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include <mpi.h>

#include "tap/mtap.h"

static void ranks_see_the_same_directory(void)
{
    char path[1100], text[16] = "";

    snprintf(path, sizeof path, "%s/greeting", mtap_dir());
    if (mtap_rank() == 0) {
        FILE *f = fopen(path, "w");

        if (f && fputs("hello", f) != EOF)
            fclose(f);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    FILE *f = fopen(path, "r");
    mok(f && fgets(text, sizeof text, f) && strcmp(text, "hello") == 0,
        "what rank 0 writes in mtap_dir is seen by all ranks");
    if (f)
        fclose(f);
}

int main(int argc, char **argv)
{
    int sum = 0;

    mtap_init(&argc, &argv);
    mis_int(mtap_size(), 4, "a .np4 test runs on four ranks");
    int mine = 1 << mtap_rank();
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    mis_int(sum, 15, "every rank has a number of its own");
    ranks_see_the_same_directory();
    return mtap_done();
}
