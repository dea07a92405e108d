/* SPDX-License-Identifier: BSD-3-Clause */
/* What a program can call wrongly, and what it may ask: each mistake is VELOC_FAILURE
 * and a sentence on every rank, and nothing hangs. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "meta/halt.h"
#include "sys/fs.h"
#include "tap/apilab.h"
#include "tap/files.h"
#include "tap/mtap.h"
#include "veloc.h"

static int me;

/* The call failed, and its sentence has these words. */
#define refused(call, words) ((call) == VELOC_FAILURE && apilab_says(words))

/* --- without a session --- */

static bool all_refuse(const char *words)
{
    char path[VELOC_MAX_NAME];
    int x;

    return refused(VELOC_Finalize(1), words) &&
           refused(VELOC_Checkpoint_begin("a", 1), words) &&
           refused(VELOC_Checkpoint_mem(), words) &&
           refused(VELOC_Checkpoint_end(1), words) &&
           refused(VELOC_Checkpoint_wait(), words) &&
           refused(VELOC_Checkpoint_finished(), words) &&
           refused(VELOC_Checkpoint("a", 1), words) &&
           refused(VELOC_Start_checkpoint(), words) &&
           refused(VELOC_Complete_checkpoint(1), words) &&
           refused(VELOC_Start_output("a", 1, VELOC_USE_OUTPUT), words) &&
           refused(VELOC_Complete_output(1), words) &&
           refused(VELOC_Route_file("a", path), words) &&
           refused(VELOC_Restart_test("a", 0), words) &&
           refused(VELOC_Restart_begin("a", 1), words) &&
           refused(VELOC_Recover_mem(), words) &&
           refused(VELOC_Recover_size(1), words) &&
           refused(VELOC_Restart_end(1), words) &&
           refused(VELOC_Restart("a", 1), words) &&
           refused(VELOC_Cleanup("a"), words) &&
           refused(VELOC_Status("a", &x), words) &&
           refused(VELOC_Current("a", 1), words) &&
           refused(VELOC_Drop("a", 1), words) && refused(VELOC_Delete("a", 1), words) &&
           refused(VELOC_Exit_test(&x), words) &&
           refused(VELOC_Check_Configuration(&x), words) &&
           refused(VELOC_Check_Storage_Availability("/", &x), words) &&
           refused(VELOC_Check_Backend_Aliveness(&x), words) &&
           refused(VELOC_Check_Backup_Nodes(&x), words);
}

static void switched_off(void)
{
    int need = 7;

    apilab_case("off", 4, "ENABLE=0\n");
    mok(refused(VELOC_Init(MPI_COMM_WORLD, apilab_at("veloc.conf")), "ENABLE=0"),
        "VELOC_Init says that h5veloc is switched off");
    mok(all_refuse("VELOC_Init"), "every call says so from then on");
    mok(VELOC_Need_checkpoint(&need) == VELOC_FAILURE && need == 0,
        "and no checkpoint is needed");
    mok(apilab_files("prefix", "*") == 0 && apilab_files("cache", "*") == 0,
        "nothing was written");
}

static void lifetime(void)
{
    apilab_case("lifetime", 4, "");
    mok(all_refuse("call VELOC_Init first"), "before VELOC_Init");
    apilab_begin();
    mok(refused(VELOC_Init(MPI_COMM_WORLD, NULL), "call VELOC_Finalize") &&
            refused(VELOC_Init_single(0, NULL), "call VELOC_Finalize"),
        "VELOC_Init twice");
    mok(apilab_save("a", 1) == VELOC_SUCCESS, "the session is as it was");
    apilab_end(0);
    mok(all_refuse("call VELOC_Init first"), "after VELOC_Finalize");
    mok(refused(VELOC_Init(MPI_COMM_NULL, NULL), "MPI_COMM_NULL"),
        "VELOC_Init of no communicator");
    mok(refused(VELOC_Init(MPI_COMM_WORLD, apilab_at("absent.conf")), "absent.conf"),
        "VELOC_Init with settings that are not there");
    apilab_settings("CACHE_SIZE=many\n");
    mok(refused(VELOC_Init(MPI_COMM_WORLD, apilab_at("veloc.conf")), "CACHE_SIZE"),
        "VELOC_Init with settings that cannot be");
    apilab_settings("");
    mok(apilab_begin() && apilab_restores("a", 1) && apilab_end(0),
        "and after all these a good one works");
}

/* --- in the wrong order --- */

