/* SPDX-License-Identifier: BSD-3-Clause */
/* The file mode of veloc.h: what may be routed, what it is called on the prefix, and
 * what becomes of a checkpoint that fails. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap/apilab.h"
#include "tap/files.h"
#include "tap/mtap.h"
#include "veloc.h"

static int me;

/* Write a file by the name that the program has for it. */
static bool put(const char *name, const char *text)
{
    char path[VELOC_MAX_NAME];

    if (VELOC_Route_file(name, path) != VELOC_SUCCESS) {
        mtap_note("%s: %s", name, VELOC_Error());
        return false;
    }
    tap_put_file(path, text);
    return true;
}

static bool is_text(const char *name, const char *text)
{
    char path[VELOC_MAX_NAME];

    if (VELOC_Route_file(name, path) != VELOC_SUCCESS) {
        mtap_note("%s: %s", name, VELOC_Error());
        return false;
    }
    return tap_file_is(path, text);
}

/* A name of this rank alone. */
static const char *mine(const char *before)
{
    static char names[4][256];
    static unsigned next;
    char *name = names[next++ % 4];

    snprintf(name, sizeof names[0], "%s.%d", before, me);
    return name;
}

/* --- names --- */

static bool put_names(void)
{
    bool fine = put(mine("plain"), "plain");

    fine &= put(mine("./sub//deep/x/../in"), "above");
    fine &= put(mine("a/./b//c"), "tidied");
    fine &= put(apilab_at("elsewhere/out.%d", me), "outside");
    fine &= put(apilab_at("prefix/below.%d", me), "absolute");
    fine &= put(mine("@at"), "at");
    return fine;
}

static bool are_names(void)
{
    bool fine = is_text(mine("./plain"), "plain");

    fine &= is_text(mine("sub/deep/in"), "above");
    fine &= is_text(mine("a/b/c"), "tidied");
    fine &= is_text(apilab_at("elsewhere/./out.%d", me), "outside");
    fine &= is_text(mine("below"), "absolute");
    fine &= is_text(mine("@at"), "at");
    return fine;
}

static bool are_published(void)
{
    return tap_file_is(apilab_at("prefix/plain.%d", me), "plain") &&
           tap_file_is(apilab_at("prefix/sub/deep/in.%d", me), "above") &&
           tap_file_is(apilab_at("prefix/a/b/c.%d", me), "tidied") &&
           tap_file_is(apilab_at("elsewhere/out.%d", me), "outside") &&
           tap_file_is(apilab_at("prefix/below.%d", me), "absolute") &&
           tap_file_is(apilab_at("prefix/@at.%d", me), "at");
}

static void names(const char *home)
{
    char path[VELOC_MAX_NAME];

    apilab_case("names", 4, "");
    if (chdir(apilab_at("prefix")) < 0)
        mtap_note("cannot go to the prefix");
    apilab_begin();
    VELOC_Checkpoint_begin("names", 1);
    mok(put_names() && apilab_files("prefix", "*") == 0, "files are written elsewhere");
    mok(VELOC_Route_file(".", path) == VELOC_FAILURE &&
            VELOC_Route_file("", path) == VELOC_FAILURE && apilab_says("needs a name"),
        "what can be no file is refused");
    mok(VELOC_Checkpoint_end(1) == VELOC_SUCCESS, "any names make a checkpoint");
    apilab_end(0);
    apilab_lose(1);
    apilab_begin();
    mok(VELOC_Restart_begin("names", 1) == VELOC_SUCCESS && are_names() &&
            VELOC_Route_file(mine("never"), path) == VELOC_FAILURE &&
            apilab_says("never.") && VELOC_Restart_end(1) == VELOC_SUCCESS,
        "a restart finds them by any way to write their names");
    apilab_end(1);
    mok(are_published(), "a flush puts each where its name says");
    apilab_lose_all();
    mok(apilab_begin() && VELOC_Restart_begin("names", 1) == VELOC_SUCCESS &&
            are_names() && VELOC_Restart_end(1) == VELOC_SUCCESS,
        "and so does a fetch");
    apilab_end(0);
    if (chdir(home) < 0)
        mtap_note("cannot go home");
}

/* --- how many and how large --- */

static void amounts(void)
{
    char path[VELOC_MAX_NAME];
    bool fine = true;

    apilab_case("amounts", 4, "FLUSH=1\n");
    apilab_begin();
    VELOC_Checkpoint_begin("amounts", 7);
    for (int i = 0; i < 3 * me; i++) /* rank 0 has none */
        fine &= put(apilab_at("prefix/%d.%d", me, i), i % 2 ? "some text" : "");
    if (me == 2) /* twice is once */
        fine &= put(apilab_at("prefix/2.1"), "some text");
    mok(fine && VELOC_Checkpoint_end(1) == VELOC_SUCCESS,
        "many files, none and empty ones are one checkpoint");
    mok(apilab_files("prefix", "*.?") == 18, "all of them are flushed");
    apilab_end(0);
    for (int round = 0; round < 2; round++) {
        if (round == 0)
            apilab_lose(3);
        else
            apilab_lose_all();
        apilab_begin();
        fine = VELOC_Restart_begin("amounts", 7) == VELOC_SUCCESS;
        for (int i = 0; i < 3 * me; i++)
            fine &= is_text(apilab_at("prefix/%d.%d", me, i), i % 2 ? "some text" : "");
        mok(fine && VELOC_Restart_end(1) == VELOC_SUCCESS, "all of them come back %s",
            round == 0 ? "after the loss of a node" : "from the prefix");
        apilab_end(0);
    }
    apilab_begin();
    VELOC_Checkpoint_begin("nothing", 1);
    mok(VELOC_Checkpoint_end(1) == VELOC_SUCCESS &&
            VELOC_Restart_test("nothing", 0) == 1 &&
            VELOC_Restart_begin("nothing", 1) == VELOC_SUCCESS &&
            VELOC_Route_file("x", path) == VELOC_FAILURE &&
            VELOC_Restart_end(1) == VELOC_SUCCESS,
        "a checkpoint may have no file at all");
    apilab_end(1);
}

