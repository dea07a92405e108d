/* SPDX-License-Identifier: BSD-3-Clause */
/* All ranks write one file by MPI-IO: mpio NAME */
#include <hdf5.h>
#include <mpi.h>

int main(int argc, char **argv)
{
    hid_t fapl, file;
    int rc = 1;

    MPI_Init(&argc, &argv);
    fapl = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_mpio(fapl, MPI_COMM_WORLD, MPI_INFO_NULL);
    file = argc > 1 ? H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, fapl)
                    : H5I_INVALID_HID;
    if (file >= 0)
        rc = H5Fclose(file) < 0;
    H5Pclose(fapl);
    MPI_Finalize();
    return rc;
}
