/* SPDX-License-Identifier: BSD-3-Clause */
/* append - a series that grows: each step opens the file again, adds one value, and
 * closes it, so that others may read it in between.
 *
 *     h5cc append.c -o append
 *     ./append series.h5 50     adds values until there are 50
 *
 * It knows nothing of h5veloc. */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>

/* HDF5 keeps quiet about a file that is not there. */
static int is_there(const char *name)
{
    htri_t rc;

    H5E_BEGIN_TRY
    {
        rc = H5Fis_accessible(name, H5P_DEFAULT);
    }
    H5E_END_TRY
    return rc > 0;
}

static int create(const char *name)
{
    hsize_t none = 0, any = H5S_UNLIMITED, chunk = 64;
    hid_t file = H5Fcreate(name, H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT);
    if (file < 0)
        return 0;
    hid_t space = H5Screate_simple(1, &none, &any);
    hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);

    H5Pset_chunk(dcpl, 1, &chunk);
    hid_t dset = H5Dcreate2(file, "series", H5T_IEEE_F64LE, space, H5P_DEFAULT, dcpl,
                            H5P_DEFAULT);
    int ok = dset >= 0;

    H5Dclose(dset);
    H5Pclose(dcpl);
    H5Sclose(space);
    return H5Fclose(file) >= 0 && ok;
}

static hsize_t length(hid_t dset)
{
    hid_t space = H5Dget_space(dset);
    hssize_t n = H5Sget_simple_extent_npoints(space);

    H5Sclose(space);
    return n < 0 ? 0 : (hsize_t)n;
}

/* The one behind the n that are there. */
static int put(hid_t dset, hsize_t n, double value)
{
    hsize_t one = 1, longer = n + 1;
    if (H5Dset_extent(dset, &longer) < 0)
        return 0;
    hid_t last = H5Dget_space(dset), memory = H5Screate_simple(1, &one, NULL);
    int ok = H5Sselect_hyperslab(last, H5S_SELECT_SET, &n, NULL, &one, NULL) >= 0 &&
             H5Dwrite(dset, H5T_NATIVE_DOUBLE, memory, last, H5P_DEFAULT, &value) >= 0;

    H5Sclose(memory);
    H5Sclose(last);
    return ok;
}

/* How many there are now; 0: it failed. */
static hsize_t append(const char *name)
{
    hid_t file = H5Fopen(name, H5F_ACC_RDWR, H5P_DEFAULT);
    if (file < 0)
        return 0;
    hid_t dset = H5Dopen2(file, "series", H5P_DEFAULT);
    hsize_t n = length(dset);
    int ok = put(dset, n, 1.0 / (double)(n + 1));

    H5Dclose(dset);
    return H5Fclose(file) >= 0 && ok ? n + 1 : 0;
}

static double sum(const char *name, hsize_t n)
{
    double *series = calloc(n, sizeof *series), total = 0;
    hid_t file = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t dset = H5Dopen2(file, "series", H5P_DEFAULT);

    if (series &&
        H5Dread(dset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, series) >= 0)
        for (hsize_t i = 0; i < n; i++)
            total += series[i];
    H5Dclose(dset);
    H5Fclose(file);
    free(series);
    return total;
}

int main(int argc, char **argv)
{
    hsize_t n, wanted;

    if (argc != 3 || (wanted = strtoul(argv[2], NULL, 10)) == 0) {
        fputs("usage: append FILE LENGTH\n", stderr);
        return 2;
    }
    if (!is_there(argv[1]) && !create(argv[1]))
        return 1;
    do
        n = append(argv[1]);
    while (n > 0 && n < wanted);
    if (n == 0)
        return 1;
    printf("%llu values, their sum is %.17g\n", (unsigned long long)n, sum(argv[1], n));
    return 0;
}
