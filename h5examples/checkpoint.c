/* SPDX-License-Identifier: BSD-3-Clause */
/* checkpoint - an ordinary MPI program that keeps its state in HDF5 files.
 *
 * Heat flows around a ring of cells. Every EVERY steps each rank writes its cells to a
 * file of its own, DIR/heat-<step>.<rank>.h5; a later run goes on from the newest step
 * whose files are all there and readable, and ends with the same result, bit for bit.
 * The program knows HDF5 and MPI and nothing of h5veloc. */
#include <hdf5.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct heat {
    int rank, ranks;
    int steps, every;
    int pause_ms; /* more work a step than the example really has */
    size_t cells; /* of this rank */
    double *now;  /* cells + 2: the ends are copies of the neighbours' cells */
    double *next;
    const char *dir;
};

static void die(const struct heat *heat, const char *what)
{
    fprintf(stderr, "checkpoint: rank %d: %s\n", heat->rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

static void start(struct heat *heat)
{
    for (size_t i = 0; i < heat->cells; i++) {
        size_t cell = (size_t)heat->rank * heat->cells + i;
        heat->now[i + 1] = (double)(cell * 7919 % 1000) / 1000;
    }
}

static void advance(struct heat *heat)
{
    int left = (heat->rank + heat->ranks - 1) % heat->ranks;
    int right = (heat->rank + 1) % heat->ranks;
    size_t n = heat->cells;
    double *u = heat->now;

    MPI_Sendrecv(&u[1], 1, MPI_DOUBLE, left, 0, &u[n + 1], 1, MPI_DOUBLE, right, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&u[n], 1, MPI_DOUBLE, right, 1, &u[0], 1, MPI_DOUBLE, left, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (size_t i = 1; i <= n; i++)
        heat->next[i] = u[i] + 0.25 * (u[i - 1] - 2 * u[i] + u[i + 1]);
    heat->now = heat->next;
    heat->next = u;
}

static void file_name(const struct heat *heat, int step, char *name, size_t len)
{
    snprintf(name, len, "%s/heat-%06d.%04d.h5", heat->dir, step, heat->rank);
}

static int write_cells(const struct heat *heat, hid_t file, int step)
{
    hsize_t n = heat->cells;
    hid_t line = H5Screate_simple(1, &n, NULL);
    hid_t scalar = H5Screate(H5S_SCALAR);
    hid_t cells = H5Dcreate2(file, "cells", H5T_IEEE_F64LE, line, H5P_DEFAULT,
                             H5P_DEFAULT, H5P_DEFAULT);
    hid_t attr =
        H5Acreate2(cells, "step", H5T_STD_I32LE, scalar, H5P_DEFAULT, H5P_DEFAULT);
    int ok = cells >= 0 && attr >= 0 &&
             H5Dwrite(cells, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                      heat->now + 1) >= 0 &&
             H5Awrite(attr, H5T_NATIVE_INT, &step) >= 0;

    H5Aclose(attr);
    H5Dclose(cells);
    H5Sclose(scalar);
    H5Sclose(line);
    return ok;
}

static void save(const struct heat *heat, int step)
{
    char name[4096];

    file_name(heat, step, name, sizeof(name));
    hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    if (file < 0 || !write_cells(heat, file, step) || H5Fclose(file) < 0)
        die(heat, "cannot write a checkpoint");
    MPI_Barrier(MPI_COMM_WORLD);
    if (heat->rank == 0)
        printf("saved step %d\n", step);
}

static int read_cells(struct heat *heat, hid_t file, int step)
{
    hid_t cells = H5Dopen2(file, "cells", H5P_DEFAULT);
    hid_t attr = H5Aopen(cells, "step", H5P_DEFAULT);
    hid_t line = H5Dget_space(cells);
    int saved = -1;
    int ok = attr >= 0 && H5Aread(attr, H5T_NATIVE_INT, &saved) >= 0 && saved == step &&
             H5Sget_simple_extent_npoints(line) == (hssize_t)heat->cells &&
             H5Dread(cells, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                     heat->now + 1) >= 0;

    H5Sclose(line);
    H5Aclose(attr);
    H5Dclose(cells);
    return ok;
}

/* Whether every rank could read its file of this step. A file that is missing or torn
 * is no error here, so HDF5 keeps quiet about it. */
static int load(struct heat *heat, int step)
{
    char name[4096];
    int mine = 0, all = 0;
    hid_t file;

    file_name(heat, step, name, sizeof(name));
    H5E_BEGIN_TRY
    {
        file = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
        if (file >= 0) {
            mine = read_cells(heat, file, step);
            H5Fclose(file);
        }
    }
    H5E_END_TRY
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all;
}

static int restart(struct heat *heat)
{
    for (int step = heat->steps - heat->steps % heat->every; step > 0;
         step -= heat->every)
        if (load(heat, step))
            return step;
    start(heat);
    return 0;
}

/* One number for the whole state: equal just when every bit of every cell is. */
static uint64_t fingerprint(const struct heat *heat)
{
    const unsigned char *bytes = (const unsigned char *)(heat->now + 1);
    uint64_t mine = 14695981039346656037u + (uint64_t)heat->rank, all = 0;

    for (size_t i = 0; i < heat->cells * sizeof(double); i++)
        mine = (mine ^ bytes[i]) * 1099511628211u;
    MPI_Reduce(&mine, &all, 1, MPI_UINT64_T, MPI_BXOR, 0, MPI_COMM_WORLD);
    return all;
}

static void run(struct heat *heat)
{
    const struct timespec pause = {.tv_nsec = heat->pause_ms * 1000000L};
    int step = restart(heat);

    if (heat->rank == 0)
        printf("%d ranks, %s step %d of %d\n", heat->ranks,
               step > 0 ? "restarted from" : "start at", step, heat->steps);
    while (step < heat->steps) {
        advance(heat);
        nanosleep(&pause, NULL);
        step++;
        if (step % heat->every == 0)
            save(heat, step);
    }
    uint64_t result = fingerprint(heat);
    if (heat->rank == 0)
        printf("step %d reached, result %016llx\n", step, (unsigned long long)result);
}

static int parse(struct heat *heat, int argc, char **argv)
{
    int option;

    while ((option = getopt(argc, argv, "n:c:s:p:")) != -1) {
        switch (option) {
        case 'n':
            heat->steps = atoi(optarg);
            break;
        case 'c':
            heat->every = atoi(optarg);
            break;
        case 's':
            heat->cells = strtoul(optarg, NULL, 10);
            break;
        case 'p':
            heat->pause_ms = atoi(optarg);
            break;
        default:
            return 0;
        }
    }
    heat->dir = optind + 1 == argc ? argv[optind] : NULL;
    return heat->dir != NULL && heat->steps > 0 && heat->every > 0 && heat->cells > 0 &&
           heat->pause_ms >= 0 && heat->pause_ms < 1000;
}

int main(int argc, char **argv)
{
    struct heat heat = {.steps = 200, .every = 20, .cells = 20000};

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &heat.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &heat.ranks);
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!parse(&heat, argc, argv)) {
        if (heat.rank == 0)
            fprintf(stderr, "usage: checkpoint [-n STEPS] [-c EVERY] [-s CELLS] [-p "
                            "PAUSE_MS] DIR\n");
        MPI_Finalize();
        return 2;
    }
    heat.now = calloc(heat.cells + 2, sizeof(double));
    heat.next = calloc(heat.cells + 2, sizeof(double));
    if (heat.now == NULL || heat.next == NULL)
        die(&heat, "no memory for the cells");
    run(&heat);
    free(heat.now);
    free(heat.next);
    MPI_Finalize();
    return 0;
}