static void order(void)
{
    apilab_case("order", 4, "");
    apilab_begin();
    mok(refused(VELOC_Checkpoint_end(1), "call VELOC_Checkpoint_begin first") &&
            refused(VELOC_Complete_output(1), "call VELOC_Checkpoint_begin first"),
        "end without begin");
    mok(refused(VELOC_Checkpoint_mem(), "call VELOC_Checkpoint_begin first"),
        "memory without begin");
    mok(refused(VELOC_Restart_end(1), "call VELOC_Restart_begin first") &&
            refused(VELOC_Recover_mem(), "call VELOC_Restart_begin first") &&
            refused(VELOC_Recover_size(0), "call VELOC_Restart_begin first"),
        "the parts of a restart without its begin");
    mok(refused(VELOC_Restart_begin("a", 1), "'a' 1") &&
            refused(VELOC_Restart("a", 1), "'a' 1"),
        "restart of what was never saved");
    VELOC_Checkpoint_begin("a", 1);
    mok(refused(VELOC_Checkpoint_begin("a", 2), "under way") &&
            refused(VELOC_Start_checkpoint(), "under way") &&
            refused(VELOC_Start_output("o", 1, VELOC_USE_OUTPUT), "under way"),
        "begin inside of a checkpoint");
    mok(refused(VELOC_Restart_begin("a", 1), "under way") &&
            refused(VELOC_Restart_end(1), "under way") &&
            refused(VELOC_Recover_mem(), "Restart_begin"),
        "restart inside of a checkpoint");
    mok(refused(VELOC_Cleanup("a"), "under way") &&
            refused(VELOC_Current("a", 1), "under way"),
        "removal inside of a checkpoint");
    mok(VELOC_Checkpoint_end(1) == VELOC_SUCCESS, "which can be ended all the same");
    VELOC_Restart_begin("a", 1);
    mok(refused(VELOC_Restart_begin("a", 1), "under way") &&
            refused(VELOC_Checkpoint_begin("a", 2), "under way") &&
            refused(VELOC_Checkpoint_end(1), "a restart is under way") &&
            refused(VELOC_Checkpoint_mem(), "Checkpoint_begin") &&
            refused(VELOC_Cleanup("a"), "under way") &&
            refused(VELOC_Delete("a", 1), "under way"),
        "anything else inside of a restart");
    mok(VELOC_Restart_end(1) == VELOC_SUCCESS && VELOC_Restart_test("a", 0) == 1,
        "which can be ended, too");
    apilab_end(0);
}

/* One rank alone goes wrong; the others must hear of it. */
static void one_rank(void)
{
    apilab_case("one", 4, "");
    apilab_begin();
    mok(refused(VELOC_Checkpoint_begin(me == 2 ? "a/b" : "a", 1), "not all ranks"),
        "a name that one rank alone has wrong is told on all");
    mok(refused(VELOC_Checkpoint_begin("a", me == 1 ? -1 : 1), "below 0"),
        "a version, too");
    mok(refused(VELOC_Checkpoint_begin(me == 3 ? NULL : "a", 1), "needs a name"),
        "and a name that is missing");
    mok(apilab_save("a", 1) == VELOC_SUCCESS, "no rank is left behind");
    mok(refused(VELOC_Restart_begin(me == 3 ? NULL : "a", 1), "needs a name") &&
            refused(VELOC_Restart_begin(me == 0 ? "b" : "a", 1), "not all ranks"),
        "the same in a restart");
    mok(refused(VELOC_Checkpoint_begin("a", me == 0 ? 5 : 6), "not all ranks") &&
            refused(VELOC_Checkpoint_begin(me == 0 ? "b" : "c", 5), "not all ranks"),
        "ranks that do not mean the same checkpoint are told");
    mok(apilab_restores("a", 1), "and no rank is left behind");
    apilab_end(0);
}

/* --- arguments --- */

