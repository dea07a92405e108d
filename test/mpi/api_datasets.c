/* SPDX-License-Identifier: BSD-3-Clause */
/* Datasets of all uses: what a program may do with those that it has made, how many of
 * them stay where, and where one would be read. */
#include "config.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tap/apilab.h"
#include "tap/files.h"
#include "tap/mtap.h"
#include "veloc.h"

static int me;

static const char *file_of(const char *name, int version)
{
    return apilab_at("prefix/%s.%d.%d", name, version, me);
}

static int save_as(const char *name, int version, int use)
{
    char path[VELOC_MAX_NAME];
    int rc = VELOC_Start_output(name, version, use);

    if (rc == VELOC_SUCCESS) {
        rc = VELOC_Route_file(file_of(name, version), path);
        if (rc == VELOC_SUCCESS)
            tap_put_file(path, apilab_text(name, version, me));
        rc = VELOC_Complete_output(rc == VELOC_SUCCESS);
    }
    if (rc != VELOC_SUCCESS)
        mtap_note("%s %d: %s", name, version, VELOC_Error());
    return rc;
}

static bool is_there(const char *name, int version)
{
    return tap_file_is(file_of(name, version), apilab_text(name, version, me));
}

static int status_of(const char *name)
{
    int status = 7;

    return VELOC_Status(name, &status) == VELOC_SUCCESS ? status : -1;
}

/* --- uses --- */

static void uses(void)
{
    const int both = VELOC_USE_CHECKPOINT | VELOC_USE_OUTPUT;

    apilab_case("uses", 4, "FLUSH=0\nCACHE_SIZE=1\n");
    apilab_begin();
    mok(save_as("out", 1, VELOC_USE_OUTPUT) == VELOC_SUCCESS && is_there("out", 1),
        "an output is flushed when it is complete, whatever FLUSH says");
    mok(save_as("both", 2, both) == VELOC_SUCCESS && is_there("both", 2),
        "so is one that is a checkpoint as well");
    mok(save_as("ck", 3, VELOC_USE_CHECKPOINT) == VELOC_SUCCESS && !is_there("ck", 3),
        "one that is a checkpoint only is a checkpoint");
    mok(apilab_files("cache", "out.*") == 0 && apilab_files("cache", "both.*") == 0 &&
            apilab_files("cache", "ck.*") == 4,
        "an output leaves the cache");
    mok(VELOC_Start_checkpoint() == VELOC_SUCCESS &&
            VELOC_Complete_checkpoint(1) == VELOC_SUCCESS &&
            VELOC_Restart_test("checkpoint", 0) == 1 &&
            VELOC_Start_checkpoint() == VELOC_SUCCESS &&
            VELOC_Complete_checkpoint(0) == VELOC_FAILURE &&
            VELOC_Restart_test("checkpoint", 0) == 1,
        "a checkpoint without a name counts by itself");
    apilab_end(0);
    apilab_lose_all();
    mok(apilab_begin() && status_of(NULL) == VELOC_STATUS_CACHE &&
            apilab_restores("both", 2),
        "a restart begins with what is a checkpoint as well, not with an output");
    mok(VELOC_Start_checkpoint() == VELOC_SUCCESS &&
            VELOC_Complete_checkpoint(1) == VELOC_SUCCESS &&
            VELOC_Restart_test("checkpoint", 0) == 1,
        "and counts from what is there");
    mok(apilab_restores("out", 1), "an output can be read back, too");
    apilab_end(0);
}

/* PREFIX is a directory where no file can be made: what is owed stays in the cache. */
static void owes(void)
{
    apilab_case("owes", 4, "FLUSH=1\nCACHE_SIZE=1\nLOG_FILE=$/log\n");
    apilab_begin();
    if (me == 0) /* where the output's files go there is something else */
        tap_put_file(apilab_at("prefix/results"), "a file");
    MPI_Barrier(MPI_COMM_WORLD);
    VELOC_Start_output("out", 1, VELOC_USE_OUTPUT);
    char path[VELOC_MAX_NAME];
    if (VELOC_Route_file(apilab_at("prefix/results/out.%d", me), path) == VELOC_SUCCESS)
        tap_put_file(path, "a result");
    mok(VELOC_Complete_output(1) == VELOC_SUCCESS &&
            apilab_lines("log", "it stays in the cache") == 1,
        "an output that cannot be flushed is complete, and the failure is told");
    apilab_save("ck", 2);
    apilab_save("ck", 3);
    mok(apilab_files("cache", "out.?") == 4,
        "no newer checkpoint drives it from the cache");
    if (me == 0)
        unlink(apilab_at("prefix/results"));
    mok(apilab_end(1) &&
            tap_file_is(apilab_at("prefix/results/out.%d", me), "a result"),
        "and the end of the program flushes it");
}

