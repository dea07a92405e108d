/* SPDX-License-Identifier: BSD-3-Clause */
/* steps FIRST LAST [die] - an MPI program that checkpoints by the VELOC API: each rank
 * writes out/step-S/part-R.bin for every step, with bytes that follow from S and R;
 * with `die` all ranks are killed right behind the last one, whatever is still to be
 * done. For tests of tools that look at what a program has left. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "veloc.h"

static int write_part(const char *path, int step, int rank)
{
    FILE *file = fopen(path, "wb");
    int failed = !file;

    for (int i = 0; !failed && i < 5000 + 100 * rank; i++)
        failed = fputc((i * 7 + step * 31 + rank * 13) & 0xff, file) == EOF;
    return file && fclose(file) == 0 && !failed;
}

int main(int argc, char **argv)
{
    char name[200], path[VELOC_MAX_NAME];
    int rank, failed = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    failed = argc < 3 || VELOC_Init(MPI_COMM_WORLD, NULL) != VELOC_SUCCESS;
    for (int step = failed ? 1 : atoi(argv[1]); !failed && step <= atoi(argv[2]);
         step++) {
        int is_good;

        snprintf(name, sizeof name, "out/step-%d/part-%d.bin", step, rank);
        failed = VELOC_Checkpoint_begin("steps", step) != VELOC_SUCCESS;
        is_good = !failed && VELOC_Route_file(name, path) == VELOC_SUCCESS &&
                  write_part(path, step, rank);
        failed = failed || VELOC_Checkpoint_end(is_good) != VELOC_SUCCESS;
    }
    if (!failed && argc > 3)
        raise(SIGKILL);
    if (!failed)
        VELOC_Finalize(1);
    MPI_Finalize();
    return failed;
}
