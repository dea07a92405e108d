/* SPDX-License-Identifier: BSD-3-Clause */
/* The cache of one node of four is full or read-only, in earnest, by a file system that
 * only its rank has mounted: all ranks go elsewhere together, no checkpoint fails, and
 * all of them are restored. What a program of one rank sees of failing storage is in
 * test/fault/storage.c.
 */
#define _GNU_SOURCE /* unshare */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "tap/apilab.h"
#include "tap/mtap.h"
#include "veloc.h"

enum { VICTIM = 1, NODES = 4, SIZE = 1 << 20 };

static char memory[SIZE];

/* --- the cache of one node -----------------------------------------------------------
 */

/* Directories of the nodes' caches are made by a first launch. */
static const char *victims_cache(void)
{
    struct dirent **names;
    int n = scandir(apilab_at("cache"), &names, NULL, NULL);
    const char *path = NULL;

    for (int i = 0; i < n; i++) {
        if (fnmatch("*.v1", names[i]->d_name, 0) == 0)
            path = apilab_at("cache/%s", names[i]->d_name);
        free(names[i]);
    }
    if (n >= 0)
        free(names);
    return path;
}

/* Collective: false when there can be no such mounts here. */
static bool is_alone(void)
{
    int is_there = mtap_rank() == VICTIM && unshare(CLONE_NEWNS) == 0 &&
                   mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;

    MPI_Bcast(&is_there, 1, MPI_INT, VICTIM, MPI_COMM_WORLD);
    return is_there;
}

static bool mount_for_victim(const char *options)
{
    const char *dir = victims_cache();

    return mtap_rank() != VICTIM ||
           (dir && mount("tmpfs", dir, "tmpfs", 0, options) == 0);
}

/* Over the first mount, which stays as it is while a leader has files open there. */
static bool make_read_only(void)
{
    const char *dir = victims_cache();

    return mtap_rank() != VICTIM ||
           (mount(dir, dir, NULL, MS_BIND, NULL) == 0 &&
            mount(NULL, dir, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) == 0);
}

static void unmount(void)
{
    const char *dir = victims_cache();

    while (mtap_rank() == VICTIM && umount2(dir, MNT_DETACH) == 0)
        ;
    MPI_Barrier(MPI_COMM_WORLD);
}

/* --- the program
 * ----------------------------------------------------------------------- */

static bool begin(void)
{
    return apilab_begin() &&
           VELOC_Mem_protect(0, memory, SIZE, VELOC_CHAR) == VELOC_SUCCESS;
}

static bool save(int version)
{
    memset(memory, version * 16 + mtap_rank(), SIZE);
    if (VELOC_Checkpoint("state", version) == VELOC_SUCCESS)
        return true;
    mtap_note("version %d: %s", version, VELOC_Error());
    return false;
}

static bool restores(int version)
{
    memset(memory, 0, SIZE);
    if (VELOC_Restart_test("state", 0) != version ||
        VELOC_Restart("state", version) != VELOC_SUCCESS) {
        mtap_note("restart of version %d: %s", version, VELOC_Error());
        return false;
    }
    for (int i = 0; i < SIZE; i++)
        if (memory[i] != version * 16 + mtap_rank())
            return false;
    return true;
}

/* A file of its own, of which nobody knows the size before. */
static bool save_file(int version)
{
    char path[VELOC_MAX_NAME];
    bool is_written = false;
    FILE *f;

    memset(memory, version * 16 + mtap_rank(), SIZE);
    if (VELOC_Checkpoint_begin("file", version) != VELOC_SUCCESS)
        return false;
    if (VELOC_Route_file(apilab_at("prefix/file.%d", mtap_rank()), path) ==
            VELOC_SUCCESS &&
        (f = fopen(path, "w"))) {
        is_written = fwrite(memory, 1, SIZE, f) == SIZE;
        is_written = fclose(f) == 0 && is_written;
    }
    return VELOC_Checkpoint_end(is_written) == VELOC_SUCCESS;
}

static bool restores_file(int version)
{
    char path[VELOC_MAX_NAME], c = 0;
    FILE *f;

    if (VELOC_Restart_begin("file", version) != VELOC_SUCCESS)
        return false;
    if (VELOC_Route_file(apilab_at("prefix/file.%d", mtap_rank()), path) ==
            VELOC_SUCCESS &&
        (f = fopen(path, "r"))) {
        c = (char)fgetc(f);
        fclose(f);
    }
    return VELOC_Restart_end(1) == VELOC_SUCCESS && c == version * 16 + mtap_rank();
}

static const char settings[] =
    "COPY_TYPE=XOR\nSET_SIZE=4\nLOG_FILE=$/log\nFLUSH=0\nPEER_TIMEOUT=4\n";

static void no_room(void)
{
    apilab_case("full", NODES, settings);
    begin();
    apilab_end(0);
    mok(mount_for_victim("size=1200k"), "the cache of node 1 is small");
    mok(begin() && save(1),
        "where one rank has no room for its memory all go elsewhere");
    mok(restores(1) && save(2) && restores(2), "and go on");
    mok(apilab_lines("log", "has no room for another dataset") == 1,
        "with one warning of one rank");
    mok(apilab_end(0) && begin() && restores(2) && apilab_end(0),
        "the next launch has it");
    unmount();
}

static void no_room_for_redundancy(void)
{
    apilab_case("encode", NODES, settings);
    begin();
    apilab_end(0);
    mok(mount_for_victim("size=1200k"), "the cache of node 1 is small");
    mok(apilab_begin() && save_file(1) && restores_file(1),
        "where one rank has no room for redundancy all go elsewhere");
    mok(save_file(2) && restores_file(2), "and go on");
    apilab_end(0);
    mok(apilab_is_behind() ? apilab_lines("log", "not finished in the background") > 0
                           : apilab_lines("log", "no room for the redundancy") == 1,
        "which is told");
    mok(apilab_begin() && restores_file(2) && apilab_end(0), "the next launch has it");
    unmount();
}

static void read_only(void)
{
    apilab_case("readonly", NODES, settings);
    begin();
    apilab_end(0);
    mok(mount_for_victim("size=8m"), "node 1 has a cache of its own");
    mok(begin() && save(1) && restores(1), "a checkpoint is in the caches");
    apilab_wait(); /* as it should be before the cache of a node fails */
    mok(make_read_only() && save(2) && restores(2),
        "one that becomes read-only is left by all ranks");
    mok(apilab_lines("log", "Read-only file system") == 1,
        "with one warning of the cause");
    mok(apilab_end(0) && begin() && restores(2) && save(3) && restores(3) &&
            apilab_end(0),
        "the next launch goes on");
    unmount();
}

/* An agent would have to see what one rank has mounted. */
enum { HERE = APILAB_SYNC | APILAB_ASYNC };
static const struct apilab_test tests[] = {
    {no_room, HERE}, {no_room_for_redundancy, HERE}, {read_only, HERE}};

int main(int argc, char **argv)
{
    mtap_init(&argc, &argv);
    if (!is_alone())
        mtap_skip_all("no mount namespace");
    apilab_run(tests, sizeof tests / sizeof *tests);
    return mtap_done();
}
