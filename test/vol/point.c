/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that does with files what it is told: point OP...
 *
 *   create=NAME, open=NAME   a file to be written; it is the file from then on
 *   look=NAME                one to be read, and it stays open
 *   write=N                  all cells of its data become N, at once
 *   grow=N                   N in so many new cells behind the others
 *   flush                    H5Fflush
 *   close                    H5Fclose
 *   delete=NAME              H5Fdelete
 *   read=NAME                tell the cell that all are like, and how many there are
 *   swmr                     H5Fstart_swmr_write
 *   follow=NAME              read a file that is written so
 *   kill                     SIGKILL to itself
 *   wait=NAME                until there is a file of that name
 *   meet=NAME                until all ranks (PMI_SIZE) have come here: NAME.RANK
 *   ahead=MS                 the clock of this process is that much ahead; so is that
 *                            of all of POINT_AHEAD=MS in the environment
 *   complete=NAME, protected=NAME   until it is that
 *   say=WORD                 to whoever waits for that
 *   tells                    HDF5 prints its errors from now on
 *   cells=N                  files that are made from now on have so many
 *   latest                   files made from now on have the newest format
 *   mpi                      MPI_Init, and MPI_Finalize at the end
 *   run=COMMAND              by the shell, while this process lives
 *   dies                     SIGKILL when a file that is complete is about to get its
 * name
 *   linkless                 there are no hard links
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <errno.h>
#include <hdf5.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifdef H5_HAVE_PARALLEL
#include <mpi.h>
#endif

#include "H5VLveloc.h"

enum { CELLS = 1000, LONG = 1000, SECOND = 1000000000 };

static hid_t fapl, file = -1;
static hsize_t n_cells = CELLS;
static int dies, is_linkless;
static long ahead; /* ns */
static int is_mpi; /* MPI is up */

/* For the plug-in, too. */
int rename(const char *from, const char *to)
{
    union {
        void *symbol;
        int (*function)(const char *, const char *);
    } next = {dlsym(RTLD_NEXT, "rename")};

    if (dies && strstr(from, ".h5.h5v-"))
        raise(SIGKILL);
    return next.function(from, to);
}

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
    union {
        void *symbol;
        int (*function)(int, const char *, int, const char *, int);
    } next = {dlsym(RTLD_NEXT, "linkat")};

    if (is_linkless) {
        errno = EPERM;
        return -1;
    }
    return next.function(from_dir, from, to_dir, to, flags);
}

int clock_gettime(clockid_t which, struct timespec *ret)
{
    union {
        void *symbol;
        int (*function)(clockid_t, struct timespec *);
    } next = {dlsym(RTLD_NEXT, "clock_gettime")};
    int rc = next.function(which, ret);

    if (rc == 0 && which == CLOCK_REALTIME) {
        ret->tv_nsec += ahead;
        ret->tv_sec += ret->tv_nsec / SECOND;
        ret->tv_nsec %= SECOND;
    }
    return rc;
}

static void must(int is_well, const char *what, const char *name)
{
    if (is_well)
        return;
    printf("cannot %s %s\n", what, name);
    exit(1);
}

static void fill(hid_t data, hsize_t at, hsize_t n, int value)
{
    hid_t all = H5Dget_space(data), memory = H5Screate_simple(1, &n, NULL);
    int *cells = malloc(n * sizeof *cells);

    for (hsize_t i = 0; i < n; i++)
        cells[i] = value;
    H5Sselect_hyperslab(all, H5S_SELECT_SET, &at, NULL, &n, NULL);
    must(H5Dwrite(data, H5T_NATIVE_INT, memory, all, H5P_DEFAULT, cells) >= 0, "write",
         "cells");
    free(cells);
    H5Sclose(memory);
    H5Sclose(all);
}

static void create(const char *name)
{
    hsize_t n = n_cells, most = H5S_UNLIMITED, chunk = 100;
    hid_t space, how, data;

    file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    must(file >= 0, "create", name);
    space = H5Screate_simple(1, &n, &most);
    how = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(how, 1, &chunk);
    data =
        H5Dcreate2(file, "cells", H5T_NATIVE_INT, space, H5P_DEFAULT, how, H5P_DEFAULT);
    must(data >= 0, "create", "cells");
    H5Dclose(data);
    H5Pclose(how);
    H5Sclose(space);
}

static hsize_t size_of(hid_t data)
{
    hid_t space = H5Dget_space(data);
    hsize_t n = 0;

    H5Sget_simple_extent_dims(space, &n, NULL);
    H5Sclose(space);
    return n;
}

static void put(int value, int more)
{
    hid_t data = H5Dopen2(file, "cells", H5P_DEFAULT);
    hsize_t was, n;

    must(data >= 0, "open", "cells");
    was = size_of(data);
    n = more ? was + CELLS : was;
    if (more)
        must(H5Dset_extent(data, &n) >= 0, "grow", "cells");
    fill(data, more ? was : 0, more ? CELLS : was, value);
    H5Dclose(data);
}

