/* SPDX-License-Identifier: BSD-3-Clause */
/* What a restart offers and reads: after other restarts, with other numbers of ranks,
 * below a version, and after one that was no good. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "meta/current.h"
#include "meta/entry.h"
#include "tap/apilab.h"
#include "tap/files.h"
#include "tap/indexlab.h"
#include "tap/mtap.h"
#include "veloc.h"

static int me;

/* --- again and again --- */

static void twice(void)
{
    apilab_case("twice", 8, "FLUSH=1\n");
    apilab_begin();
    apilab_save("twice", 1);
    apilab_end(0);
    for (int launch = 0; launch < 3; launch++) {
        if (launch == 1)
            apilab_lose(5);
        if (launch == 2)
            apilab_lose_all();
        mok(apilab_begin() && VELOC_Restart_test("twice", 0) == 1 &&
                apilab_restores("twice", 1) && apilab_restores("twice", 1),
            "without a new checkpoint the same one restarts again: %s",
            launch == 0   ? "from the cache"
            : launch == 1 ? "after the loss of a node"
                          : "from the prefix");
        apilab_end(0);
    }
}

static void versions(void)
{
    apilab_case("versions", 8, "FLUSH=1\nCACHE_SIZE=2\n");
    apilab_begin();
    apilab_save("v", 10);
    apilab_save("v", 20);
    apilab_save("other", 99);
    apilab_save("v", 30);
    mok(VELOC_Restart_test("v", 0) == 30 && VELOC_Restart_test("v", 31) == 30 &&
            VELOC_Restart_test("v", 30) == 20 && VELOC_Restart_test("v", 20) == 10 &&
            VELOC_Restart_test("v", 11) == 10,
        "the newest one that is strictly below the limit is offered");
    mok(VELOC_Restart_test("v", 10) == VELOC_FAILURE &&
            VELOC_Restart_test("none", 0) == VELOC_FAILURE,
        "or none");
    mok(apilab_restores("v", 10) && apilab_restores("v", 20) &&
            apilab_restores("v", 30),
        "older ones that left the cache come from the prefix");
    apilab_end(0);
    mok(apilab_begin() && VELOC_Restart_test("v", 30) == 20 && apilab_restores("v", 20),
        "so does the next launch");
    apilab_end(0);
}

/* A file of this rank whose text is not what its name and version say. */
static bool save_as(int version, const char *text)
{
    char path[VELOC_MAX_NAME];

    if (VELOC_Checkpoint_begin("again", version) != VELOC_SUCCESS ||
        VELOC_Route_file(apilab_at("prefix/again.%d", me), path) != VELOC_SUCCESS)
        return false;
    tap_put_file(path, text);
    return VELOC_Checkpoint_end(1) == VELOC_SUCCESS;
}

static bool restores_as(int version, const char *text)
{
    char path[VELOC_MAX_NAME];
    bool fine;

    if (VELOC_Restart_begin("again", version) != VELOC_SUCCESS) {
        mtap_note("restart %d: %s", version, VELOC_Error());
        return false;
    }
    fine = VELOC_Route_file(apilab_at("prefix/again.%d", me), path) == VELOC_SUCCESS &&
           tap_file_is(path, text);
    return VELOC_Restart_end(1) == VELOC_SUCCESS && fine;
}

/* One name for all versions: on the prefix only the newest is left. */
static void same_names(void)
{
    apilab_case("names", 8, "FLUSH=1\nCACHE_SIZE=2\n");
    apilab_begin();
    for (int v = 1; v <= 3; v++)
        save_as(v, v == 1 ? "one" : v == 2 ? "two" : "three");
    apilab_wait();
    mok(VELOC_Restart_test("again", 0) == 3 && VELOC_Restart_test("again", 3) == 2 &&
            restores_as(2, "two") && restores_as(3, "three"),
        "versions in files of the same names are apart in the cache");
    mok(VELOC_Restart_test("again", 2) == VELOC_FAILURE &&
            VELOC_Restart_begin("again", 1) == VELOC_FAILURE &&
            apilab_says("files of the same names"),
        "one that is on the prefix only is not offered, and it is said why");
    apilab_end(0);
    apilab_lose_all();
    mok(apilab_begin() && VELOC_Restart_test("again", 0) == 3 &&
            VELOC_Restart_test("again", 3) == VELOC_FAILURE && restores_as(3, "three"),
        "without the caches only the newest is offered");
    apilab_end(0);
}

static void same_version(void)
{
    apilab_case("same", 8, "FLUSH=1\nCACHE_SIZE=3\n");
    apilab_begin();
    mok(save_as(5, "first") && save_as(5, "second") && restores_as(5, "second"),
        "of a version that was written twice the newer one counts");
    apilab_end(0);
    mok(apilab_begin() && restores_as(5, "second"), "in the next launch, too");
    apilab_end(0);
    apilab_lose_all();
    mok(apilab_begin() && restores_as(5, "second"), "and from the prefix");
    apilab_end(0);
}

