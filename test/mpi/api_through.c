/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that go through the cache: written where they belong at once, and part of their
 * dataset all the same. */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "meta/entry.h"
#include "tap/apilab.h"
#include "tap/files.h"
#include "tap/indexlab.h"
#include "tap/mtap.h"
#include "veloc.h"

static int me;

/* The two files of a rank in a checkpoint: one in the cache, one through it. */
static const char *cached(int version, int rank)
{
    return apilab_at("prefix/cached.%d.%d", version, rank);
}

static const char *through(int version, int rank)
{
    return apilab_at("prefix/big/through.%d.%d", version, rank);
}

static const char *text(int version, int rank)
{
    return apilab_text("through", version, rank);
}

static bool write_both(int version)
{
    char path[VELOC_MAX_NAME];
    bool fine = VELOC_Route_file(cached(version, me), path) == VELOC_SUCCESS;

    if (fine)
        tap_put_file(path, text(version, me));
    fine = fine && VELOC_Route_through(through(version, me), path) == VELOC_SUCCESS &&
           strcmp(path, through(version, me)) == 0;
    if (fine)
        tap_put_file(path, text(version, me));
    return fine;
}

static bool save(int version)
{
    bool fine;

    if (VELOC_Checkpoint_begin("t", version) != VELOC_SUCCESS)
        return false;
    fine = write_both(version);
    if (!fine)
        mtap_note("checkpoint %d: %s", version, VELOC_Error());
    return VELOC_Checkpoint_end(fine) == VELOC_SUCCESS && fine;
}

/* What leaves the prefix goes behind the program; whoever asks does not see it. */
static bool newest_is(int version)
{
    return VELOC_Restart_test("t", 0) == version;
}

/* By either call the file through the cache is where it was written. */
static bool reads(int version, int rank)
{
    char path[VELOC_MAX_NAME];
    bool fine = VELOC_Route_file(cached(version, rank), path) == VELOC_SUCCESS &&
                tap_file_is(path, text(version, rank));

    fine = fine && VELOC_Route_file(through(version, rank), path) == VELOC_SUCCESS &&
           strcmp(path, through(version, rank)) == 0 &&
           tap_file_is(path, text(version, rank)) &&
           VELOC_Route_through(through(version, rank), path) == VELOC_SUCCESS &&
           strcmp(path, through(version, rank)) == 0;
    if (!fine)
        mtap_note("version %d of rank %d: %s", version, rank, VELOC_Error());
    return fine;
}

static bool restores(int version)
{
    bool fine;

    if (VELOC_Restart_begin("t", version) != VELOC_SUCCESS) {
        mtap_note("restart %d: %s", version, VELOC_Error());
        return false;
    }
    fine = reads(version, me);
    return VELOC_Restart_end(1) == VELOC_SUCCESS && fine;
}

/* How many of them stand on the prefix, in all versions. */
static int standing(const char *what)
{
    return apilab_files("prefix", what);
}

/* --- the life of such a file --- */

static void lives(void)
{
    char path[VELOC_MAX_NAME];

    apilab_case("lives", 4, "FLUSH=0\nCACHE_SIZE=2\n");
    apilab_begin();
    VELOC_Checkpoint_begin("t", 1);
    mok(write_both(1) && standing("through.*") == 4 && standing("cached.*") == 0,
        "the file is on the prefix at once, the other one in the cache");
    mok(VELOC_Route_file(through(1, me), path) == VELOC_FAILURE &&
            apilab_says("routed the other way before") &&
            VELOC_Route_through(cached(1, me), path) == VELOC_FAILURE,
        "one file goes one way");
    mok(VELOC_Checkpoint_end(1) == VELOC_SUCCESS && restores(1), "it is read there");
    mok(apilab_again() && restores(1), "by the next launch, too");
    apilab_end(0);
    apilab_lose(2);
    mok(apilab_begin() && restores(1), "and after the loss of a node");
    mok(save(2) && save(3) && newest_is(3) && standing("through.*") == 8 &&
            access(through(1, me), F_OK) != 0,
        "a dataset that leaves the cache and is nowhere else takes it along");
    VELOC_Checkpoint_begin("t", 4);
    write_both(4);
    mok(VELOC_Checkpoint_end(me != 1) == VELOC_FAILURE && newest_is(3) &&
            standing("through.4.*") == 0,
        "so does one that fails");
    mok(restores(2) && restores(3), "others keep theirs");
    apilab_end(0);
}

static void is_flushed(void)
{
    apilab_case("flushed", 4, "FLUSH=1\nCACHE_SIZE=1\nPREFIX_SIZE=2\n");
    apilab_begin();
    mok(save(1) && save(2) && standing("through.*") == 8 && standing("cached.*") == 8,
        "a flush brings the other file to it");
    apilab_end(0);
    apilab_lose_all();
    mok(apilab_begin() && restores(2) && restores(1), "what is fetched has both");
    mok(apilab_files("cache", "through.*") == 0, "and the file stays out of the cache");
    mok(apilab_again() && restores(1), "which the next launch knows");
    mok(VELOC_Delete("t", 1) == VELOC_SUCCESS && standing("through.*") == 4 &&
            access(through(1, me), F_OK) != 0,
        "a dataset that is deleted takes it along");
    save(3);
    mok(VELOC_Drop("t", 2) == VELOC_SUCCESS && access(through(2, me), F_OK) == 0 &&
            access(cached(2, me), F_OK) == 0,
        "one that is forgotten leaves it");
    save(4);
    save(5);
    mok(restores(4) && restores(5) && newest_is(5) && access(through(3, me), F_OK) != 0,
        "one that slides out of the window takes it along");
    apilab_end(0);
}