/* Modes and times belong to a file. */
static void metadata(void)
{
    char path[VELOC_MAX_NAME];
    struct stat st;

    apilab_case("metadata", 4, "FLUSH=1\n");
    apilab_begin();
    VELOC_Checkpoint_begin("mode", 1);
    VELOC_Route_file(apilab_at("prefix/mode.%d", me), path);
    tap_put_file(path, "text");
    chmod(path, 0640);
    VELOC_Checkpoint_end(1);
    apilab_end(0);
    mok(stat(apilab_at("prefix/mode.%d", me), &st) == 0 && (st.st_mode & 0777) == 0640,
        "a flushed file has its mode");
    apilab_lose(2);
    apilab_begin();
    VELOC_Restart_begin("mode", 1);
    VELOC_Route_file(apilab_at("prefix/mode.%d", me), path);
    mok(stat(path, &st) == 0 && (st.st_mode & 0777) == 0640,
        "and so has one that was rebuilt");
    VELOC_Restart_end(1);
    apilab_end(0);
}

/* --- what fails --- */

static void never_written(void)
{
    char path[VELOC_MAX_NAME];

    VELOC_Checkpoint_begin("fails", 2);
    put(apilab_at("prefix/fails.%d", me), "new");
    if (me == 2)
        VELOC_Route_file(apilab_at("prefix/absent"), path);
    mok(VELOC_Checkpoint_end(1) == VELOC_FAILURE && apilab_says("absent") &&
            apilab_says("routed, and never written"),
        "a file that was routed and never written fails the checkpoint on all ranks");
}

static void not_good(void)
{
    VELOC_Checkpoint_begin("fails", 3);
    put(apilab_at("prefix/fails.%d", me), "new");
    mok(VELOC_Checkpoint_end(me != 1) == VELOC_FAILURE &&
            apilab_says(me == 1 ? "not valid" : "rank 1"),
        "one rank that says no fails it on all");
}

static void failures(void)
{
    apilab_case("failures", 4, "FLUSH=1\n");
    apilab_begin();
    apilab_save("fails", 1);
    int before = apilab_files("cache", "*");
    never_written();
    not_good();
    mok(apilab_files("cache", "*") == before && apilab_files("prefix", "*") == 4,
        "nothing of it is left, in the caches or on the prefix");
    mok(VELOC_Restart_test("fails", 0) == 1 && apilab_restores("fails", 1),
        "the one before can be restored at once");
    apilab_end(0);
    apilab_lose(0);
    mok(apilab_begin() && VELOC_Restart_test("fails", 0) == 1 &&
            apilab_restores("fails", 1),
        "and by the next launch");
    mok(apilab_save("fails", 4) == VELOC_SUCCESS && apilab_restores("fails", 4),
        "which can go on");
    VELOC_Checkpoint_begin("fails", 5);
    put(apilab_at("prefix/fails.%d", me), "new");
    mok(apilab_end(1) && apilab_begin() && VELOC_Restart_test("fails", 0) == 4,
        "a checkpoint that is under way at the end is none");
    apilab_end(1);
}

/* --- routes without a checkpoint --- */

static void outside(void)
{
    char path[VELOC_MAX_NAME];

    apilab_case("outside", 4, "");
    apilab_begin();
    mok(VELOC_Route_file(apilab_at("prefix/out.1.%d", me), path) == VELOC_FAILURE &&
            apilab_says("neither in the cache nor on the prefix"),
        "without a checkpoint a file that is nowhere cannot be routed");
    apilab_save("out", 1);
    mok(is_text(apilab_at("prefix/out.1.%d", me), apilab_text("out", 1, me)) &&
            apilab_files("prefix", "*") == 0,
        "one that is cached is read from there");
    tap_put_file(apilab_at("prefix/input.%d", me), "input");
    mok(is_text(apilab_at("prefix/input.%d", me), "input"),
        "and any other where it is");
    mok(VELOC_Route_file(NULL, path) == VELOC_FAILURE &&
            VELOC_Route_file("a", NULL) == VELOC_FAILURE && apilab_says("without room"),
        "a route needs a name and room for the answer");
    VELOC_Restart_begin("out", 1);
    mok(is_text(apilab_at("prefix/any name.%d", me), apilab_text("out", 1, me)),
        "in a restart an only file is found under any name, as today's VELOC does");
    VELOC_Restart_end(1);
    apilab_end(0);
}

int main(int argc, char **argv)
{
    char *home;

    mtap_init(&argc, &argv);
    me = mtap_rank();
    home = getcwd(NULL, 0);
    names(home);
    amounts();
    metadata();
    failures();
    outside();
    free(home);
    return mtap_done();
}
