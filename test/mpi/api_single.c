/* SPDX-License-Identifier: BSD-3-Clause */
/* VELOC_Init_single in a program that never starts MPI: a solver like those that
 * today's VELOC comes with, by the calls that it has. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap/files.h"
#include "tap/tap.h"
#include "veloc.h"

enum { N = 1000, STEPS = 30, EVERY = 5 };

static double u[N];
static int step;

static void protect(void)
{
    VELOC_Mem_protect(0, &step, 1, sizeof step);
    VELOC_Mem_protect(1, u, N, sizeof *u);
}

static void start(void)
{
    step = 0;
    for (int i = 0; i < N; i++)
        u[i] = i == 0 ? 100 : 0;
}

/* Until `last`, or as a program that ends in the middle. */
static void compute(int last)
{
    while (step < last) {
        double before = u[0];

        for (int i = 1; i + 1 < N; i++) {
            double old = u[i];

            u[i] = (before + 2 * old + u[i + 1]) / 4;
            before = old;
        }
        step++;
        if (step % EVERY == 0 && VELOC_Checkpoint("heat", step) != VELOC_SUCCESS)
            note("%s", VELOC_Error());
    }
}

static bool begin(unsigned id)
{
    if (VELOC_Init_single(id, tap_path("veloc.cfg")) == VELOC_SUCCESS)
        return true;
    note("%s", VELOC_Error());
    return false;
}

static void restarts(const double *wanted)
{
    int version;

    ok(begin(7), "a process begins without MPI");
    version = VELOC_Restart_test("heat", 0);
    is_int(version, 20, "it finds the last checkpoint");
    memset(u, 0, sizeof u);
    step = 0;
    protect();
    ok(VELOC_Restart("heat", version) == VELOC_SUCCESS && step == 20, "and reads it");
    compute(STEPS);
    ok(memcmp(u, wanted, sizeof u) == 0, "the result is the same as without a break");
    ok(VELOC_Restart_test("heat", version) == 15 && VELOC_Restart("heat", 15) == 0 &&
           step == 15,
       "an older one can be read as well");
    ok(VELOC_Finalize(1) == VELOC_SUCCESS, "and it ends");
}

int main(void)
{
    static double wanted[N];
    char settings[2500];

    snprintf(settings, sizeof settings,
             "scratch = %s\npersistent = %s\nmode = sync\nmax_versions = 5\n",
             tap_path("scratch"), tap_path("persistent"));
    tap_put_file(tap_path("veloc.cfg"), settings);
    tap_put_file(tap_path("none.conf"), "");
    setenv("VELOC_SYSTEM_FILE", tap_path("none.conf"), 1);
    start();
    compute(STEPS);
    memcpy(wanted, u, sizeof u);

    ok(begin(7) && VELOC_Restart_test("heat", 0) == VELOC_FAILURE,
       "at first there is nothing");
    start();
    protect();
    compute(22);
    VELOC_Finalize(0);
    restarts(wanted);
    ok(begin(8) && VELOC_Restart_test("heat", 0) == VELOC_FAILURE,
       "another id has checkpoints of its own");
    VELOC_Finalize(0);
    return done_testing();
}