/* --- how many on the prefix --- */

static void window(void)
{
    const int both = VELOC_USE_CHECKPOINT | VELOC_USE_OUTPUT;
    bool fine = true;

    apilab_case("window", 4, "FLUSH=1\nPREFIX_SIZE=2\n");
    apilab_begin();
    save_as("out", 1, VELOC_USE_OUTPUT);
    save_as("both", 2, both);
    for (int v = 3; v <= 6; v++)
        apilab_save("ck", v);
    save_as("out", 7, VELOC_USE_OUTPUT);
    for (int v = 3; v <= 6; v++)
        fine = is_there("ck", v) == (v >= 5) && fine;
    mok(fine, "the newest two checkpoints stay on the prefix");
    mok(is_there("out", 1) && is_there("out", 7) && is_there("both", 2),
        "and all outputs, also those that are checkpoints");
    mok(VELOC_Restart_test("ck", 5) == VELOC_FAILURE && apilab_restores("ck", 5) &&
            apilab_restores("both", 2),
        "what has left is not offered, and the others can be read");
    apilab_end(0);
}

/* --- chosen, forgotten, deleted --- */

static void chosen(void)
{
    apilab_case("chosen", 4, "FLUSH=1\nCACHE_SIZE=1\n");
    apilab_begin();
    for (int v = 1; v <= 4; v++)
        apilab_save("ck", v);
    mok(VELOC_Current("ck", 2) == VELOC_SUCCESS, "an older one is made current");
    apilab_end(0);
    apilab_lose_all();
    mok(apilab_begin() && apilab_files("cache", "ck.2.*") == 4 &&
            apilab_files("cache", "ck.4.*") == 0,
        "the next launch fetches that one");
    mok(VELOC_Restart_test("ck", 0) == 4 && apilab_restores("ck", 4),
        "and newer ones are there all the same");
    mok(VELOC_Drop("ck", 4) == VELOC_SUCCESS && VELOC_Restart_test("ck", 0) == 3 &&
            is_there("ck", 4) && VELOC_Restart_begin("ck", 4) == VELOC_FAILURE,
        "one that is dropped is forgotten, and its files stay");
    mok(VELOC_Delete("ck", 3) == VELOC_SUCCESS && VELOC_Restart_test("ck", 0) == 2 &&
            !is_there("ck", 3),
        "one that is deleted is gone");
    mok(VELOC_Delete("ck", 3) == VELOC_FAILURE && apilab_says("'ck' 3"), "once");
    mok(apilab_again() && VELOC_Restart_test("ck", 0) == 2 && apilab_restores("ck", 2),
        "the next launch knows of all that");
    apilab_end(0);
    apilab_settings("FLUSH=1\nDROP_AFTER_CURRENT=1\nCACHE_SIZE=4\n");
    apilab_begin();
    apilab_save("ck", 5);
    apilab_save("ck", 6);
    mok(VELOC_Current("ck", 2) == VELOC_SUCCESS && VELOC_Restart_test("ck", 0) == 2 &&
            is_there("ck", 6),
        "with DROP_AFTER_CURRENT newer ones are forgotten");
    apilab_end(0);
}

static void not_flushed(void)
{
    apilab_case("cached", 4, "FLUSH=0\nCACHE_SIZE=3\n");
    apilab_begin();
    for (int v = 1; v <= 3; v++)
        apilab_save("ck", v);
    mok(VELOC_Drop("ck", 3) == VELOC_SUCCESS &&
            VELOC_Delete("ck", 1) == VELOC_SUCCESS &&
            VELOC_Restart_test("ck", 0) == 2 &&
            VELOC_Restart_test("ck", 2) == VELOC_FAILURE &&
            apilab_files("cache", "ck.[13].*") == 0,
        "what is in the cache only can be dropped and deleted, too");
    mok(apilab_again() && VELOC_Restart_test("ck", 0) == 2, "for good");
    mok(apilab_save("other", 1) == VELOC_SUCCESS &&
            VELOC_Cleanup("ck") == VELOC_SUCCESS &&
            VELOC_Restart_test("ck", 0) == VELOC_FAILURE &&
            VELOC_Restart_test("other", 0) == 1,
        "VELOC_Cleanup empties the cache of one name");
    apilab_end(0);
}

