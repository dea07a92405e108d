/* SPDX-License-Identifier: BSD-3-Clause */
/* What VELOC_* tells when one rank alone has done something wrong: all ranks get the
 * same answer and the same cause. And what a program does besides checkpoints costs it
 * none of them. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tap/files.h"
#include "tap/mtap.h"
#include "veloc.h"

enum { N = 1000 };

static char path[VELOC_MAX_NAME];
static int data[N];

static const char *below_dir(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", mtap_dir(), name);
    return path;
}

/* A run in directories of its own, or in those of the last one. */
static void begin(const char *name)
{
    char conf[VELOC_MAX_NAME];

    if (name)
        setenv("VELOC_PREFIX", below_dir(name), 1);
    snprintf(conf, sizeof conf, "%s", below_dir("empty.conf"));
    mok(VELOC_Init(MPI_COMM_WORLD, conf) == VELOC_SUCCESS, "%s: a run begins",
        name ? name : "again");
    VELOC_Mem_protect(1, data, N, VELOC_INTG);
}

/* Whatever was in the caches, this is other nodes. */
static void begin_elsewhere(const char *cache)
{
    setenv("VELOC_CACHE_BASE", below_dir(cache), 1);
    begin(NULL);
}

static int write_output(int version)
{
    char name[100];

    snprintf(name, sizeof name, "%s/out.%d.%d", getenv("VELOC_PREFIX"), version,
             mtap_rank());
    VELOC_Start_output("out", version, VELOC_USE_OUTPUT);
    if (VELOC_Route_file(name, path) == VELOC_SUCCESS)
        tap_put_file(path, "a result");
    return VELOC_Complete_output(1);
}

static void restart_in_too_little(void)
{
    const int culprit = 1;

    setenv("VELOC_FLUSH", "1", 1);
    begin("little");
    data[0] = 7;
    mok(VELOC_Checkpoint("ck", 1) == VELOC_SUCCESS, "a checkpoint is made");
    if (mtap_rank() == culprit)
        VELOC_Mem_protect(1, data, N / 2, VELOC_INTG);
    mis_int(VELOC_Restart("ck", 1), VELOC_FAILURE,
            "too little memory on one rank: the restart fails on all");
    mok(strstr(VELOC_Error(), "only 2000 are protected"), "and all are told why");
    mok((strstr(VELOC_Error(), "rank 1: ") != NULL) == (mtap_rank() != culprit),
        "and on which rank");
    mis_int(VELOC_Restart_test("ck", 0), VELOC_FAILURE,
            "it is not offered again in this run, neither from cache nor prefix");
    VELOC_Finalize(0);

    begin_elsewhere("cache2");
    data[0] = 0;
    mok(VELOC_Restart("ck", 1) == VELOC_SUCCESS && data[0] == 7,
        "a run that has the memory reads it from the prefix");
    VELOC_Restart_begin("ck", 1);
    mok(VELOC_Restart_end(mtap_rank() != culprit) == VELOC_FAILURE &&
            strstr(VELOC_Error(), "not valid"),
        "one rank says that what it read was bad: all are told");
    VELOC_Finalize(0);

    begin_elsewhere("cache3");
    mis_int(VELOC_Restart_test("ck", 0), VELOC_FAILURE,
            "then no later run is given it from the prefix");
    VELOC_Finalize(0);
    unsetenv("VELOC_FLUSH");
}

static void save_what_cannot_be(void)
{
    char name[201];

    begin("cannot");
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    if (mtap_rank() == 2)
        VELOC_Region_protect(1, data, N, VELOC_INTG, name);
    mis_int(VELOC_Checkpoint("a name that makes the region's file name too long", 1),
            VELOC_FAILURE, "a region that cannot be saved on one rank: no checkpoint");
    mok(strstr(VELOC_Error(), "shorten the name"), "all are told what to do");
    VELOC_Finalize(0);
}

static void outputs_beside_checkpoints(void)
{
    char name[100];

    begin("beside");
    mok(VELOC_Checkpoint("ck", 1) == VELOC_SUCCESS &&
            write_output(1) == VELOC_SUCCESS && write_output(2) == VELOC_SUCCESS,
        "a checkpoint is made, and two outputs");
    VELOC_Finalize(0);

    begin(NULL);
    mis_int(VELOC_Restart_test("ck", 0), 1,
            "outputs do not drive the only checkpoint from the cache");
    mok(VELOC_Restart("ck", 1) == VELOC_SUCCESS && write_output(3) == VELOC_SUCCESS,
        "it is read, and one more output is written");
    VELOC_Finalize(1);
    snprintf(name, sizeof name, "beside/ck-%d-1.dat", mtap_rank());
    mok(access(below_dir(name), R_OK) == 0,
        "a program's end flushes its last checkpoint, though an output is newer");
}

static void choose_while_reading(void)
{
    setenv("VELOC_DROP_AFTER_CURRENT", "1", 1);
    setenv("VELOC_CACHE_SIZE", "2", 1);
    begin("choose");
    VELOC_Checkpoint("ck", 1);
    VELOC_Checkpoint("ck", 2);
    VELOC_Restart_begin("ck", 2);
    mis_int(VELOC_Current("ck", 1), VELOC_FAILURE,
            "what is being read cannot be dropped for an older one");
    mok(VELOC_Recover_mem() == VELOC_SUCCESS && VELOC_Restart_end(1) == VELOC_SUCCESS,
        "and can still be read");
    mok(VELOC_Current("ck", 1) == VELOC_SUCCESS, "then it can");
    mis_int(VELOC_Restart_test("ck", 0), 1, "and the older one is the newest");
    VELOC_Finalize(0);
    unsetenv("VELOC_DROP_AFTER_CURRENT");
    unsetenv("VELOC_CACHE_SIZE");
}

static void begin_alone(void)
{
    mok(VELOC_Init_single(3000000000u, below_dir("empty.conf")) == VELOC_FAILURE &&
            strstr(VELOC_Error(), "2147483647"),
        "an id that is too large is refused, with the largest");
    mok(VELOC_Init_single(2147483644u + (unsigned)mtap_rank(),
                          below_dir("empty.conf")) == VELOC_SUCCESS,
        "the largest ones are taken");
    mok(VELOC_Checkpoint("ck", 1) == VELOC_SUCCESS &&
            VELOC_Restart("ck", 1) == VELOC_SUCCESS,
        "each process checkpoints and restarts by itself");
    VELOC_Finalize(0);
}

int main(int argc, char **argv)
{
    mtap_init(&argc, &argv);
    if (mtap_rank() == 0)
        tap_put_file(below_dir("empty.conf"), "MODE=SYNC\n");
    setenv("VELOC_SYSTEM_FILE", below_dir("empty.conf"), 1);
    setenv("VELOC_VIRTUAL_NODES", "4", 1);
    setenv("VELOC_CACHE_BASE", below_dir("cache"), 1);
    setenv("VELOC_LOG_FILE", below_dir("log"), 1);
    MPI_Barrier(MPI_COMM_WORLD);
    restart_in_too_little();
    save_what_cannot_be();
    outputs_beside_checkpoints();
    choose_while_reading();
    begin_alone();
    return mtap_done();
}
