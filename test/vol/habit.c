/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that keeps its state in a file of each step, and its last three of them, as
 * programs do that know of nothing but files: habit HOW STEPS DIE
 *
 *   HOW    plain: each file is written under its name. tmp: under another one, and
 *          renamed when it is closed
 *   STEPS  so many are made in all
 *   DIE    in this step the process is killed, with the file open
 *
 * It begins with the newest file that can be read, and at the end tells what there is.
 */
#include <glob.h>
#include <hdf5.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEPT = 3, CELLS = 10000 };

static int cells[CELLS];

static void must(int is_well, const char *what)
{
    if (is_well)
        return;
    printf("cannot %s\n", what);
    exit(1);
}

static void name_step(char name[30], int step)
{
    snprintf(name, 30, "s.%03d.h5", step);
}

static void save(const char *how, int step, int die)
{
    hsize_t n = CELLS;
    char name[30];
    const char *path = strcmp(how, "tmp") == 0 ? "s.tmp" : name;
    hid_t file, space, data;

    name_step(name, step);
    for (int i = 0; i < CELLS; i++)
        cells[i] = step * CELLS + i;
    file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    must(file >= 0, "create");
    space = H5Screate_simple(1, &n, NULL);
    data = H5Dcreate2(file, "cells", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT,
                      H5P_DEFAULT);
    must(H5Dwrite(data, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, cells) >= 0,
         "write");
    if (step == die)
        raise(SIGKILL);
    H5Dclose(data);
    H5Sclose(space);
    must(H5Fclose(file) >= 0, "close");
    must(path == name || rename(path, name) == 0, "rename");
    name_step(name, step - KEPT);
    must(step <= KEPT || unlink(name) == 0, "remove the oldest");
}

/* -1: this file cannot be read. */
static int step_in(const char *name)
{
    hid_t file = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT), data;
    int rc;

    if (file < 0)
        return -1;
    data = H5Dopen2(file, "cells", H5P_DEFAULT);
    rc = H5Dread(data, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, cells);
    H5Dclose(data);
    H5Fclose(file);
    for (int i = 0; rc >= 0 && i < CELLS; i++)
        must(cells[i] == cells[0] + i, "read what was written");
    return rc < 0 ? -1 : cells[0] / CELLS;
}

/* The newest that can be read, 0: none. */
static int begin(void)
{
    glob_t found;
    int step = 0;

    if (glob("s.*.h5", 0, NULL, &found) != 0)
        return 0;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    for (size_t i = found.gl_pathc; i-- > 0 && step <= 0;)
        if ((step = step_in(found.gl_pathv[i])) > 0)
            printf("begins with %s\n", found.gl_pathv[i]);
    globfree(&found);
    return step < 0 ? 0 : step;
}

static void tell(void)
{
    glob_t found;

    if (glob("s.*.h5", 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        printf("%s has step %d\n", found.gl_pathv[i], step_in(found.gl_pathv[i]));
    globfree(&found);
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int step = begin() + 1; step <= atoi(argv[2]); step++)
        save(argv[1], step, atoi(argv[3]));
    tell();
    return 0;
}
