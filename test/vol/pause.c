/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that does one thing with a file, says so, and goes on when its input ends:
 * pause make NAME | hold NAME | add NAME GROUP | read NAME
 *
 *   make  the file is made anew, with cells
 *   hold  the same, and it is closed only in the end
 *   add   it is opened to write, and gets a group
 *   read  it is opened to read: what the last cell is and which groups there are
 */
#include <hdf5.h>
#include <stdio.h>
#include <string.h>

enum { CELLS = 10000 };

static int cells[CELLS];

static hid_t held = H5I_INVALID_HID;

static int make(const char *name, int holds)
{
    hsize_t n = CELLS;
    hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(1, &n, NULL);
    hid_t data = H5Dcreate2(file, "cells", H5T_NATIVE_INT, space, H5P_DEFAULT,
                            H5P_DEFAULT, H5P_DEFAULT);

    for (int i = 0; i < CELLS; i++)
        cells[i] = i;
    H5Dwrite(data, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, cells);
    H5Dclose(data);
    H5Sclose(space);
    held = holds ? file : held;
    return holds ? 0 : H5Fclose(file);
}

static int add(const char *name, const char *group)
{
    hid_t file = H5Fopen(name, H5F_ACC_RDWR, H5P_DEFAULT);

    if (file < 0)
        return -1;
    H5Gclose(H5Gcreate2(file, group, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    return H5Fclose(file);
}

static herr_t tell(hid_t file, const char *name, const H5L_info2_t *info, void *arg)
{
    (void)file, (void)info, (void)arg;
    printf(" %s", name);
    return 0;
}

static int read_it(const char *name)
{
    hid_t file, data;

    printf("there %d", H5Fis_accessible(name, H5P_DEFAULT));
    file = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0) {
        printf(" not opened\n");
        return -1;
    }
    data = H5Dopen2(file, "cells", H5P_DEFAULT);
    H5Dread(data, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, cells);
    printf(" last %d:", cells[CELLS - 1]);
    H5Literate2(file, H5_INDEX_NAME, H5_ITER_INC, NULL, tell, NULL);
    printf("\n");
    H5Dclose(data);
    return H5Fclose(file);
}

int main(int argc, char **argv)
{
    int rc = argc > 3    ? add(argv[2], argv[3])
             : argc == 3 ? strcmp(argv[1], "read") == 0
                               ? read_it(argv[2])
                               : make(argv[2], strcmp(argv[1], "hold") == 0)
                         : -1;

    printf("%s\n", rc < 0 ? "failed" : "done");
    fflush(stdout);
    while (getchar() != EOF)
        ;
    if (held >= 0)
        H5Fclose(held);
    return rc < 0;
}
