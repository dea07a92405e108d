/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank of a program that is over in a moment, and has nothing of MPI: ck.STEP.RANK.h5
 * in each step. brief STEPS */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>

static const char *rank_text(void)
{
    static const char *const names[] = {"PMI_RANK", "OMPI_COMM_WORLD_RANK",
                                        "PMIX_RANK"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (getenv(names[i]))
            return getenv(names[i]);
    return "0";
}

static int save(int step, int rank)
{
    hsize_t size = 4;
    int values[4] = {step, rank, 0, 0};
    char name[64];

    snprintf(name, sizeof name, "ck.%d.%d.h5", step, rank);
    hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(1, &size, NULL);
    hid_t data = H5Dcreate2(file, "values", H5T_NATIVE_INT, space, H5P_DEFAULT,
                            H5P_DEFAULT, H5P_DEFAULT);
    herr_t rc = H5Dwrite(data, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);

    H5Dclose(data);
    H5Sclose(space);
    return H5Fclose(file) < 0 || rc < 0 ? -1 : 0;
}

int main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : 1, rank = atoi(rank_text());

    for (int step = 0; step < steps; step++)
        if (save(step, rank) < 0)
            return 1;
    return 0;
}
