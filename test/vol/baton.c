/* SPDX-License-Identifier: BSD-3-Clause */
/* A program whose ranks write files in turn: in each step a group of ranks shares one
 * file, which its first rank creates and the others open, one after the other, to add
 * what is theirs; each may come twice. baton write|check each|same SEED, under MPI
 *
 *   write  each rank compares what those before it have written, and adds its own
 *   check  rank 0 compares all of it
 *
 * Each step has files of its own, or the same. The seed says how many steps, how many
 * ranks share a file, its number (its first rank's, or another), in which order and how
 * often they come in each step and who waits for whom. The ranks' times of day are 0.3
 * s apart.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <hdf5.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    APART = 300000000,
    SECOND = 1000000000,
    RANKS_MOST = 64,
    TURNS_MOST = 2 * RANKS_MOST
};

static int rank, ranks;

/* libveloc's calls come here, too: dlsym gives a data pointer */
int clock_gettime(clockid_t id, struct timespec *ret)
{
    static int (*real)(clockid_t, struct timespec *);
    int rc;

    if (!real) {
        void *address = dlsym(RTLD_NEXT, "clock_gettime");
        memcpy(&real, &address, sizeof address);
    }
    rc = real(id, ret);
    if (rc == 0 && id == CLOCK_REALTIME) {
        int64_t ns = ret->tv_nsec + (int64_t)rank * APART;

        ret->tv_sec += ns / SECOND;
        ret->tv_nsec = ns % SECOND;
    }
    return rc;
}

/* --- what the seed says --- */

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 31) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return x ^ x >> 32;
}

struct play {
    uint64_t seed;
    bool is_same;     /* names in each step */
    int steps, group; /* ranks that share a file */
    int visits;       /* of each in a step */
};

/* Which rank of a group has which turn; the same on all ranks. */
static int find_turns(const struct play *p, int step, int first, int ranks_there,
                      int ret[TURNS_MOST])
{
    bool rotates = mix(p->seed + 7) % 2, goes_round = mix(p->seed + 5) % 2;
    int n = ranks_there, order[RANKS_MOST];

    for (int i = 0; i < n; i++)
        order[i] = first + i;
    for (int i = n - 1; rotates && i > 0; i--) {
        int k = (int)(mix(p->seed + 1000 * (uint64_t)step + (uint64_t)i) %
                      (uint64_t)(i + 1)),
            swapped = order[i];

        order[i] = order[k];
        order[k] = swapped;
    }
    for (int i = 0; i < n * p->visits; i++)
        ret[i] = order[goes_round ? i % n : i / p->visits];
    return n * p->visits;
}

static int value(const struct play *p, int step, int of)
{
    return (int)(mix(p->seed + 31 * (uint64_t)step + (uint64_t)of) % 1000000);
}

static void name_file(const struct play *p, int step, int first, char ret[30])
{
    int number = mix(p->seed + 17) % 2 ? first : 100 + first / p->group;

    if (p->is_same)
        snprintf(ret, 30, "f.%d.h5", number);
    else
        snprintf(ret, 30, "f.%d.%d.h5", step, number);
}

/* --- files --- */

static void must(bool is_well, const char *what, const char *name)
{
    if (is_well)
        return;
    printf("rank %d: %s %s\n", rank, what, name);
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void name_dataset(int of, char ret[30])
{
    snprintf(ret, 30, "of turn %d", of);
}

static void add(hid_t file, const char *name, int of, int number)
{
    char text[30];
    hid_t space = H5Screate(H5S_SCALAR), data;

    name_dataset(of, text);
    data = H5Dcreate2(file, text, H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT,
                      H5P_DEFAULT);
    must(data >= 0, "cannot add to", name);
    must(H5Dwrite(data, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &number) >= 0,
         "cannot write", name);
    H5Dclose(data);
    H5Sclose(space);
}

static void compare(hid_t file, const char *name, int of, int number)
{
    char text[30];
    int got = -1;
    hid_t data;

    name_dataset(of, text);
    data = H5Dopen2(file, text, H5P_DEFAULT);
    must(data >= 0, "what was written before is not in", name);
    H5Dread(data, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &got);
    must(got == number, "other numbers are in", name);
    H5Dclose(data);
}

static void take_turn(const struct play *p, int step, const char *name, int nth)
{
    hid_t file = nth == 0 ? H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)
                          : H5Fopen(name, H5F_ACC_RDWR, H5P_DEFAULT);

    must(file >= 0, nth == 0 ? "cannot create" : "cannot open", name);
    for (int i = 0; i < nth; i++)
        compare(file, name, i, value(p, step, i));
    add(file, name, nth, value(p, step, nth));
    must(H5Fclose(file) >= 0, "cannot close", name);
}

static void check(const struct play *p, int step, const char *name, int turns)
{
    hid_t file = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);

    must(file >= 0, "cannot read", name);
    for (int i = 0; i < turns; i++)
        compare(file, name, i, value(p, step, i));
    H5Fclose(file);
}

/* --- a step --- */

static int ranks_from(const struct play *p, int first)
{
    return ranks - first < p->group ? ranks - first : p->group;
}

static void write_step(const struct play *p, int step)
{
    int whose[TURNS_MOST],
        first = rank / p->group * p->group, word = 0,
        turns = find_turns(p, step, first, ranks_from(p, first), whose);
    char name[30];

    name_file(p, step, first, name);
    for (int i = 0; i < turns; i++) {
        if (whose[i] != rank)
            continue;
        if (i > 0 && whose[i - 1] != rank)
            MPI_Recv(&word, 1, MPI_INT, whose[i - 1], step, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        take_turn(p, step, name, i);
        if (i + 1 < turns && whose[i + 1] != rank)
            MPI_Send(&word, 1, MPI_INT, whose[i + 1], step, MPI_COMM_WORLD);
    }
    if (p->is_same || mix(p->seed + 13) % 3)
        MPI_Barrier(MPI_COMM_WORLD);
}

static void check_step(const struct play *p, int step)
{
    int whose[TURNS_MOST];
    char name[30];

    for (int first = 0; first < ranks; first += p->group) {
        name_file(p, step, first, name);
        check(p, step, name, find_turns(p, step, first, ranks_from(p, first), whose));
    }
}

int main(int argc, char **argv)
{
    struct play p = {0};

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 4 || ranks > RANKS_MOST)
        return 2;
    p.is_same = strcmp(argv[2], "same") == 0;
    p.seed = mix(strtoull(argv[3], NULL, 10) + 1);
    p.steps = 1 + (int)(mix(p.seed + 1) % 4);
    p.group = 2 * (1 + (int)(mix(p.seed + 2) % 2));
    p.visits = 1 + (int)(mix(p.seed + 3) % 2);
    for (int step = 1; step <= p.steps; step++)
        if (strcmp(argv[1], "write") == 0)
            write_step(&p, step);
        else if (rank == 0 && (step == p.steps || !p.is_same))
            check_step(&p, step);
    MPI_Finalize();
    return 0;
}
