/* SPDX-License-Identifier: BSD-3-Clause */
/* Three programs of one user make checkpoints in one prefix at the same time, behind
 * one agent, and end. Each finds its own newest afterwards, with every byte, and all
 * that was to be flushed is on the prefix. THREE_VERSIONS: how many each makes (20). */
#include "config.h"

#include <stdlib.h>
#include <unistd.h>

#include "tap/shiftlab.h"
#include "tap/tap.h"

enum { PROGRAMS = 3, VERSIONS = 20 };

static bool run_all(struct shiftlab *labs, int64_t first, int64_t last, int64_t least)
{
    pid_t jobs[PROGRAMS];
    bool right = true;

    for (int i = 0; i < PROGRAMS; i++) {
        shiftlab_order(&labs[i], "AGENT", first, last);
        jobs[i] = shiftlab_start(&labs[i], false);
    }
    for (int i = 0; i < PROGRAMS; i++) {
        int status = shiftlab_wait(&labs[i], jobs[i]);

        if (!shiftlab_went_well(&labs[i], status) || !shiftlab_found(&labs[i], least)) {
            note("program %d: %s", i, labs[i].why);
            right = false;
        }
    }
    return right;
}

int main(void)
{
    const char *text = getenv("THREE_VERSIONS");
    int64_t versions = text ? atoi(text) : VERSIONS, missing = 0;
    struct shiftlab labs[PROGRAMS];

    for (int i = 0; i < PROGRAMS; i++) {
        shiftlab_open(&labs[i], i);
        labs[i].flush = "10";
        labs[i].ranks = 2;
        labs[i].seed = 1;
    }
    setenv("H5V_TEST_JOB", "three", 1); /* three jobs at a time: they need no turn */
    shiftlab_fresh();
    shiftlab_start_agent(&labs[0]);
    ok(run_all(labs, 1, versions, 0),
       "three programs make %d checkpoints each in one prefix, behind one agent",
       (int)versions);
    ok(run_all(labs, versions + 1, versions + 1, versions),
       "each restarts from its own newest, bit for bit");
    ok(shiftlab_drain(&labs[0]), "the agent has nothing left to do");
    shiftlab_end_agent(&labs[0], SIGTERM);
    for (int i = 0; i < PROGRAMS; i++)
        for (int64_t v = 10; v <= versions; v += 10)
            missing += !shiftlab_is_whole(&labs[i], v, true);
    is_int(missing, 0, "each tenth of each is on the prefix, whole and right");
    ok(shiftlab_is_clean(&labs[0]), "and nothing temporary");
    return done_testing();
}