static void arguments(void)
{
    char longest[VELOC_MAX_NAME];
    int x;

    memset(longest, 'n', sizeof longest);
    longest[300] = '\0';
    apilab_case("arguments", 4, "");
    apilab_begin();
    mok(refused(VELOC_Checkpoint_begin("", 1), "name") &&
            refused(VELOC_Checkpoint_begin("a/b", 1), "a/b") &&
            refused(VELOC_Checkpoint_begin("..", 1), "dot") &&
            refused(VELOC_Checkpoint_begin("a\nb", 1), "name") &&
            refused(VELOC_Checkpoint_begin(longest, 1), "bytes") &&
            refused(VELOC_Start_output("a/b", 1, VELOC_USE_OUTPUT), "a/b"),
        "a name is 1 to a few hundred bytes without slash");
    mok(refused(VELOC_Checkpoint_begin("a", -1), "below 0") &&
            refused(VELOC_Restart_test("a", -1), "version") &&
            refused(VELOC_Restart_begin("a", -1), "version"),
        "a version is not below 0");
    mok(refused(VELOC_Checkpoint_begin(NULL, 1), "name") &&
            refused(VELOC_Checkpoint(NULL, 1), "name") &&
            refused(VELOC_Restart_test(NULL, 0), "name") &&
            refused(VELOC_Restart_begin(NULL, 0), "name") &&
            refused(VELOC_Restart(NULL, 0), "name") &&
            refused(VELOC_Cleanup(NULL), "name") &&
            refused(VELOC_Current(NULL, 0), "name") &&
            refused(VELOC_Drop(NULL, 0), "name") &&
            refused(VELOC_Start_output(NULL, 0, VELOC_USE_OUTPUT), "name"),
        "a name is not NULL");
    mok(refused(VELOC_Need_checkpoint(NULL), "answer") &&
            refused(VELOC_Exit_test(NULL), "answer") &&
            refused(VELOC_Status("a", NULL), "answer") &&
            refused(VELOC_Check_Configuration(NULL), "answer") &&
            refused(VELOC_Check_Storage_Availability("/", NULL), "answer") &&
            VELOC_Check_Storage_Availability(NULL, &x) == VELOC_SUCCESS &&
            x == VELOC_NO_SUCH_DIRECTORY && refused(VELOC_Mem_type(4, NULL), "place") &&
            refused(VELOC_Get_version(NULL), "room"),
        "answers need a place");
    mok(refused(VELOC_Start_output("a", 1, 0), "use") &&
            refused(VELOC_Start_output("a", 1, 4), "use"),
        "a dataset is for something");
    mok(refused(VELOC_Current("a", 1), "'a' 1") && refused(VELOC_Drop("a", 1), "'a' 1"),
        "what is not there cannot be made current or dropped");
    longest[200] = '\0';
    mok(apilab_save("name with blanks, é", 0) == VELOC_SUCCESS &&
            apilab_restores("name with blanks, é", 0) &&
            VELOC_Checkpoint_begin(longest, 1) == VELOC_SUCCESS &&
            VELOC_Checkpoint_end(1) == VELOC_SUCCESS &&
            VELOC_Restart_test(longest, 0) == 1,
        "and what is allowed works");
    apilab_end(0);
}

/* --- questions --- */

static int need(void)
{
    int flag = 7;

    return VELOC_Need_checkpoint(&flag) == VELOC_SUCCESS ? flag : -1;
}

static int should_exit(void)
{
    int flag = 7;

    return VELOC_Exit_test(&flag) == VELOC_SUCCESS ? flag : -1;
}

static void needs(void)
{
    int n = 0;

    apilab_case("needs", 4, "");
    apilab_begin();
    mok(need() == 1 && need() == 1, "without a rule a checkpoint is always needed");
    apilab_end(0);
    apilab_settings("CHECKPOINT_INTERVAL=3\n");
    apilab_begin();
    for (int i = 1; i <= 9; i++)
        n += need() == (i % 3 == 0);
    mok(n == 9, "CHECKPOINT_INTERVAL=3: every third time");
    apilab_end(0);
    apilab_settings("CHECKPOINT_SECONDS=9000\n");
    apilab_begin();
    mok(need() == 0, "CHECKPOINT_SECONDS: not before they are over");
    apilab_end(0);
    apilab_settings("CHECKPOINT_OVERHEAD=0.0001\n");
    apilab_begin();
    int first = need();
    apilab_save("a", 1);
    mok(first == 1 && need() == 0,
        "CHECKPOINT_OVERHEAD: once to know the cost, and then not at once");
    apilab_end(0);
}