/* --- a checkpoint that is no good --- */

static void refused(void)
{
    apilab_case("refused", 8, "FLUSH=1\nCACHE_SIZE=2\n");
    apilab_begin();
    for (int v = 1; v <= 3; v++)
        apilab_save("r", v);
    VELOC_Restart_begin("r", 3);
    /* its files are there, and what is in them is not what the program wants */
    mok(VELOC_Restart_end(me != 6) == VELOC_FAILURE && apilab_says("not valid"),
        "one rank that could not read is told to all");
    mok(VELOC_Restart_test("r", 0) == 2 && apilab_restores("r", 2),
        "the next older one is offered, and can be read");
    apilab_end(0);
    mok(apilab_begin() && VELOC_Restart_test("r", 0) == 2, "by the next launch, too");
    VELOC_Restart_begin("r", 2);
    VELOC_Restart_end(0);
    mok(VELOC_Restart_test("r", 0) == 1 && apilab_restores("r", 1),
        "and so on, from the prefix where the cache has no more");
    mok(apilab_save("r", 3) == VELOC_SUCCESS && VELOC_Restart_test("r", 0) == 3 &&
            apilab_restores("r", 3),
        "a new one of that version is another one");
    apilab_end(0);
}

/* --- one that is damaged on the prefix --- */

static struct vel_entry entry_of(int64_t id)
{
    struct vel_entry entry = {0};

    if (indexlab_load(vel_fs_posix(), apilab_at("prefix/.veloc"), id, &entry, NULL) ==
        0)
        vel_entry_fini(&entry);
    return entry;
}

static int64_t current(void)
{
    return indexlab_current(vel_fs_posix(), apilab_at("prefix/.veloc"));
}

/* The caches are lost, and a file of that version says something else. */
static void damage(int version)
{
    apilab_lose_all();
    if (me == 0)
        tap_put_file(apilab_at("prefix/d.%d.3", version), "something else");
    MPI_Barrier(MPI_COMM_WORLD);
}

static void damaged(void)
{
    apilab_case("damaged", 8, "FLUSH=1\nLOG_FILE=$/log\n");
    apilab_begin();
    apilab_save("d", 1);
    apilab_save("d", 2);
    apilab_end(0);
    mok(current() == 2 && entry_of(2).fetched == 0,
        "the newest on the prefix is current");
    damage(2);
    mok(apilab_begin() && VELOC_Restart_test("d", 0) == 1 && apilab_restores("d", 1),
        "when it is damaged the next older one is fetched");
    mok(entry_of(2).fetched > 0 && entry_of(2).failed > 0 && entry_of(1).fetched > 0 &&
            entry_of(1).failed == 0 && current() == 1,
        "both are recorded, and what was fetched is current");
    mok(apilab_lines("log", "trying an older one") == 1 &&
            apilab_lines("log", "fetched dataset 1 (d 1) from the prefix instead") == 1,
        "and told");
    apilab_end(0);
    damage(1);
    mok(apilab_begin() && VELOC_Restart_test("d", 0) == VELOC_FAILURE &&
            entry_of(1).failed > 0 && current() == 0,
        "with none that is whole there is nothing to restart from, and none is "
        "current");
    mok(apilab_lines("log", "the program begins anew") == 1, "which is the last word");
    apilab_end(0);
    mok(apilab_begin() && apilab_lines("log", "trying an older one") == 2 &&
            apilab_save("d", 3) == VELOC_SUCCESS && apilab_restores("d", 3),
        "what has failed is not tried again");
    apilab_end(0);
}

/* --- other numbers of ranks --- */

/* What the program makes of it: files of all former ranks by their names. */
static bool reads_all(int version, int ranks, int by)
{
    char path[VELOC_MAX_NAME];
    bool fine = true;

    if (VELOC_Restart_begin("ranks", version) != VELOC_SUCCESS) {
        mtap_note("restart: %s", VELOC_Error());
        return false;
    }
    for (int r = me; fine && r < ranks; r += by) {
        fine = VELOC_Route_file(apilab_at("prefix/ranks.%d.%d", version, r), path) ==
               VELOC_SUCCESS;
        if (!fine)
            mtap_note("rank %d's file: %s", r, VELOC_Error());
        fine = fine && tap_file_is(path, apilab_text("ranks", version, r));
    }
    return VELOC_Restart_end(1) == VELOC_SUCCESS && fine;
}

