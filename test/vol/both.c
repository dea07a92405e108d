/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that calls VELOC_* and has HDF5 files, and knows of no connector. It does
 * what its words say, one after the other, and rank 0 tells what all ranks agree on:
 *
 *   init, finalize, close    VELOC_Init, VELOC_Finalize(1), H5close
 *   plain=N                  an HDF5 file outside of checkpoints, with the number N
 *   see                      which number it has
 *   write=V                  checkpoint V: an HDF5 file, memory, and a routed file
 *   append=V                 the same, but the HDF5 file of before is changed
 *   open=V                   the HDF5 file is left open until the checkpoint has ended
 *   same=V,KIND              ranks have a file of one name in it (write_same)
 *   restart                  the newest checkpoint: what its three parts have
 *   look                     which number the HDF5 file of the checkpoints has
 *   wait                     VELOC_Checkpoint_wait
 *   remove=V, drop=V, current=V    VELOC_Delete, VELOC_Drop, VELOC_Current
 *   name=TEXT, file=TEXT     what checkpoints with their HDF5 files, and the file
 * outside of them, are called safe=N                   until that file is as safe as
 * this (H5VL_veloc_safety_t) kill                     all ranks end by SIGKILL
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hdf5.h>
#include <mpi.h>

#include "H5VLveloc.h"
#include "veloc.h"

static int rank;
static long memory;
static const char *called = "both", *state = "state", *plain = "plain";

/* --- one number in a file --- */

static void name_of(const char *what, char ret[64])
{
    snprintf(ret, 64, "%s.%d.h5", what, rank);
}

static int put(hid_t file, long number)
{
    hid_t space = H5Screate(H5S_SCALAR), attribute;
    int rc;

    if (H5Aexists(file, "number") > 0)
        H5Adelete(file, "number");
    attribute =
        H5Acreate2(file, "number", H5T_NATIVE_LONG, space, H5P_DEFAULT, H5P_DEFAULT);
    rc = H5Awrite(attribute, H5T_NATIVE_LONG, &number) < 0;
    H5Aclose(attribute);
    H5Sclose(space);
    return rc;
}

static int make(const char *what, long number)
{
    char name[64];
    hid_t file;
    int rc;

    name_of(what, name);
    file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    rc = file < 0 || put(file, number);
    return (file >= 0 && H5Fclose(file) < 0) || rc;
}

static int change(const char *what, long number)
{
    char name[64];
    hid_t file;
    int rc;

    name_of(what, name);
    file = H5Fopen(name, H5F_ACC_RDWR, H5P_DEFAULT);
    rc = file < 0 || put(file, number);
    return (file >= 0 && H5Fclose(file) < 0) || rc;
}

/* -1: there is none */
static long get(const char *what)
{
    char name[64];
    hid_t file, attribute;
    long number = -1;

    name_of(what, name);
    H5E_BEGIN_TRY
    file = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
    H5E_END_TRY
    if (file < 0)
        return -1;
    attribute = H5Aopen(file, "number", H5P_DEFAULT);
    H5Aread(attribute, H5T_NATIVE_LONG, &number);
    H5Aclose(attribute);
    H5Fclose(file);
    return number;
}

/* The file outside of checkpoints is that safe within a minute. */
static int wait_safe(long safety)
{
    char name[64];
    H5VL_veloc_status_t status;

    name_of(plain, name);
    return H5VL_veloc_wait(name, H5P_DEFAULT, (H5VL_veloc_safety_t)safety, 60,
                           &status) >= 0 &&
           status.safety >= safety;
}

/* --- a file that is routed by hand --- */

static FILE *open_note(const char *mode)
{
    char name[64], path[VELOC_MAX_NAME];

    snprintf(name, sizeof name, "note.%d", rank);
    return VELOC_Route_file(name, path) == VELOC_SUCCESS ? fopen(path, mode) : NULL;
}

static int put_note(long number)
{
    FILE *file = open_note("w");

    return !file || fprintf(file, "%ld\n", number) < 0 || fclose(file) != 0;
}

static long get_note(void)
{
    FILE *file = open_note("r");
    long number = -1;

    if (!file)
        return -1;
    if (fscanf(file, "%ld", &number) != 1)
        number = -1;
    fclose(file);
    return number;
}

/* --- what all ranks agree on --- */