/* What h5veloc-halt writes, before a launch. */
static void ask_to_stop(int64_t checkpoints, int64_t after)
{
    struct vel_halt halt;

    vel_halt_init(&halt);
    if (me == 0) {
        vel_halt_set_checkpoints(&halt, checkpoints, NULL);
        vel_halt_set_after(&halt, after, NULL);
        vel_halt_save(vel_fs_posix(), apilab_at("prefix/.veloc"), &halt, NULL);
    }
    vel_halt_fini(&halt);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void exits(void)
{
    apilab_case("exits", 4, "CHECKPOINT_INTERVAL=1000\n");
    apilab_begin();
    mok(should_exit() == 0 && need() == 0, "nobody has asked to stop");
    apilab_end(0);
    ask_to_stop(-1, 1000);
    apilab_begin();
    mok(should_exit() == 1 && need() == 1,
        "asked to stop: one more checkpoint, and the end");
    apilab_end(0);
    ask_to_stop(2, 0);
    apilab_begin();
    mok(should_exit() == 0, "asked to stop after two checkpoints: not yet");
    apilab_save("a", 1);
    mok(should_exit() == 0, "not after one");
    apilab_save("a", 2);
    mok(should_exit() == 1, "but after two");
    apilab_end(0);
    mok(apilab_lines("prefix/.veloc/events", "\"halt\"") == 2,
        "which the history tells");
}

/* Settings that VELOC_Init refuses, and what VELOC_Check_Configuration says of them. */
static void refused_settings(int nodes, const char *settings, int code)
{
    int status = 7;

    apilab_case("settings", nodes, settings);
    mok(VELOC_Init(MPI_COMM_WORLD, apilab_at("veloc.conf")) == VELOC_FAILURE &&
            VELOC_Check_Configuration(&status) == VELOC_SUCCESS && status == code,
        "%.*s on %d nodes is refused by code %d", (int)strcspn(settings, "\n"),
        settings, nodes, code);
}

static void codes(void)
{
    int status = 7;

    refused_settings(4, "COPY_TYPE=XOR\nSTORE=$/cache TYPE=PFS\n",
                     VELOC_INCORRECT_COMB_ENC_AND_STORAGE);
    refused_settings(4, "COPY_TYPE=RS\nSET_SIZE=6\n", VELOC_INCORRECT_RS_GROUP_SIZE);
    refused_settings(3, "COPY_TYPE=RS\nSET_SIZE=4\n", VELOC_INCORRECT_RS_GROUP_SIZE);
    refused_settings(4, "COPY_TYPE=PARTNER\nGROUP=WORLD\n",
                     VELOC_INCORRECT_COMB_ENC_AND_GROUP);
    refused_settings(4, "COPY_TYPE=PARITY\n", VELOC_INCORRECT_OTHER);
    refused_settings(4, "COPY_TYPE=XOR\nCACHE_SICE=1\n", VELOC_INCORRECT_OTHER);
    mok(refused(VELOC_Check_Configuration(NULL), "answer"), "the code needs a place");
    apilab_case("settings", 4, "COPY_TYPE=RS\nSET_SIZE=4\n");
    apilab_begin();
    mok(VELOC_Check_Configuration(&status) == VELOC_SUCCESS && status == VELOC_VALID,
        "settings that are good open a session");
    apilab_end(0);
    mok(refused(VELOC_Check_Configuration(&status), "call VELOC_Init first"),
        "when it is over there is nothing to check");
}

static void checks(void)
{
    int status = 7;
    char path[VELOC_MAX_NAME];

    apilab_case("checks", 4, "");
    apilab_begin();
    mok(VELOC_Check_Configuration(&status) == VELOC_SUCCESS && status == VELOC_VALID,
        "a configuration that works is valid");
    mok(VELOC_Check_Storage_Availability(apilab_at("prefix"), &status) == 0 &&
            status == VELOC_VALID,
        "the prefix is available");
    snprintf(path, sizeof path, "%s", apilab_at(me == 1 ? "absent" : "prefix"));
    mok(VELOC_Check_Storage_Availability(path, &status) == 0 &&
            status == VELOC_NO_SUCH_DIRECTORY,
        "a directory that one rank has not is told to all");
    if (me == 0)
        tap_put_file(apilab_at("file"), "no directory");
    MPI_Barrier(MPI_COMM_WORLD);
    mok(VELOC_Check_Storage_Availability(apilab_at("file"), &status) == 0 &&
            status == VELOC_NO_SUCH_DIRECTORY,
        "a file is no directory");
    mok(VELOC_Check_Storage_Availability(me == 2 ? "/sys" : apilab_at("prefix"),
                                         &status) == 0 &&
            status == VELOC_NO_WRITE_PERMISSION,
        "where one rank must not write, all are told");
    VELOC_Mem_protect(9, path, (size_t)1 << 50, 1);
    mok(VELOC_Check_Storage_Availability(apilab_at("prefix"), &status) == 0 &&
            status == VELOC_NO_ENOUGH_SPACE,
        "nor is there room for more memory than fits, before any checkpoint");
    VELOC_Mem_unprotect(9);
    mok(VELOC_Check_Backend_Aliveness(&status) == VELOC_SUCCESS &&
            status == VELOC_VALID,
        "without listeners none is dead");
    mok(VELOC_Check_Backup_Nodes(&status) == VELOC_SUCCESS && status == VELOC_ALL_ALIVE,
        "and all nodes answer");
    mok(apilab_files("prefix", "*") == 0, "a check leaves nothing behind");
    apilab_end(0);
}

int main(int argc, char **argv)
{
    int before;

    before = VELOC_Init(MPI_COMM_WORLD, NULL);
    bool told = strstr(VELOC_Error(), "call MPI_Init before") != NULL;
    mtap_init(&argc, &argv);
    me = mtap_rank();
    mok(before == VELOC_FAILURE && told, "VELOC_Init before MPI_Init");
    switched_off();
    lifetime();
    order();
    one_rank();
    arguments();
    needs();
    exits();
    codes();
    checks();
    int bad = mtap_done();
    if (VELOC_Init(MPI_COMM_WORLD, NULL) == VELOC_SUCCESS ||
        !strstr(VELOC_Error(), "after MPI_Finalize"))
        bad = 1;
    return bad;
}
