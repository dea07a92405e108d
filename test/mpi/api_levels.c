/* SPDX-License-Identifier: BSD-3-Clause */
/* Levels: every storage with every scheme, which level a checkpoint is of, how many a
 * store keeps, and what becomes of those that it has no room for. Four ranks, each on a
 * node of its own. */
#include "config.h"

#include <glob.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sys/host.h"
#include "tap/apilab.h"
#include "tap/files.h"
#include "tap/mtap.h"
#include "veloc.h"

static int me;
static char settings[4096]; /* of the case */

/* Append settings; the names of nodes are not known before. */
static void add(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void add(const char *fmt, ...)
{
    size_t len = strlen(settings);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(settings + len, sizeof settings - len, fmt, ap);
    va_end(ap);
}

/* Groups of two nodes each: a switch is 0 and 1, or 2 and 3. */
static void add_groups(const char *name)
{
    struct vel_host host;

    if (vel_host_init(&host, NULL) < 0)
        return;
    for (int node = 0; node < 4; node++)
        add("GROUPS=%s.v%d %s=g%d\n", host.node, node, name, node / 2);
    vel_host_fini(&host);
}

/* --- every storage with every scheme --- */

static const char *const storages[] = {"RAMDISK", "XPOINT", "SSD", "BURSTBUFFER",
                                       "PFS"};
static const char *const schemes[] = {"SINGLE", "PARTNER", "XOR", "RS"};

/* A burst buffer is shared by the nodes of a rack, and protected against the loss of
 * one; the file system is everyone's. */
static void combine(const char *storage, const char *scheme)
{
    char name[32];
    bool is_pfs = strcmp(storage, "PFS") == 0;
    bool is_shared = strcmp(storage, "BURSTBUFFER") == 0;

    settings[0] = '\0';
    add("FLUSH=0\nSTORE=$/store TYPE=%s GROUP=%s\n", storage,
        is_pfs      ? "WORLD"
        : is_shared ? "RACK"
                    : "NODE");
    add("CKPT=0 STORE=$/store TYPE=%s GROUP=%s SET_SIZE=%d%s\n", scheme,
        is_shared ? "RACK" : "NODE", is_shared ? 2 : 4,
        is_shared && strcmp(scheme, "RS") == 0 ? " SET_FAILURES=1" : "");
    if (is_shared)
        add_groups("RACK");
    snprintf(name, sizeof name, "%s.%s", storage, scheme);
    apilab_case(name, 4, settings);
}

/* What one of the racks has in the store that it shares. */
static void lose_rack(void)
{
    char name[256] = "";
    glob_t found;

    if (glob(apilab_at("store/group.*"), 0, NULL, &found) == 0) {
        snprintf(name, sizeof name, "%s", strrchr(found.gl_pathv[0], '/') + 1);
        if (found.gl_pathc != 2)
            mtap_note("there are not two racks");
        globfree(&found);
    }
    apilab_lose_in("store", name);
}

/* Saved, and found by the next launch, before which as much is lost as the scheme
 * bears: RS half of its set. */
static bool works(const char *storage, const char *scheme)
{
    if (!apilab_begin() || apilab_save("c", 1) != VELOC_SUCCESS || !apilab_end(0))
        return false;
    if (strcmp(scheme, "SINGLE") == 0)
        ; /* bears nothing */
    else if (strcmp(storage, "BURSTBUFFER") == 0)
        lose_rack();
    else
        apilab_lose_in("store", "*.v1");
    if (strcmp(scheme, "RS") == 0 && strcmp(storage, "BURSTBUFFER") != 0)
        apilab_lose_in("store", "*.v2");
    return apilab_begin() && apilab_restores("c", 1) && apilab_end(0);
}

static bool is_refused(const char *scheme)
{
    int status = 7;

    return VELOC_Init(MPI_COMM_WORLD, apilab_at("veloc.conf")) == VELOC_FAILURE &&
           apilab_says(scheme) && apilab_says("/store") &&
           apilab_says("only SINGLE makes sense there") &&
           VELOC_Check_Configuration(&status) == VELOC_SUCCESS &&
           status == VELOC_INCORRECT_COMB_ENC_AND_STORAGE;
}

static void combinations(void)
{
    for (int t = 0; t < 5; t++)
        for (int s = 0; s < 4; s++) {
            combine(storages[t], schemes[s]);
            if (t < 4 || s == 0)
                mok(works(storages[t], schemes[s]), "%s with %s works", storages[t],
                    schemes[s]);
            else
                mok(is_refused(schemes[s]), "%s with %s is refused, and it is said why",
                    storages[t], schemes[s]);
        }
}

/* --- which level --- */

/* The number of the level that dataset `id` is of on this rank's node; -1: none. */
static int level_of(int id)
{
    glob_t found;
    const char *at;
    int level = -1;

    MPI_Barrier(MPI_COMM_WORLD);
    if (glob(apilab_at("[st]*/*/*/*/index.*/dataset.%d/rank.%d", id, me), 0, NULL,
             &found) == 0) {
        at = strstr(found.gl_pathv[0], "/index.");
        if (found.gl_pathc != 1 || !at || sscanf(at, "/index.%d/", &level) != 1)
            level = -2;
        globfree(&found);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return level;
}

static void three_levels(void)
{
    static const int chosen[] = {0, 0, 0, 1, 0, 0, 0, 2};

    settings[0] = '\0';
    add("FLUSH=0\nSTORE=$/tmp COUNT=8\nSTORE=$/ssd COUNT=8\n");
    add("CKPT=0 INTERVAL=1 GROUP=NODE STORE=$/tmp TYPE=XOR SET_SIZE=16\n");
    add("CKPT=1 INTERVAL=4 GROUP=NODE STORE=$/ssd TYPE=XOR SET_SIZE=8\n");
    add("CKPT=2 INTERVAL=8 GROUP=SWITCH STORE=$/ssd TYPE=PARTNER\n");
    add_groups("SWITCH");
    apilab_case("three", 4, settings);
    apilab_begin();
    for (int v = 1; v <= 3; v++)
        apilab_save("l", v);
    apilab_end(0);
    apilab_lose_in("tmp", "*.v3");
    mok(apilab_begin() && VELOC_Restart_test("l", 0) == 3 && apilab_restores("l", 3),
        "a node is lost: checkpoint 3 comes from level 0");
    apilab_save("l", 4);
    apilab_end(0);
    apilab_lose_in("tmp", "*");
    apilab_lose_in("ssd", "*.v0");
    mok(apilab_begin() && VELOC_Restart_test("l", 0) == 4 && apilab_restores("l", 4),
        "a storage of all nodes and a node are lost: 4 comes from level 1");
    for (int v = 5; v <= 8; v++)
        apilab_save("l", v);
    for (int v = 4; v <= 8; v++)
        mis_int(level_of(v), chosen[v - 1], "checkpoint %d is of level %d", v,
                chosen[v - 1]);
    mok(VELOC_Restart_test("l", 8) == 7 && apilab_restores("l", 7),
        "all of them can be restored");
    apilab_end(0);
    for (int node = 2; node <= 3; node++) {
        apilab_lose_in("tmp", node == 2 ? "*.v2" : "*.v3");
        apilab_lose_in("ssd", node == 2 ? "*.v2" : "*.v3");
    }
    mok(apilab_begin() && VELOC_Restart_test("l", 0) == 8 && apilab_restores("l", 8),
        "a switch is lost: 8 comes from level 2");
    mok(VELOC_Restart_test("l", 8) == VELOC_FAILURE,
        "which the other levels do not bear");
    apilab_end(0);
}

/* From the start: no checkpoint is forgotten in the count of them. */
static void from_the_first(void)
{
    static const int chosen[] = {0, 0, 0, 1, 0, 0, 0, 2};
    bool fine = true;

    apilab_case("first", 4,
                "FLUSH=0\nSTORE=$/tmp COUNT=8\nSTORE=$/ssd COUNT=8\n"
                "CKPT=0 INTERVAL=1 STORE=$/tmp\nCKPT=1 INTERVAL=4 STORE=$/ssd\n"
                "CKPT=2 INTERVAL=8 STORE=$/ssd TYPE=PARTNER\n");
    apilab_begin();
    for (int v = 1; v <= 8; v++) {
        fine = apilab_save("l", v) == VELOC_SUCCESS && fine;
        if (v == 5) /* the count goes on in the next launch */
            fine = apilab_again() && fine;
    }
    for (int v = 1; v <= 8; v++)
        fine = level_of(v <= 5 ? v : v + 2) == chosen[v - 1] && /* 6, 7 are not used */
               apilab_restores("l", v) && fine;
    mok(fine, "the first eight are of the levels 0, 0, 0, 1, 0, 0, 0, 2");
    apilab_end(0);
}

static void by_seconds(void)
{
    time_t end = time(NULL) + 60;
    int id = 3, over = 0;

    apilab_case("seconds", 4,
                "FLUSH=0\nSTORE=$/tmp COUNT=1\nSTORE=$/ssd COUNT=1\n"
                "CKPT=0 STORE=$/tmp\nCKPT=1 INTERVAL=1s STORE=$/ssd\n"
                "CKPT=2 INTERVAL=9000s STORE=$/ssd TYPE=PARTNER\n");
    apilab_begin();
    for (int v = 1; v <= 3; v++)
        apilab_save("s", v);
    mok(level_of(1) == -1 && level_of(2) == 1 && level_of(3) == 0,
        "levels by time come first, the longest before the shorter");
    /* their time comes again, however fast this machine is */
    while (!over) {
        apilab_save("s", ++id);
        over = level_of(id) != 0 || time(NULL) > end;
        MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    mok(level_of(id) == 1, "and again when their seconds have passed, not before");
    apilab_end(0);
}

/* --- how many --- */

static void counts(void)
{
    bool fine = true;

    apilab_case("counts", 4,
                "FLUSH=0\nSTORE=$/tmp COUNT=2\nSTORE=$/ssd COUNT=1\n"
                "CKPT=0 STORE=$/tmp\nCKPT=1 INTERVAL=3 STORE=$/ssd\n");
    apilab_begin();
    for (int v = 1; v <= 8; v++)
        apilab_save("n", v);
    apilab_wait(); /* an older one goes when a newer one is encoded */
    for (int v = 1; v <= 8; v++)
        fine = (level_of(v) >= 0) == (v >= 6) && fine;
    mok(fine, "each store keeps as many as its COUNT, the newest");
    for (int v = 6; v <= 8; v++)
        fine = apilab_restores("n", v) && fine;
    mok(fine && VELOC_Restart_test("n", 6) == VELOC_FAILURE, "and no others are there");
    apilab_end(0);
    apilab_settings("FLUSH=0\nSTORE=$/tmp COUNT=0\nSTORE=$/ssd COUNT=0\n"
                    "CKPT=0 STORE=$/tmp\nCKPT=1 INTERVAL=3 STORE=$/ssd\n");
    apilab_begin();
    apilab_save("n", 9);
    mok(apilab_restores("n", 9), "with COUNT=0 the newest stays all the same");
    apilab_end(0);
}

/* SCR has a line for every store; a CKPT line of the user's names one that the system's
 * file does not know. */
static void without_a_line(void)
{
    bool fine = true;

    apilab_case("lineless", 4,
                "FLUSH=0\nLOG_FILE=$/log\nCACHE_SIZE=2\nSTORE=$/ssd COUNT=1\n"
                "CKPT=0 STORE=$/sdd\nCKPT=1 INTERVAL=3 STORE=$/ssd\n");
    mok(apilab_begin(), "a CKPT line may name a store that has no line");
    for (int v = 1; v <= 4; v++)
        apilab_save("n", v);
    for (int v = 1; v <= 4; v++)
        fine = level_of(v) == (v == 1 ? -1 : v == 3) && fine;
    mok(fine && apilab_restores("n", 4) && apilab_restores("n", 3),
        "it keeps CACHE_SIZE checkpoints");
    mok(apilab_lines("log", "no line describes STORE=") == 1 &&
            apilab_lines("log", "did you mean ") == 1,
        "one warning tells it where it looks like a slip");
    apilab_end(0);
}

/* --- room --- */

/* Whole settings for stores of which the first has room for one dataset, not for two:
 * a rank's file has about 15 bytes, and PARTNER doubles them. */
static void small(const char *name, const char *others)
{
    settings[0] = '\0';
    add("FLUSH=0\nLOG_FILE=$/log\nSTORE=$/small COUNT=3 BYTES=50\n%s"
        "CKPT=0 STORE=$/small TYPE=PARTNER\n",
        others);
    apilab_case(name, 4, settings);
}

static void spills(void)
{
    bool fine = true;

    small("spill", "STORE=$/tmp COUNT=9\nCKPT=1 INTERVAL=1000 STORE=$/tmp\n");
    apilab_begin();
    for (int v = 1; v <= 4; v++)
        fine = apilab_save("r", v) == VELOC_SUCCESS && apilab_restores("r", v) && fine;
    mok(fine && level_of(1) == 0 && level_of(2) == 1 && level_of(4) == 1,
        "what a store has no room for goes to the next one");
    mok(apilab_lines("log", "has no room for another dataset") == 1 &&
            apilab_lines("log", "they go to") == 1,
        "which is told once");
    apilab_end(0);
    mok(apilab_begin() && apilab_restores("r", 4) && apilab_restores("r", 1),
        "the next launch finds all of them");
    apilab_end(0);

    small("straight", "");
    apilab_begin();
    for (int v = 1; v <= 3; v++)
        fine = apilab_save("r", v) == VELOC_SUCCESS && apilab_restores("r", v) && fine;
    mok(fine && level_of(1) == 0 && level_of(2) == -1 &&
            apilab_files("prefix", "r.[23].*") == 8 &&
            apilab_lines("log", "straight to the prefix") == 1,
        "without another store straight to the prefix, which is told once");
    VELOC_Cleanup("r");
    mok(apilab_save("r", 4) == VELOC_SUCCESS && level_of(4) == 0,
        "and when it has room again it is used again");
    apilab_end(0);
}

/* --- the control directory, which is no level's --- */

static void control_of_others(void)
{
    apilab_case("control", 4,
                "MODE=ASYNC\nCOPY_TYPE=XOR\nSET_SIZE=4\nCNTL_BASE=$/cntl\n"
                "STORE=$/cntl MKDIR=0\nSTORE=$/cache\nLOG_FILE=$/log\n");
    mok(!apilab_begin() && apilab_says("CNTL_BASE: ") &&
            apilab_says("cntl is not there, and is not made because of MKDIR=0: make "
                        "or mount it before the program starts") &&
            access(apilab_at("cntl"), F_OK) < 0,
        "a CNTL_BASE that others have to make is not made, and Init says so");
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0)
        tap_fresh_dir(apilab_at("cntl"));
    MPI_Barrier(MPI_COMM_WORLD);
    mok(apilab_begin() && apilab_save("c", 1) == VELOC_SUCCESS &&
            apilab_restores("c", 1) && apilab_end(0),
        "one that is there is used");
}

static const struct apilab_test tests[] = {
    {combinations, APILAB_ALL},    {three_levels, APILAB_ALL},
    {from_the_first, APILAB_SYNC}, {by_seconds, APILAB_SYNC},
    {counts, APILAB_ALL},          {without_a_line, APILAB_SYNC},
    {spills, APILAB_ALL},          {control_of_others, APILAB_SYNC}};

int main(int argc, char **argv)
{
    mtap_init(&argc, &argv);
    me = mtap_rank();
    apilab_run(tests, sizeof tests / sizeof *tests);
    return mtap_done();
}
