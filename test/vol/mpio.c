/* SPDX-License-Identifier: BSD-3-Clause */
/* All ranks write one file by MPI-IO: mpio NAME
 * Or each one of its own, NAME.RANK.h5, of MPI_COMM_SELF, and tells what it sees of it:
 * mpio NAME self
 * Or two ranks change one file, NAME.h5, each with MPI_COMM_SELF: mpio NAME both
 * Or each one writes its own, NAME.RANK.h5, without MPI-IO, and by that all read the
 * first: mpio NAME all */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hdf5.h>
#include <mpi.h>

enum { CELLS = 1000 };

static void must(int is_well, const char *what)
{
    if (is_well)
        return;
    printf("cannot %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static int open_all(const char *name, hid_t fapl)
{
    hid_t file;

    H5Pset_fapl_mpio(fapl, MPI_COMM_WORLD, MPI_INFO_NULL);
    file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    return file >= 0 ? H5Fclose(file) : -1;
}

/* --- of one rank --- */

static hid_t collective(void)
{
    hid_t dxpl = H5Pcreate(H5P_DATASET_XFER);

    must(H5Pset_dxpl_mpio(dxpl, H5FD_MPIO_COLLECTIVE) >= 0, "ask for collective I/O");
    return dxpl;
}

static hid_t make(hid_t file, const char *name, int is_packed)
{
    hsize_t n = CELLS, chunk = 100;
    hid_t space = H5Screate_simple(1, &n, NULL), how = H5Pcreate(H5P_DATASET_CREATE);

    if (is_packed) {
        H5Pset_chunk(how, 1, &chunk);
        H5Pset_shuffle(how);
    }
    hid_t data =
        H5Dcreate2(file, name, H5T_NATIVE_INT, space, H5P_DEFAULT, how, H5P_DEFAULT);

    H5Pclose(how);
    H5Sclose(space);
    must(data >= 0, "create a dataset");
    return data;
}

static void write_it(const char *path, hid_t fapl)
{
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    hid_t dxpl = fapl == H5P_DEFAULT ? H5Pcreate(H5P_DATASET_XFER) : collective();
    int cells[CELLS];

    must(file >= 0, "create");
    for (int i = 0; i < CELLS; i++)
        cells[i] = i;
    for (int is_packed = 0; is_packed < 2; is_packed++) {
        hid_t data = make(file, is_packed ? "packed" : "plain", is_packed);

        must(H5Dwrite(data, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, dxpl, cells) >= 0,
             "write together");
        H5Dclose(data);
    }
    H5Pclose(dxpl);
    must(H5Fclose(file) >= 0, "close");
}

static void tell(const char *path, hid_t fapl)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, fapl), dxpl = collective(), data, own;
    int cells[CELLS] = {0}, size = 0;
    MPI_Info info = MPI_INFO_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    hbool_t is_atomic = 0;

    must(file >= 0, "open");
    own = H5Fget_access_plist(file);
    must(H5Pget_driver(own) == H5FD_MPIO && H5Pget_fapl_mpio(own, &comm, &info) >= 0,
         "find its driver");
    MPI_Comm_size(comm, &size);
    MPI_Comm_free(&comm);
    if (info != MPI_INFO_NULL)
        MPI_Info_free(&info);
    H5Pclose(own);
    must(H5Fset_mpi_atomicity(file, 1) >= 0 &&
             H5Fget_mpi_atomicity(file, &is_atomic) >= 0,
         "make it atomic");
    data = H5Dopen2(file, "packed", H5P_DEFAULT);
    must(data >= 0 && H5Dread(data, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, dxpl, cells) >= 0,
         "read together");
    int is_early = H5Fclose(file) >= 0;

    H5Dclose(data);
    printf(
        "of %d, atomic %d, %d in the last cell, closed %d with a dataset open, and %d "
        "without\n",
        size, (int)is_atomic, cells[CELLS - 1], is_early, H5Fclose(file) >= 0);
    H5Pclose(dxpl);
}

static int open_own(const char *name, int rank, hid_t fapl)
{
    char path[500];

    snprintf(path, sizeof path, "%s.%d.h5", name, rank);
    H5Pset_fapl_mpio(fapl, MPI_COMM_SELF, MPI_INFO_NULL);
    H5Pset_all_coll_metadata_ops(fapl, 1);
    H5Pset_coll_metadata_write(fapl, 1);
    write_it(path, fapl);
    tell(path, fapl);
    return 0;
}

/* Cell `rank` becomes value + rank. */
static void change(const char *path, hid_t fapl, int rank, int value)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, fapl), data, all, one;
    hsize_t at = (hsize_t)rank * CELLS / 2, n = 1;

    must(file >= 0, "open");
    data = H5Dopen2(file, "plain", H5P_DEFAULT);
    all = H5Dget_space(data);
    one = H5Screate_simple(1, &n, NULL);
    H5Sselect_hyperslab(all, H5S_SELECT_SET, &at, NULL, &n, NULL);
    value += rank;
    must(H5Dwrite(data, H5T_NATIVE_INT, one, all, H5P_DEFAULT, &value) >= 0, "write");
    H5Sclose(one);
    H5Sclose(all);
    H5Dclose(data);
    must(H5Fclose(file) >= 0, "close");
}

static int open_both(const char *name, int rank, hid_t fapl)
{
    int cells[CELLS];
    char path[500];

    snprintf(path, sizeof path, "%s.h5", name);
    H5Pset_fapl_mpio(fapl, MPI_COMM_SELF, MPI_INFO_NULL);
    if (rank == 0)
        write_it(path, fapl);
    MPI_Barrier(MPI_COMM_WORLD);
    change(path, fapl, rank, 5000);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        hid_t file = H5Fopen(path, H5F_ACC_RDONLY, fapl),
              data = H5Dopen2(file, "plain", H5P_DEFAULT);

        H5Dread(data, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, cells);
        printf("%d %d\n", cells[0], cells[CELLS / 2]);
        H5Dclose(data);
        H5Fclose(file);
    }
    return 0;
}

static int open_first(const char *name, int rank, hid_t fapl)
{
    int cells[CELLS] = {0};
    char path[500];
    hid_t file, data;

    snprintf(path, sizeof path, "%s.%d.h5", name, rank);
    write_it(path, H5P_DEFAULT);
    MPI_Barrier(MPI_COMM_WORLD);
    snprintf(path, sizeof path, "%s.0.h5", name);
    H5Pset_fapl_mpio(fapl, MPI_COMM_WORLD, MPI_INFO_NULL);
    file = H5Fopen(path, H5F_ACC_RDONLY, fapl);
    must(file >= 0, "open");
    data = H5Dopen2(file, "plain", H5P_DEFAULT);
    must(H5Dread(data, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, cells) >= 0,
         "read");
    printf("%d\n", cells[CELLS - 1]);
    H5Dclose(data);
    H5Fclose(file);
    return 0;
}

int main(int argc, char **argv)
{
    int rc, rank;
    hid_t fapl;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    fapl = H5Pcreate(H5P_FILE_ACCESS);
    if (argc < 2)
        rc = -1;
    else if (argc > 2 && strcmp(argv[2], "self") == 0)
        rc = open_own(argv[1], rank, fapl);
    else if (argc > 2 && strcmp(argv[2], "both") == 0)
        rc = open_both(argv[1], rank, fapl);
    else if (argc > 2 && strcmp(argv[2], "all") == 0)
        rc = open_first(argv[1], rank, fapl);
    else
        rc = open_all(argv[1], fapl);
    H5Pclose(fapl);
    MPI_Finalize();
    return rc < 0;
}
