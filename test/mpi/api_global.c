/* SPDX-License-Identifier: BSD-3-Clause */
/* Restarts that bring the checkpoint to the prefix before the program goes on, and
 * those that read it there. */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tap/apilab.h"
#include "tap/files.h"
#include "tap/mtap.h"
#include "veloc.h"

static int me;

/* A checkpoint of files and of memory. */
static bool save(int version, int value)
{
    char path[VELOC_MAX_NAME];

    VELOC_Mem_protect(7, &value, 1, sizeof value);
    if (VELOC_Checkpoint_begin("g", version) != VELOC_SUCCESS ||
        VELOC_Route_file(apilab_at("prefix/g.%d", me), path) != VELOC_SUCCESS)
        return false;
    tap_put_file(path, apilab_text("g", version, me));
    return VELOC_Checkpoint_mem() == VELOC_SUCCESS &&
           VELOC_Checkpoint_end(1) == VELOC_SUCCESS && VELOC_Mem_clear() == 0;
}

/* The same restored, from files below `dir` of the case. */
static bool restores(int version, int value, const char *dir)
{
    const char *top = apilab_at("%s/", dir);
    char path[VELOC_MAX_NAME] = "";
    int found = -1;
    bool fine;

    VELOC_Mem_protect(7, &found, 1, sizeof found);
    if (VELOC_Restart_begin("g", version) != VELOC_SUCCESS) {
        mtap_note("restart of %d: %s", version, VELOC_Error());
        return false;
    }
    fine = VELOC_Route_file(apilab_at("prefix/g.%d", me), path) == VELOC_SUCCESS &&
           strncmp(path, top, strlen(top)) == 0 &&
           tap_file_is(path, apilab_text("g", version, me));
    if (!fine)
        mtap_note("file '%s': %s", path, VELOC_Error());
    fine = VELOC_Recover_mem() == VELOC_SUCCESS && found == value && fine;
    return VELOC_Restart_end(1) == VELOC_SUCCESS && fine;
}

/* A checkpoint that is in the caches only, and settings for the next launch. */
static void begin_with(const char *name, const char *settings)
{
    apilab_case(name, 4, "FLUSH=0\nCOPY_TYPE=XOR\nSET_SIZE=4\n");
    apilab_begin();
    mok(save(1, 100 + me) && apilab_files("prefix", "g.*") == 0,
        "%s: a checkpoint is in the caches only", name);
    apilab_end(0);
    apilab_settings(settings);
}

static void flush_on_restart(void)
{
    begin_with("flushing", "FLUSH=0\nFLUSH_ON_RESTART=1\n");
    apilab_lose(2);
    mok(apilab_begin() && apilab_files("prefix", "g.*") == 4,
        "with FLUSH_ON_RESTART it is rebuilt, and on the prefix before the program "
        "goes on");
    mok(restores(1, 100 + me, "cache"), "which reads it from the cache");
    apilab_end(0);
    mok(apilab_begin() &&
            apilab_lines("prefix/.veloc/events", "\"event\":\"flush\"") == 1,
        "the next launch has nothing to flush");
    apilab_end(0);
}

static void global_restart(void)
{
    begin_with("global", "FLUSH=0\nGLOBAL_RESTART=1\n");
    apilab_lose(1);
    mok(apilab_begin() && apilab_files("prefix", "g.*") == 4 &&
            VELOC_Restart_test("g", 0) == 1 && restores(1, 100 + me, "prefix"),
        "with GLOBAL_RESTART it is rebuilt, flushed, and read from the prefix");
    apilab_end(0);
    apilab_lose_all();
    mok(apilab_begin() && VELOC_Restart_test("g", 0) == 1 &&
            restores(1, 100 + me, "prefix") && apilab_files("cache", "g.*") == 0,
        "what is on the prefix is read there, and is not fetched");
    mok(save(2, 200 + me) && restores(2, 200 + me, "cache"),
        "new checkpoints are made in the cache");
    apilab_end(0);
    mok(apilab_begin() && restores(2, 200 + me, "prefix"),
        "and read from the prefix after the next restart");
    apilab_end(0);
}

/* The file of one rank cannot get its name: a directory is there. */
static void no_name(void)
{
    begin_with("unnamed", "FLUSH=0\nGLOBAL_RESTART=1\n");
    if (me == 0)
        mkdir(apilab_at("prefix/g.3"), 0777);
    mok(apilab_begin() && VELOC_Restart_test("g", 0) == 1 &&
            restores(1, 100 + me, "cache"),
        "what cannot be read on the prefix by its name is read from the cache");
    apilab_end(0);
    apilab_settings("FLUSH=0\nGLOBAL_RESTART=1\nSTRICT=1\n");
    mok(VELOC_Init(MPI_COMM_WORLD, apilab_at("veloc.conf")) == VELOC_FAILURE &&
            apilab_says("dataset 1 is not on the prefix"),
        "which STRICT makes a failure");
}

/* Nor its temporary one. */
static void no_flush(const char *name, const char *setting)
{
    char strict[100];

    begin_with(name, setting);
    if (me == 0)
        mkdir(apilab_at("prefix/.g.3.h5v-1.1.tmp"), 0777);
    mok(apilab_begin() && VELOC_Restart_test("g", 0) == 1 &&
            restores(1, 100 + me, "cache"),
        "%s: when it cannot be flushed the program goes on from the cache", name);
    apilab_end(0);
    if (me == 0)
        for (int k = 2; k < 9; k++)
            mkdir(apilab_at("prefix/.g.3.h5v-1.%d.tmp", k), 0777);
    snprintf(strict, sizeof strict, "%sSTRICT=1\n", setting);
    apilab_settings(strict);
    mok(VELOC_Init(MPI_COMM_WORLD, apilab_at("veloc.conf")) == VELOC_FAILURE &&
            apilab_says("dataset 1 is not on the prefix"),
        "%s: which STRICT makes a failure", name);
}

int main(int argc, char **argv)
{
    mtap_init(&argc, &argv);
    me = mtap_rank();
    flush_on_restart();
    global_restart();
    no_name();
    no_flush("unflushed", "FLUSH=0\nFLUSH_ON_RESTART=1\n");
    no_flush("unflushed.global", "FLUSH=0\nGLOBAL_RESTART=1\n");
    return mtap_done();
}