/* PREFIX_SIZE below the number of those in the cache. */
static void is_held(void)
{
    apilab_case("held", 4, "FLUSH=1\nCACHE_SIZE=2\nPREFIX_SIZE=1\n");
    apilab_begin();
    mok(save(1) && save(2) && newest_is(2) && restores(1) &&
            standing("cached.*") == 4 && standing("through.*") == 8,
        "what left the prefix and is in the cache still has it");
    mok(save(3) && newest_is(3) && access(through(1, me), F_OK) != 0,
        "until it leaves the cache as well");
    apilab_end(0);
}

/* A flush that was interrupted is finished by the next launch. */
static void is_finished(void)
{
    struct vel_entry entry;
    bool fine = true;

    apilab_case("back", 4, "FLUSH=1\n");
    apilab_begin();
    save(1);
    apilab_end(0);
    unlink(apilab_at("prefix/cached.1.%d", me));
    if (me == 0 && indexlab_load(vel_fs_posix(), apilab_at("prefix/.veloc"), 1, &entry,
                                 NULL) == 0) {
        entry.place = VEL_ON_FLUSHING;
        fine = indexlab_save(vel_fs_posix(), apilab_at("prefix/.veloc"), &entry,
                             NULL) == 0;
        vel_entry_fini(&entry);
    }
    mok(fine && apilab_begin() && restores(1),
        "one whose flush was interrupted is restored");
    mok(apilab_end(1) && standing("cached.*") == 4 && standing("through.*") == 4,
        "and is on the prefix in the end");
}

/* --- what may go wrong --- */

static void is_changed(void)
{
    apilab_case("changed", 4, "FLUSH=0\nCACHE_SIZE=3\n");
    apilab_begin();
    save(1);
    save(2);
    save(3);
    if (me == 1)
        tap_put_file(through(3, 1), "through 3 of rank X\n"); /* as many bytes */
    if (me == 2)
        unlink(through(2, 2));
    mok(VELOC_Restart_begin("t", 3) == VELOC_FAILURE && apilab_says("checksum") &&
            apilab_says("big/through.3.1"),
        "one that was written again meanwhile is told, with its name");
    mok(VELOC_Restart_test("t", 0) == 2 && VELOC_Restart_begin("t", 2) < 0 &&
            apilab_says("big/through.2.2"),
        "the dataset is not offered again; nor is one whose file is gone");
    mok(VELOC_Restart_test("t", 0) == 1 && restores(1), "the next older one is");
    apilab_end(0);
    if (me == 0) /* the same bytes at another time */
        tap_put_file(through(1, 0), text(1, 0));
    mok(apilab_begin() && restores(1), "one that was copied back is as good");
    apilab_end(0);
}

static void is_overwritten(void)
{
    char path[VELOC_MAX_NAME];
    bool fine = true;

    apilab_case("overwritten", 4, "FLUSH=1\nCACHE_SIZE=1\n");
    apilab_begin();
    for (int v = 1; v <= 2; v++) {
        VELOC_Checkpoint_begin("t", v);
        fine = fine && VELOC_Route_through(apilab_at("prefix/same.%d", me), path) ==
                           VELOC_SUCCESS;
        tap_put_file(path, text(v, me));
        fine = VELOC_Checkpoint_end(fine) == VELOC_SUCCESS && fine;
    }
    mok(fine && VELOC_Restart_test("t", 2) == VELOC_FAILURE,
        "an older dataset whose file was written by a newer one is not offered");
    mok(VELOC_Restart_begin("t", 1) == VELOC_FAILURE &&
            apilab_says("files of the same names"),
        "and it is said why");
    apilab_end(0);
}

/* --- together with other settings --- */

static void is_packed(void)
{
    apilab_case("packed", 2, "FLUSH=1\nCONTAINERS=1\n");
    apilab_begin();
    mok(save(1) && standing("through.*") == 4 && standing("cached.*") == 0 &&
            apilab_end(0),
        "it goes into no container");
    apilab_lose_all();
    mok(apilab_begin() && restores(1) && apilab_end(0), "which a fetch knows");

    apilab_case("bypass", 2, "CACHE_BYPASS=1\n");
    apilab_begin();
    mok(save(1) && restores(1) && apilab_files("cache", "*.1.*") == 0 && apilab_end(0),
        "where all files bypass the cache it is one of them");
}

/* Two ranks write, and three read it all. */
static void is_read_by_others(void)
{
    MPI_Comm few;
    bool fine = true;

    apilab_case("more", 2, "FLUSH=0\n");
    for (int ranks = 2; ranks <= 3; ranks++) {
        MPI_Comm_split(MPI_COMM_WORLD, me < ranks ? 0 : MPI_UNDEFINED, me, &few);
        if (me >= ranks)
            continue;
        fine = apilab_begin_on(few) &&
               (ranks == 2 ? save(1) : VELOC_Restart_begin("t", 1) == VELOC_SUCCESS);
        if (ranks == 3) {
            fine = fine && (me == 2 || reads(1, me));
            fine = VELOC_Restart_end(1) == VELOC_SUCCESS && fine;
        }
        fine = apilab_end(0) && fine;
        MPI_Comm_free(&few);
    }
    mok(fine, "more ranks than have written it read it by its name");
}

int main(int argc, char **argv)
{
    mtap_init(&argc, &argv);
    me = mtap_rank();
    lives();
    is_flushed();
    is_held();
    is_finished();
    is_changed();
    is_overwritten();
    is_packed();
    is_read_by_others();
    return mtap_done();
}