/* Of each rank, where they do not. */
static void tell(const char *what, long number)
{
    long all[64];
    int ranks, differ = 0;

    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Gather(&number, 1, MPI_LONG, all, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    if (rank != 0)
        return;
    for (int i = 1; i < ranks; i++)
        differ |= all[i] != all[0];
    printf("%s", what);
    for (int i = 0; i < (differ ? ranks : 1); i++)
        printf(" %ld", all[i]);
    printf("\n");
    fflush(stdout);
}

/* --- checkpoints --- */

static int fill(long version, int (*h5)(const char *what, long number))
{
    memory = version;
    return h5(state, version) || (rank % 2 == 1 && put_note(version)) ||
           VELOC_Checkpoint_mem() != VELOC_SUCCESS;
}

static void write_one(long version, int (*h5)(const char *what, long number))
{
    int rc = VELOC_Checkpoint_begin(called, (int)version);

    if (rc == VELOC_SUCCESS)
        rc = fill(version, h5) != 0;
    tell("wrote", rc);
    tell("ended", VELOC_Checkpoint_end(rc == 0) == VELOC_SUCCESS);
}

static void leave_open(long version)
{
    hid_t file;
    char name[64];

    name_of(state, name);
    VELOC_Checkpoint_begin(called, (int)version);
    VELOC_Checkpoint_mem();
    file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    tell("ended", VELOC_Checkpoint_end(1) == VELOC_SUCCESS);
    if (rank == 0)
        printf("%s\n", VELOC_Error());
    H5E_BEGIN_TRY
    tell("closed", H5Fclose(file) >= 0);
    H5E_END_TRY
}

/* A checkpoint in which the first and the last rank have a file of one name: 1 by
 * VELOC_Route_file, 2 by VELOC_Route_through, 3 an HDF5 file. */
static void write_same(long version, long kind)
{
    char path[VELOC_MAX_NAME];
    FILE *file;
    int ranks, rc;

    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    VELOC_Checkpoint_begin(called, (int)version);
    VELOC_Checkpoint_mem();
    if (kind == 3 && (rank == 0 || rank == ranks - 1)) {
        H5Fclose(H5Fcreate("same", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    } else if (rank == 0 || rank == ranks - 1) {
        rc = kind == 1 ? VELOC_Route_file("same", path)
                       : VELOC_Route_through("same", path);
        file = rc == VELOC_SUCCESS ? fopen(path, "w") : NULL;
        if (file)
            fclose(file);
    }
    tell("ended", VELOC_Checkpoint_end(1) == VELOC_SUCCESS);
    if (rank == 0)
        printf("%s\n", VELOC_Error());
}

static void restart(void)
{
    int version = VELOC_Restart_test(called, 0);
    long h5 = -1, note = -1;
    int rc;

    tell("newest", version);
    if (version <= 0 || VELOC_Restart_begin(called, version) != VELOC_SUCCESS)
        return;
    memory = -1;
    h5 = get(state);
    note = rank % 2 == 1 ? get_note() : version;
    rc = VELOC_Recover_mem() != VELOC_SUCCESS || memory != version || h5 != version ||
         note != version;
    tell("HDF5 file", h5);
    tell("routed file", note);
    tell("memory", memory);
    tell("restarted", VELOC_Restart_end(rc == 0) == VELOC_SUCCESS);
}

static int begin(void)
{
    VELOC_Mem_protect(0, &memory, 1, sizeof memory);
    return VELOC_Init(MPI_COMM_WORLD, getenv("BOTH_CONFIG"));
}

/* --- the words --- */

static void act(const char *word)
{
    const char *equals = strchr(word, '=');
    size_t len = equals ? (size_t)(equals - word) : strlen(word);
    long number = equals ? atol(equals + 1) : 0;

#define IS(text) (len == sizeof text - 1 && strncmp(word, text, len) == 0)
    if (IS("init"))
        tell("init", begin() == VELOC_SUCCESS);
    else if (IS("finalize"))
        tell("finalized", VELOC_Finalize(1) == VELOC_SUCCESS);
    else if (IS("close"))
        H5close();
    else if (IS("plain"))
        tell("made", make(plain, number) == 0);
    else if (IS("see"))
        tell("plain", get(plain));
    else if (IS("write"))
        write_one(number, make);
    else if (IS("append"))
        write_one(number, change);
    else if (IS("open"))
        leave_open(number);
    else if (IS("same"))
        write_same(number, strchr(word, ',') ? atol(strchr(word, ',') + 1) : 1);
    else if (IS("restart"))
        restart();
    else if (IS("remove"))
        tell("removed", VELOC_Delete(called, (int)number) == VELOC_SUCCESS);
    else if (IS("drop"))
        tell("dropped", VELOC_Drop(called, (int)number) == VELOC_SUCCESS);
    else if (IS("current"))
        tell("made current", VELOC_Current(called, (int)number) == VELOC_SUCCESS);
    else if (IS("name"))
        called = state = equals ? equals + 1 : called;
    else if (IS("file"))
        plain = equals ? equals + 1 : plain;
    else if (IS("safe"))
        tell("safe", wait_safe(number));
    else if (IS("look"))
        tell("state", get(state));
    else if (IS("wait"))
        tell("waited", VELOC_Checkpoint_wait() == VELOC_SUCCESS);
    else if (IS("kill"))
        kill(getpid(), SIGKILL);
    else
        printf("'%s' is no word of mine\n", word);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 1; i < argc; i++)
        act(argv[i]);
    MPI_Finalize();
    return 0;
}
