/* SPDX-License-Identifier: BSD-3-Clause */
/* heat - the first program of README.md and veloc(7): memory that survives a crash, and
 * the loss of a node.
 *
 *     mpicc heat.c -o heat $(pkg-config --cflags --libs veloc)
 *     mpiexec -n 8 ./heat 55   dies at step 55
 *     mpiexec -n 8 ./heat      goes on at step 50 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <veloc.h>

enum { N = 100000, STEPS = 100 };

int main(int argc, char **argv)
{
    static double u[N];
    int step = 0, rank, version, crash = argc > 1 ? atoi(argv[1]) : -1;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    VELOC_Init(MPI_COMM_WORLD, NULL); /* who goes on when that fails begins anew */
    VELOC_Mem_protect(0, &step, 1, VELOC_INTG); /* what we need to go on */
    VELOC_Mem_protect(1, u, N, VELOC_DBLE);
    version = VELOC_Restart_test("heat", 0); /* the newest that can be read, or -1 */
    if (version < 0 || VELOC_Restart("heat", version) != VELOC_SUCCESS)
        for (int i = step = 0; i < N; i++)
            u[i] = i == N / 2 ? 1e6 + rank : 0;
    printf("rank %d begins at step %d\n", rank, step);
    while (step < STEPS) {
        for (int i = 1; i < N - 1; i++)
            u[i] += (u[i - 1] - 2 * u[i] + u[i + 1]) / 4;
        if (++step % 10 == 0)
            VELOC_Checkpoint("heat", step);
        if (step == crash)
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    printf("rank %d ends with %.17g\n", rank, u[N / 2]);
    VELOC_Finalize(1);
    MPI_Finalize();
    return 0;
}
