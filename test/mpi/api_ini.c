/* SPDX-License-Identifier: BSD-3-Clause */
/* The configuration files of today's VELOC mean what they mean there: what is brought
 * to the persistent directory, what stays in scratch, what is encoded. */
#include "config.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tap/apilab.h"
#include "tap/files.h"
#include "tap/mtap.h"
#include "veloc.h"

enum { N = 100 };

static int me;
static int memory[N];

/* A case with such a file below the lines for its directories. */
static void file_is(const char *name, const char *lines)
{
    char text[1024];

    apilab_case(name, 4, "");
    snprintf(text, sizeof text, "scratch = $/cache\npersistent = $/prefix\n%s", lines);
    apilab_file(text);
}

static bool begin(void)
{
    return apilab_begin() &&
           VELOC_Mem_protect(0, memory, N, VELOC_INTG) == VELOC_SUCCESS;
}

static bool save(int version)
{
    for (int i = 0; i < N; i++)
        memory[i] = version * 1000 + me * 100 + i;
    return VELOC_Checkpoint("heat", version) == VELOC_SUCCESS;
}

static bool save_all(int last)
{
    bool fine = begin();

    for (int v = 1; v <= last; v++)
        fine = save(v) && fine;
    return fine;
}

static bool restores(int version)
{
    bool fine = true;

    memset(memory, 0, sizeof memory);
    if (VELOC_Restart("heat", version) != VELOC_SUCCESS)
        return false;
    for (int i = 0; i < N; i++)
        fine = memory[i] == version * 1000 + me * 100 + i && fine;
    return fine;
}

/* Of so many ranks, there and in scratch. */
static int persistent(int version)
{
    char name[64];

    snprintf(name, sizeof name, "heat-?-%d.dat", version);
    return apilab_files("prefix", name);
}

static int in_scratch(int version)
{
    char name[64];

    snprintf(name, sizeof name, "heat-?-%d.dat", version);
    return apilab_files("cache", name);
}

/* --- */

static void the_least(void)
{
    bool fine = true;

    file_is("least", "mode = sync\n");
    mok(save_all(3), "scratch, persistent and mode are enough");
    for (int v = 1; v <= 3; v++)
        fine = persistent(v) == 4 && in_scratch(v) == 4 && fine;
    mok(fine, "every checkpoint is persistent when it returns, and stays in scratch");
    apilab_end(0);
    apilab_lose(1);
    mok(begin() && VELOC_Restart_test("heat", 0) == 3 && restores(3) && restores(1),
        "they are encoded as well");
    apilab_end(0);
    apilab_lose_all();
    mok(begin() && VELOC_Restart_test("heat", 0) == 3 && restores(3) && restores(2) &&
            restores(1),
        "and without scratch all of them are there");
    apilab_end(1);
}

static void versions(void)
{
    file_is("versions", "mode = sync\nmax_versions = 2\nscratch_versions = 1\n");
    mok(save_all(4) && VELOC_Restart_test("heat", 0) == 4 && persistent(4) == 4 &&
            persistent(3) == 4 && persistent(2) == 0 && persistent(1) == 0,
        "max_versions stay persistent: whoever asks does not see more");
    mok(in_scratch(4) == 4 && in_scratch(3) == 0, "scratch_versions stay in scratch");
    mok(restores(3) && VELOC_Restart_test("heat", 3) == VELOC_FAILURE,
        "what is persistent can be read");
    apilab_end(1);
    file_is("all", "mode = sync\nmax_versions = 0\nscratch_versions = 0\n");
    mok(save_all(3) && persistent(1) == 4 && in_scratch(1) == 4, "0 of either are all");
    apilab_end(1);
}

static void intervals(void)
{
    file_is("never", "mode = sync\npersistent_interval = -1\nec_interval = -1\n");
    mok(save_all(2) && apilab_end(1) && persistent(1) == 0 && persistent(2) == 0,
        "persistent_interval = -1: none is persistent, not even the last");
    mok(begin() && restores(2) && apilab_end(1), "scratch has them");
    apilab_lose(1);
    mok(begin() && VELOC_Restart_test("heat", 0) == VELOC_FAILURE,
        "ec_interval = -1: nothing is encoded");
    apilab_end(1);
    file_is("seldom", "mode = sync\npersistent_interval = 9000\nec_interval = 9000\n");
    mok(save_all(3) && persistent(1) == 4 && persistent(2) == 0 && persistent(3) == 0,
        "seconds between two that become persistent");
    mok(apilab_end(1) && persistent(3) == 4, "and the last one does at the end");
    file_is("variable", "mode = sync\n");
    setenv("VELOC_PERSISTENT_INTERVAL", "-1", 1);
    mok(save_all(1) && persistent(1) == 0, "a variable is above the file");
    unsetenv("VELOC_PERSISTENT_INTERVAL");
    apilab_end(1);
}

static void without_persistent(const char *home)
{
    apilab_case("scratch", 4, "");
    apilab_file("scratch = $/cache\nmode = sync\n");
    if (chdir(apilab_at("prefix")) < 0)
        mtap_note("cannot go to the prefix");
    mok(save_all(2) && apilab_end(1) && persistent(1) == 0 && persistent(2) == 0 &&
            in_scratch(1) == 4,
        "without a persistent directory all stay in scratch");
    mok(begin() && restores(1) && restores(2) && apilab_end(1), "and are found there");
    if (chdir(home) < 0)
        mtap_note("cannot go home");
}

static void others(void)
{
    glob_t found;
    bool has_log;

    file_is("others", "mode = async\nmeta = $/meta\nchksum = true\naxl_type = default\n"
                      "watchdog_interval = 0\nthreaded = true\nmax_parallelism = 16\n"
                      "log_prefix = $\naggregated = true\n; a comment\n");
    mok(save_all(1) && apilab_files("prefix", "*") == 0 && apilab_end(1),
        "all keys are accepted, and aggregated files are few");
    apilab_lose_all();
    mok(begin() && restores(1) && apilab_end(1), "which can be read");
    has_log = glob(apilab_at("h5veloc-*.log"), 0, NULL, &found) == 0;
    if (has_log)
        globfree(&found);
    mok(has_log, "log_prefix is where the log is");
    file_is("wrong", "mode = sometimes\n");
    mok(VELOC_Init(MPI_COMM_WORLD, apilab_at("veloc.conf")) == VELOC_FAILURE &&
            apilab_says("veloc.conf:3") && apilab_says("sometimes"),
        "a mode that is none is told with its line");
}

int main(int argc, char **argv)
{
    char *home;

    mtap_init(&argc, &argv);
    me = mtap_rank();
    home = getcwd(NULL, 0);
    the_least();
    versions();
    intervals();
    without_persistent(home);
    others();
    free(home);
    return mtap_done();
}
