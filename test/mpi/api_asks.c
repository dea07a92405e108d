/* SPDX-License-Identifier: BSD-3-Clause */
/* VELOC_Need_checkpoint and VELOC_Exit_test: by the clock, by the end of the
 * allocation, and by what an operator asks for. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "meta/halt.h"
#include "tap/apilab.h"
#include "tap/files.h"
#include "tap/mtap.h"
#include "veloc.h"

static int me;

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

/* What an operator writes is seen within a second or so. */
static bool comes_to(int wanted)
{
    const time_t end = time(NULL) + 60;
    int over = 0;

    while (!over) {
        over = should_exit() == wanted || time(NULL) > end;
        MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    return should_exit() == wanted;
}

/* Settings for an allocation that ends in so many seconds. */
static void set_end(const char *settings, long long seconds)
{
    char text[512];

    snprintf(text, sizeof text, "%sEND_TIME=%lld\n", settings,
             (long long)time(NULL) + seconds);
    apilab_settings(text);
}

/* --- the clock --- */

static void by_seconds(void)
{
    const time_t end = time(NULL) + 60;
    int asks = 0, over = 0;

    apilab_case("seconds", 4, "CHECKPOINT_SECONDS=1\n");
    apilab_begin();
    while (!over) {
        over = need() != 0 || time(NULL) > end;
        asks++;
        MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    mok(need() == 1 && asks > 0,
        "after CHECKPOINT_SECONDS one is due, until it is made");
    apilab_save("s", 1);
    mok(need() == 0, "then not");
    apilab_end(0);
}

/* The first shows what a checkpoint costs; with a share of all time nothing is waited
 * for, with none for ever. */
static void by_overhead(void)
{
    apilab_case("overhead", 4, "CHECKPOINT_OVERHEAD=100\nCHECKPOINT_INTERVAL=1000\n");
    apilab_begin();
    mok(need() == 1, "CHECKPOINT_OVERHEAD: the first is due at once");
    apilab_save("o", 1);
    const time_t end = time(NULL) + 60;
    int over = 0;
    while (!over) { /* compute as long as one has cost */
        over = need() != 0 || time(NULL) > end;
        MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    mok(need() == 1, "the next when computing has taken its share");
    apilab_end(0);
    apilab_settings("CHECKPOINT_OVERHEAD=0.000001\n");
    apilab_begin();
    apilab_save("o", 2);
    mok(need() == 0, "which for a tiny share is late");
    apilab_end(0);
}

/* Failures that nobody expects, and then somebody does. */
static void by_prediction(void)
{
    const time_t end = time(NULL) + 60;
    int over = 0;

    apilab_case("prediction", 4,
                "CHECKPOINT_OPTIMAL=YOUNG\nMTBF_FILE=$/predicted\n"
                "GROUPS=WORLD MTBF=87600h\n");
    apilab_begin();
    apilab_save("p", 1); /* shows what one costs */
    mok(need() == 0, "where failures are rare checkpoints are");
    if (me == 0)
        tap_put_file(apilab_at("predicted"), "GROUPS=NODE MTBF=1s\n");
    while (!over) {
        over = need() != 0 || time(NULL) > end;
        MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    mok(need() == 1, "when somebody predicts failures one is due, while the job runs");
    apilab_save("p", 2);
    if (me == 0)
        remove(apilab_at("predicted"));
    over = 0;
    while (!over) {
        over = need() == 0 || time(NULL) > end;
        MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    mok(need() == 0, "and when he takes it back none is");
    apilab_end(0);
}

/* --- the end of the allocation --- */

static void by_end(void)
{
    apilab_case("end", 4, "");
    set_end("CHECKPOINT_INTERVAL=1000\nHALT_SECONDS=300\n", 100);
    apilab_begin();
    mok(should_exit() == 1 && need() == 1,
        "HALT_SECONDS before the end: one more checkpoint, and the end");
    apilab_end(0);
    set_end("CHECKPOINT_INTERVAL=1000\nHALT_SECONDS=300\n", 100000);
    apilab_begin();
    mok(should_exit() == 0 && need() == 0, "not long before");
    apilab_end(0);
    set_end("CHECKPOINT_INTERVAL=1000\n", 100);
    apilab_begin();
    mok(should_exit() == 0 && need() == 0, "nor without HALT_SECONDS");
    apilab_end(0);
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)time(NULL) + 100);
    setenv("SLURM_JOB_END_TIME", text, 1);
    apilab_settings("HALT_SECONDS=300\n");
    apilab_begin();
    mok(should_exit() == 1, "the scheduler knows the end, too");
    apilab_end(0);
    unsetenv("SLURM_JOB_END_TIME");
}

/* --- the operator --- */

struct asked {
    int64_t checkpoints, before, after, seconds;
    const char *reason;
};

/* What h5veloc-halt writes; rank 0 alone. */
static void ask(const struct asked *a)
{
    struct vel_halt halt;
    struct vel_err err = {0};

    MPI_Barrier(MPI_COMM_WORLD);
    vel_halt_init(&halt);
    if (me == 0) {
        vel_halt_set_checkpoints(&halt, a->checkpoints, &err);
        vel_halt_set_before(&halt, a->before, &err);
        vel_halt_set_after(&halt, a->after, &err);
        vel_halt_set_seconds(&halt, a->seconds, &err);
        vel_halt_set_reason(&halt, a->reason, &err);
        vel_halt_save(vel_fs_posix(), apilab_at("prefix/.veloc"), &halt, &err);
        if (err.text[0])
            mtap_note("%s", err.text);
    }
    vel_halt_fini(&halt);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The next launch looks when it begins: nobody has to wait for a second look. */
static bool finds(int wanted)
{
    return apilab_again() && should_exit() == wanted;
}

static void by_operator(void)
{
    const int64_t now = time(NULL);

    apilab_case("operator", 4, "");
    set_end("CHECKPOINT_INTERVAL=1000\nHALT_SECONDS=10\n", 100000);
    apilab_begin();
    mok(should_exit() == 0, "nobody has asked");
    ask(&(struct asked){-1, 0, 0, -1, "maintenance"});
    mok(comes_to(1) && need() == 1, "a running program hears a reason to stop");
    ask(&(struct asked){-1, 0, 0, -1, NULL});
    mok(comes_to(0) && need() == 0, "and that it was taken back");
    ask(&(struct asked){-1, now + 5, 0, -1, NULL});
    mok(finds(1), "to stop before a time that is near");
    ask(&(struct asked){-1, now + 50000, 0, -1, NULL});
    mok(finds(0), "not yet when it is far");
    ask(&(struct asked){-1, 0, now - 5, -1, NULL});
    mok(finds(1), "to stop after a time that is past");
    ask(&(struct asked){-1, 0, now + 50000, -1, NULL});
    mok(finds(0), "not yet when it has not come");
    ask(&(struct asked){-1, 0, 0, 200000, NULL});
    mok(finds(1), "to take more seconds for the end than HALT_SECONDS");
    ask(&(struct asked){1, 0, 0, -1, NULL});
    mok(finds(0), "to stop after one more checkpoint: not yet");
    VELOC_Start_checkpoint();
    VELOC_Complete_checkpoint(0);
    mok(should_exit() == 0, "one that fails does not count");
    apilab_save("h", 1);
    mok(should_exit() == 1 && need() == 1, "one that is complete does");
    apilab_end(1);
    mok(apilab_begin() && should_exit() == 1, "so it is for the next launch");
    ask(&(struct asked){-1, 0, 0, -1, NULL});
    apilab_end(1);
    mok(apilab_begin() && should_exit() == 0,
        "and that a program has finalized stops nobody who is launched");
    apilab_end(0);
}

int main(int argc, char **argv)
{
    mtap_init(&argc, &argv);
    me = mtap_rank();
    by_seconds();
    by_overhead();
    by_prediction();
    by_end();
    by_operator();
    return mtap_done();
}