/* A launch with that many ranks: `how` is done in it. */
static bool launch(int ranks, bool (*how)(int ranks, void *arg), void *arg)
{
    MPI_Comm some;
    bool fine = true;

    MPI_Comm_split(MPI_COMM_WORLD, me < ranks ? 0 : MPI_UNDEFINED, me, &some);
    if (me < ranks) {
        fine = apilab_begin_on(some) && how(ranks, arg);
        fine = apilab_end(0) && fine;
        MPI_Comm_free(&some);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return fine;
}

static bool write_it(int ranks, void *arg)
{
    (void)ranks;
    return apilab_save("ranks", *(int *)arg) == VELOC_SUCCESS;
}

struct read {
    int version, ranks;
};

static bool read_it(int ranks, void *arg)
{
    const struct read *read = arg;

    return VELOC_Restart_test("ranks", 0) == read->version &&
           reads_all(read->version, read->ranks, ranks);
}

static void other_ranks(int ranks, bool is_cached)
{
    struct read read = {1, 4};
    int two = 2;
    const char *from = is_cached ? "cache" : "prefix";

    /* two nodes, on which every launch has a rank */
    apilab_case(ranks == 3 ? "fewer" : "more", 2, is_cached ? "" : "FLUSH=1\n");
    mok(launch(4, write_it, &read.version), "four ranks write");
    if (!is_cached)
        apilab_lose_all();
    mok(launch(ranks, read_it, &read), "%d read it all from the %s", ranks, from);
    mok(launch(ranks, read_it, &read), "again");
    mok(launch(ranks, write_it, &two), "write the next");
    read = (struct read){2, ranks};
    mok(launch(4, read_it, &read), "and four read that");
}

static void after_a_loss(void)
{
    struct read read = {1, 4};

    apilab_case("parts", 2, "");
    launch(4, write_it, &read.version);
    apilab_lose(1);
    mok(launch(3, read_it, &read), "with a lost node another number of ranks reads it");
    mok(launch(4, read_it, &read), "and the number that wrote it after that");
}

/* --- numbers go on --- */

/* Ids are in the names of caches and records only. */
static void numbers(void)
{
    apilab_case("numbers", 8, "FLUSH=1\n");
    apilab_begin();
    apilab_save("n", 1);
    apilab_save("n", 2);
    apilab_end(0);
    apilab_lose_all();
    apilab_begin();
    apilab_save("n", 3);
    mok(apilab_files("cache", "*.h5vr") > 0 &&
            apilab_lines("prefix/.veloc/events", "\"id\":4") > 0,
        "ids go on above those of the last launch, though the caches are lost");
    VELOC_Delete("n", 3);
    apilab_again();
    apilab_save("n", 3);
    mok(apilab_lines("prefix/.veloc/events", "\"id\":5") > 0,
        "and a deleted one's is not used again");
    apilab_end(0);
}

/* Two of a set that bears the loss of one, of the newest of two. */
static void required(void)
{
    apilab_case("required", 8, "FLUSH=0\nCACHE_SIZE=2\nSET_SIZE=8\n");
    apilab_begin();
    apilab_save("r", 1);
    apilab_end(0);
    apilab_settings("FLUSH=0\nRESTART=REQUIRE\n");
    mok(apilab_begin() && VELOC_Restart_test("r", 0) == 1,
        "RESTART=REQUIRE goes on with the newest that there is");
    apilab_end(0);
    apilab_lose(2);
    apilab_lose(5);
    mok(!apilab_begin() && apilab_says("RESTART=REQUIRE: dataset 1 (r 1)"),
        "and not when that cannot be had: VELOC_Init fails, and says why");
    apilab_settings("FLUSH=0\n");
    mok(apilab_begin() && VELOC_Restart_test("r", 0) == VELOC_FAILURE,
        "without it the program begins anew");
    apilab_save("r", 2);
    apilab_end(0);
    apilab_settings("FLUSH=0\nRESTART=REQUIRE\n");
    mok(apilab_begin() && VELOC_Restart_test("r", 0) == 2,
        "which it does not wait for when a newer one is whole");
    apilab_end(0);
}

static void cached_of_others(void)
{
    other_ranks(3, true);
    other_ranks(6, true);
}

static void flushed_of_others(void)
{
    other_ranks(3, false);
    other_ranks(6, false);
}

static const struct apilab_test tests[] = {{twice, APILAB_ALL},
                                           {versions, APILAB_SYNC},
                                           {same_names, APILAB_ALL},
                                           {same_version, APILAB_SYNC},
                                           {refused, APILAB_SYNC},
                                           {damaged, APILAB_ALL},
                                           {cached_of_others, APILAB_ALL},
                                           {flushed_of_others, APILAB_ALL},
                                           {after_a_loss, APILAB_ALL},
                                           {numbers, APILAB_SYNC},
                                           {required, APILAB_SYNC}};

int main(int argc, char **argv)
{
    mtap_init(&argc, &argv);
    me = mtap_rank();
    apilab_run(tests, sizeof tests / sizeof *tests);
    return mtap_done();
}