static void read_it(const char *name, unsigned flags)
{
    hid_t from = H5Fopen(name, H5F_ACC_RDONLY | flags, fapl), data;
    hsize_t n;
    int *cells, is_same = 1;

    if (from < 0) {
        printf("%s: none\n", name);
        return;
    }
    data = H5Dopen2(from, "cells", H5P_DEFAULT);
    must(data >= 0, "open cells of", name);
    n = size_of(data);
    cells = malloc(n * sizeof *cells);
    must(H5Dread(data, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, cells) >= 0,
         "read", name);
    for (hsize_t i = 1; i < n && i < n_cells; i++)
        is_same = is_same && cells[i] == cells[0];
    printf("%s: %s %d, %d cells, %d at the end\n", name, is_same ? "all" : "not all",
           cells[0], (int)n, cells[n - 1]);
    free(cells);
    H5Dclose(data);
    H5Fclose(from);
}

static void wait_for(const char *name)
{
    const struct timespec pause = {0, 5000000};

    while (access(name, F_OK) < 0)
        nanosleep(&pause, NULL);
}

static void meet(const char *name)
{
    const char *rank = getenv("PMI_RANK"), *ranks = getenv("PMI_SIZE");
    char path[500];
    FILE *mark;

    snprintf(path, sizeof path, "%s.%s", name, rank ? rank : "0");
    mark = fopen(path, "w");
    must(mark && fclose(mark) == 0, "make", path);
    for (int i = 0; i < (ranks ? atoi(ranks) : 1); i++) {
        snprintf(path, sizeof path, "%s.%d", name, i);
        wait_for(path);
    }
}

static void wait_until(const char *name, H5VL_veloc_safety_t wanted)
{
    H5VL_veloc_status_t status;

    must(H5VL_veloc_wait(name, fapl, wanted, LONG, &status) >= 0 &&
             status.safety >= wanted,
         "wait for", name);
}

/* Where HDF5 has MPI. */
static void begin_mpi(void)
{
#ifdef H5_HAVE_PARALLEL
    MPI_Init(NULL, NULL);
    is_mpi = 1;
#endif
}

static void end_mpi(void)
{
#ifdef H5_HAVE_PARALLEL
    if (is_mpi)
        MPI_Finalize();
#endif
}

static void run_more(const char *op, const char *what)
{
    if (strcmp(op, "complete") == 0) {
        wait_until(what, H5VL_VELOC_COMPLETE);
    } else if (strcmp(op, "protected") == 0) {
        wait_until(what, H5VL_VELOC_PROTECTED);
    } else if (strcmp(op, "delete") == 0) {
        must(H5Fdelete(what, fapl) >= 0, "delete", what);
    } else if (strcmp(op, "swmr") == 0) {
        must(H5Fstart_swmr_write(file) >= 0, "let be read", "the file");
    } else if (strcmp(op, "follow") == 0) {
        read_it(what, H5F_ACC_SWMR_READ);
    } else if (strcmp(op, "mpi") == 0) {
        begin_mpi();
    } else if (strcmp(op, "run") == 0) {
        must(system(what) == 0, "run", what);
    } else if (strcmp(op, "say") == 0) {
        puts(what);
    } else if (strcmp(op, "tells") == 0) {
        H5Eset_auto2(H5E_DEFAULT, (H5E_auto2_t)H5Eprint2, stderr);
    } else if (strcmp(op, "cells") == 0) {
        n_cells = strtoull(what, NULL, 10);
    } else if (strcmp(op, "latest") == 0) {
        H5Pset_libver_bounds(fapl, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    } else {
        must(0, "do", op);
    }
}

static void run(const char *op, const char *what)
{
    if (strcmp(op, "create") == 0) {
        create(what);
    } else if (strcmp(op, "open") == 0) {
        file = H5Fopen(what, H5F_ACC_RDWR, fapl);
        must(file >= 0, "open", what);
    } else if (strcmp(op, "look") == 0) {
        file = H5Fopen(what, H5F_ACC_RDONLY, fapl);
        must(file >= 0, "open", what);
    } else if (strcmp(op, "write") == 0 || strcmp(op, "grow") == 0) {
        put(atoi(what), *op == 'g');
    } else if (strcmp(op, "flush") == 0) {
        must(H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0, "flush", "the file");
    } else if (strcmp(op, "close") == 0) {
        must(H5Fclose(file) >= 0, "close", "the file");
    } else if (strcmp(op, "read") == 0) {
        read_it(what, 0);
    } else if (strcmp(op, "kill") == 0) {
        raise(SIGKILL);
    } else if (strcmp(op, "wait") == 0) {
        wait_for(what);
    } else if (strcmp(op, "meet") == 0) {
        meet(what);
    } else if (strcmp(op, "ahead") == 0) {
        ahead = atol(what) * (SECOND / 1000);
    } else if (strcmp(op, "dies") == 0) {
        dies = 1;
    } else if (strcmp(op, "linkless") == 0) {
        is_linkless = 1;
    } else {
        run_more(op, what);
    }
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    if (getenv("POINT_AHEAD"))
        run("ahead", getenv("POINT_AHEAD"));
    fapl = H5Pcreate(H5P_FILE_ACCESS);
    for (int i = 1; i < argc; i++) {
        char *equals = strchr(argv[i], '=');

        if (equals)
            *equals = '\0';
        run(argv[i], equals ? equals + 1 : "");
    }
    end_mpi();
    return 0;
}
