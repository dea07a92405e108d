/* SPDX-License-Identifier: BSD-3-Clause */
/* veloc_heat - a program that survives the nodes it runs on.
 *
 * Heat flows around a ring of cells, so many on each rank. Every 100 steps the state is
 * saved: the cells as memory, and the history of the hottest one, which grows, as a
 * file. Launched again after a failure the program goes on from there, and its result
 * is the same, bit for bit. It needs veloc.h and MPI, and nothing else:
 *
 *     mpicc veloc_heat.c -o veloc_heat $(pkg-config --cflags --libs veloc)
 *     mpiexec -n 8 ./veloc_heat veloc.conf
 *
 * That one may see it survive, rank 1 kills itself after the step that is given behind
 * the name of the settings. */
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <veloc.h>

enum { CELLS = 10000, STEPS = 1000, EVERY = 100 };

struct heat {
    int rank, ranks;
    int step;                /* so many are done */
    double cells[CELLS + 2]; /* the ends are copies of the neighbours' cells */
    double hottest[STEPS];   /* after each step, of this rank */
};

/* VELOC_* are called by all ranks, and fail on all: one has told why. */
static void must(int rc)
{
    if (rc == VELOC_SUCCESS)
        return;
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

static void start(struct heat *heat)
{
    for (int i = 1; i <= CELLS; i++)
        heat->cells[i] = (double)((heat->rank * CELLS + i) * 7919L % 1000) / 1000;
}

static void advance(struct heat *heat)
{
    int left = (heat->rank + heat->ranks - 1) % heat->ranks;
    int right = (heat->rank + 1) % heat->ranks;
    double *u = heat->cells, before, hottest = 0;

    MPI_Sendrecv(&u[1], 1, MPI_DOUBLE, left, 0, &u[CELLS + 1], 1, MPI_DOUBLE, right, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&u[CELLS], 1, MPI_DOUBLE, right, 1, &u[0], 1, MPI_DOUBLE, left, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    before = u[0];
    for (int i = 1; i <= CELLS; i++) {
        double own = u[i];

        u[i] = own + 0.25 * (before - 2 * own + u[i + 1]);
        before = own;
        hottest = u[i] > hottest ? u[i] : hottest;
    }
    heat->hottest[heat->step++] = hottest;
}

/* --- save and restart --- */

/* The history, opened where VELOC_Route_file says: a file of this name in a checkpoint
 * is a file of its own, and in the end all of them are in history/. */
static FILE *open_history(const struct heat *heat, const char *mode)
{
    char name[VELOC_MAX_NAME], routed[VELOC_MAX_NAME];

    snprintf(name, sizeof name, "history/rank%d.txt", heat->rank);
    return VELOC_Route_file(name, routed) == VELOC_SUCCESS ? fopen(routed, mode) : NULL;
}

static int write_history(const struct heat *heat)
{
    FILE *file = open_history(heat, "w");
    int ok = file != NULL;

    for (int i = 0; ok && i < heat->step; i++)
        ok = fprintf(file, "%a\n", heat->hottest[i]) > 0;
    return file && fclose(file) == 0 && ok;
}

static int read_history(struct heat *heat)
{
    FILE *file = open_history(heat, "r");
    int ok = file != NULL;

    for (int i = 0; ok && i < heat->step; i++)
        ok = fscanf(file, "%lf", &heat->hottest[i]) == 1;
    if (file)
        fclose(file);
    return ok;
}

static void save(const struct heat *heat)
{
    int ok;

    must(VELOC_Checkpoint_begin("heat", heat->step));
    ok = VELOC_Checkpoint_mem() == VELOC_SUCCESS && write_history(heat);
    must(VELOC_Checkpoint_end(ok));
}

static void restart(struct heat *heat)
{
    int version = VELOC_Restart_test("heat", 0), ok;

    if (version == VELOC_FAILURE)
        return; /* there is no checkpoint yet */
    must(VELOC_Restart_begin("heat", version));
    ok = VELOC_Recover_mem() == VELOC_SUCCESS && read_history(heat);
    must(VELOC_Restart_end(ok));
}

/* --- the rest --- */

/* One number for all that was computed: equal just when every bit is. */
static uint64_t fingerprint(const struct heat *heat)
{
    const double *parts[] = {&heat->cells[1], heat->hottest};
    const size_t sizes[] = {CELLS * sizeof(double), STEPS * sizeof(double)};
    uint64_t mine = 14695981039346656037u + (uint64_t)heat->rank, all = 0;

    for (int p = 0; p < 2; p++)
        for (size_t i = 0; i < sizes[p]; i++)
            mine = (mine ^ ((const unsigned char *)parts[p])[i]) * 1099511628211u;
    MPI_Reduce(&mine, &all, 1, MPI_UINT64_T, MPI_BXOR, 0, MPI_COMM_WORLD);
    return all;
}

int main(int argc, char **argv)
{
    static struct heat heat;
    int last = argc > 2 ? atoi(argv[2]) : -1;
    uint64_t result;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &heat.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &heat.ranks);
    start(&heat);

    must(VELOC_Init(MPI_COMM_WORLD, argc > 1 ? argv[1] : NULL));
    must(VELOC_Mem_protect(0, &heat.step, 1, sizeof heat.step));
    must(VELOC_Mem_protect(1, heat.cells, CELLS + 2, sizeof *heat.cells));
    restart(&heat);
    if (heat.rank == 0)
        printf("%d ranks begin at step %d of %d\n", heat.ranks, heat.step, STEPS);
    fflush(stdout);
    while (heat.step < STEPS) {
        advance(&heat);
        if (heat.step % EVERY == 0)
            save(&heat);
        if (heat.step == last && heat.rank == 1)
            raise(SIGKILL);
    }
    must(VELOC_Finalize(1));

    result = fingerprint(&heat);
    if (heat.rank == 0)
        printf("step %d reached, result %016llx\n", heat.step,
               (unsigned long long)result);
    MPI_Finalize();
    return 0;
}