static void dropped_as_it_goes(void)
{
    apilab_case("goes", 4, "FLUSH=1\nCACHE_SIZE=2\n");
    apilab_begin();
    for (int v = 1; v <= 6; v++) {
        apilab_save("ck", v);
        if (v > 1 && VELOC_Drop("ck", v - 1) != VELOC_SUCCESS)
            break;
    }
    mok(VELOC_Restart_test("ck", 0) == 6 && VELOC_Restart_test("ck", 6) < 0,
        "a program drops what it has written before");
    mok(apilab_files("prefix/.veloc", "dropped.*") == 0 &&
            apilab_files("prefix/.veloc", "dataset.[1-5]*") == 0 &&
            apilab_files("prefix/.veloc", "files.*") <= 4,
        "and no records of it are left");
    mok(apilab_again() && VELOC_Restart_test("ck", 0) == 6 && apilab_save("ck", 7) == 0,
        "the next launch goes on");
    apilab_end(0);
}

/* A node that was not there when it was said sees it later. */
static void lost_meanwhile(void)
{
    char away[VELOC_MAX_NAME], home[VELOC_MAX_NAME];
    glob_t found;

    apilab_case("away", 4, "FLUSH=0\nCACHE_SIZE=3\n");
    apilab_begin();
    apilab_save("ck", 1);
    apilab_save("ck", 2);
    apilab_end(0);
    snprintf(away, sizeof away, "%s", apilab_at("away"));
    if (me == 0 && glob(apilab_at("cache/*.v3"), 0, NULL, &found) == 0) {
        snprintf(home, sizeof home, "%s", found.gl_pathv[0]);
        globfree(&found);
        if (rename(home, away) < 0)
            mtap_note("cannot take a node away");
    }
    apilab_begin();
    mok(VELOC_Delete("ck", 2) == VELOC_SUCCESS, "deleted while a node was away");
    apilab_end(0);
    if (me == 0) {
        tap_fresh_dir(home);
        if (rmdir(home) < 0 || rename(away, home) < 0)
            mtap_note("cannot bring the node back");
    }
    mok(apilab_begin() && VELOC_Restart_test("ck", 0) == 1 &&
            apilab_files("cache", "ck.2.*") == 0 && apilab_restores("ck", 1),
        "the node that comes back does not bring it back");
    apilab_end(0);
}

/* --- where it is --- */

static void where(void)
{
    apilab_case("where", 4, "FLUSH=1\nCACHE_SIZE=1\n");
    apilab_begin();
    mok(status_of("ck") == VELOC_STATUS_NONE && status_of(NULL) == VELOC_STATUS_NONE,
        "at first there is nothing");
    apilab_save("ck", 1);
    mok(status_of("ck") == VELOC_STATUS_CACHE &&
            status_of(NULL) == VELOC_STATUS_CACHE &&
            status_of("other") == VELOC_STATUS_NONE,
        "a checkpoint is in the cache");
    apilab_save("other", 2);
    mok(status_of("ck") == VELOC_STATUS_PREFIX &&
            status_of("other") == VELOC_STATUS_CACHE,
        "then on the prefix, when it has left the cache");
    apilab_end(0);
    apilab_lose_all();
    apilab_settings("FETCH=0\n");
    mok(apilab_begin() && status_of("ck") == VELOC_STATUS_NONE &&
            VELOC_Restart_test("ck", 0) == VELOC_FAILURE,
        "with FETCH=0 what is on the prefix is not offered");
    apilab_end(0);
}

/* --- CRC_ON_DELETE --- */

static void checked(void)
{
    glob_t found;

    apilab_case("checked", 4, "FLUSH=0\nCRC_ON_DELETE=1\nLOG_FILE=$/log\n");
    apilab_begin();
    apilab_save("ck", 1);
    if (me == 2 &&
        glob(apilab_at("cache/*/*/*/*/*/rank.2/ck.1.2"), 0, NULL, &found) == 0) {
        tap_put_file(found.gl_pathv[0], "ck X of rank 2\n");
        globfree(&found);
    }
    apilab_save("ck", 2);
    mok(apilab_lines("log", "found when dataset 1 was deleted") == 1 &&
            apilab_lines("log", "rank.2/ck.1.2") == 1,
        "a file that went bad in the cache is told when it is deleted");
    apilab_save("ck", 3);
    mok(apilab_lines("log", "was deleted") == 1, "and good ones are not");
    apilab_end(0);
}

int main(int argc, char **argv)
{
    mtap_init(&argc, &argv);
    me = mtap_rank();
    uses();
    owes();
    window();
    chosen();
    not_flushed();
    dropped_as_it_goes();
    lost_meanwhile();
    where();
    checked();
    return mtap_done();
}
