/* SPDX-License-Identifier: BSD-3-Clause */
/* serial - one process that keeps its state in one HDF5 file, and goes on from it.
 *
 *     h5cc serial.c -o serial
 *     ./serial state.h5 1000    walks to step 1000, from where the file says it stood
 *
 * It saves every 100 steps and at the end. It knows nothing of h5veloc. */
#include <hdf5.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { EVERY = 100 };

struct walk {
    uint64_t step, at;
};

static hid_t walk_type(void)
{
    hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(struct walk));

    H5Tinsert(type, "step", HOFFSET(struct walk, step), H5T_NATIVE_UINT64);
    H5Tinsert(type, "at", HOFFSET(struct walk, at), H5T_NATIVE_UINT64);
    return type;
}

static int save(const char *name, const struct walk *walk)
{
    hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    if (file < 0)
        return 0;
    hid_t type = walk_type(), space = H5Screate(H5S_SCALAR);
    hid_t dset =
        H5Dcreate2(file, "walk", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    int ok =
        dset >= 0 && H5Dwrite(dset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, walk) >= 0;

    H5Dclose(dset);
    H5Sclose(space);
    H5Tclose(type);
    return H5Fclose(file) >= 0 && ok;
}

/* A file that is not there is the first run; HDF5 keeps quiet about it. */
static void load(const char *name, struct walk *walk)
{
    hid_t file, dset;

    H5E_BEGIN_TRY
    {
        file = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
    }
    H5E_END_TRY
    if (file < 0)
        return;
    hid_t type = walk_type();
    dset = H5Dopen2(file, "walk", H5P_DEFAULT);
    if (dset < 0 || H5Dread(dset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, walk) < 0)
        *walk = (struct walk){0};
    H5Dclose(dset);
    H5Tclose(type);
    H5Fclose(file);
}

int main(int argc, char **argv)
{
    struct walk walk = {0};

    if (argc != 3) {
        fputs("usage: serial FILE STEPS\n", stderr);
        return 2;
    }
    uint64_t steps = strtoul(argv[2], NULL, 10);
    load(argv[1], &walk);
    printf("begins at step %" PRIu64 "\n", walk.step);
    while (walk.step < steps) {
        walk.at = walk.at * 6364136223846793005u + 1442695040888963407u;
        walk.step++;
        if ((walk.step % EVERY == 0 || walk.step == steps) && !save(argv[1], &walk))
            return 1;
    }
    printf("step %" PRIu64 " is at %016" PRIx64 "\n", walk.step, walk.at);
    return 0;
}
