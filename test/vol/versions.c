/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks that write their file anew under its name, version after version, of which the
 * last is not written by all:
 *
 *   versions write END   all write versions 0 and 1, ranks 0 and 1 also version 2; then
 *                        they end: in_order, by abort, by kill, by status (the last
 *                        rank exits with 1), by statuses (all do), unfinished (nobody
 *                        calls MPI_Finalize)
 *   versions read        rank 0 prints which version each rank finds
 *
 * The file of rank R is f.R.h5. */
#include <hdf5.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "H5VLveloc.h"

enum { LAST = 2, LONG = 60000, RANKS_MOST = 16 };

static int rank, ranks;

static void must(int is_well, const char *what)
{
    if (is_well)
        return;
    fprintf(stderr, "rank %d cannot %s\n", rank, what);
    exit(2);
}

static void save(const char *name, int version)
{
    hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t data = H5Dcreate2(file, "version", H5T_NATIVE_INT, space, H5P_DEFAULT,
                            H5P_DEFAULT, H5P_DEFAULT);

    must(H5Dwrite(data, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &version) >= 0,
         "write");
    H5Dclose(data);
    H5Sclose(space);
    must(H5Fclose(file) >= 0, "close");
}

/* -1: there is none. */
static int load(const char *name)
{
    int version = -1;
    hid_t file, data;

    H5E_BEGIN_TRY
    {
        file = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
    }
    H5E_END_TRY;
    if (file < 0)
        return version;
    data = H5Dopen2(file, "version", H5P_DEFAULT);
    must(H5Dread(data, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &version) >= 0,
         "read");
    H5Dclose(data);
    H5Fclose(file);
    return version;
}

static void write_versions(const char *name)
{
    H5VL_veloc_status_t status;

    for (int version = 0; version < LAST; version++) {
        save(name, version);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    must(H5VL_veloc_wait(name, H5P_DEFAULT, H5VL_VELOC_FLUSHED, LONG, &status) >= 0 &&
             status.safety >= H5VL_VELOC_FLUSHED,
         "wait for its file");
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank < LAST)
        save(name, LAST);
    MPI_Barrier(MPI_COMM_WORLD);
}

static int end(const char *how)
{
    if (strcmp(how, "abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, 3);
    if (strcmp(how, "kill") == 0)
        raise(SIGKILL);
    if (strcmp(how, "unfinished") == 0)
        exit(0);
    MPI_Finalize();
    return strcmp(how, "statuses") == 0 ||
           (strcmp(how, "status") == 0 && rank == ranks - 1);
}

int main(int argc, char **argv)
{
    int found[RANKS_MOST], own;
    char name[64];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    must(argc > 1 && ranks <= RANKS_MOST, "begin");
    snprintf(name, sizeof name, "f.%d.h5", rank);
    if (argc > 2) {
        write_versions(name);
        return end(argv[2]);
    }
    own = load(name);
    MPI_Gather(&own, 1, MPI_INT, found, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < ranks; i++)
        printf("%d%s", found[i], i + 1 < ranks ? "," : "\n");
    MPI_Finalize();
    return 0;
}
