/* SPDX-License-Identifier: BSD-3-Clause */
/* What some ranks have written of a step, as its program was killed, is no checkpoint
 * and comes to its path all the same. A launch that is killed with it on its way leaves
 * that to the next one, or to the first that has all its nodes. */
#include "config.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "meta/entry.h"
#include "tap/filelab.h"
#include "tap/files.h"
#include "tap/tap.h"

#define LINES                                                                          \
    "DATASET=s PATTERN=s.{step}.{rank} KIND=OUTPUT\nDATASET=o PATTERN=out.{step}\n"

static bool has_temporaries(const struct filelab *lab)
{
    glob_t found;
    bool has = glob(filelab_path(lab, ".s.*"), 0, NULL, &found) == 0;

    globfree(&found);
    return has;
}

/* It is being copied. */
static void wait_flushing(const struct filelab *lab)
{
    for (int i = 0; i < 2000 && !has_temporaries(lab); i++)
        vel_clock_sleep(vel_clock_system(), 10 * VEL_CLOCK_MS);
    ok(has_temporaries(lab), "what ranks 0 and 2 have written is on its way");
}

static void write_one(struct filelab *lab, int rank, const char *name)
{
    struct vel_err err = {0};

    if (filelab_write(lab, rank, name, name, &err) < 0)
        bail_out("%s", err.text);
}

/* Rank 1 has its file open when the program is killed, and the leaders soon after. */
static void leave_unfinished(struct filelab *lab)
{
    struct vel_place place = {0};
    struct vel_err err = {0};

    filelab_begin(lab, "L1");
    write_one(lab, 0, "s.1.0");
    write_one(lab, 2, "s.1.2");
    if (filelab_create(lab, 1, "s.1.1", &place, &err) < 0)
        bail_out("%s", err.text);
    vel_place_fini(&place);
    for (int rank = 0; rank < lab->ranks; rank++) {
        vel_client_close(lab->client[rank]);
        lab->client[rank] = NULL;
    }
    wait_flushing(lab);
    filelab_drop(lab);
}

/* Who only reads leaves what others owe. */
static void run(struct filelab *lab, const char *launch, const char *name)
{
    filelab_begin(lab, launch);
    write_one(lab, 0, name);
    filelab_drain(lab);
}

static bool has_come(const struct filelab *lab)
{
    return filelab_stands(lab, "s.1.0", "s.1.0") &&
           filelab_stands(lab, "s.1.2", "s.1.2");
}

static void next(void)
{
    struct filelab lab;

    filelab_init(&lab, "next", 3, 3, LINES "FLUSH_BANDWIDTH=1\n");
    leave_unfinished(&lab);
    filelab_set(&lab, LINES);
    run(&lab, "L2", "out.1");
    ok(has_come(&lab), "the next launch brings it to its paths");
    filelab_end(&lab);
    ok(!has_temporaries(&lab), "and leaves nothing else there");
    filelab_fini(&lab);
}

static void away(void)
{
    struct filelab lab;

    filelab_init(&lab, "away", 3, 3, LINES "FLUSH_BANDWIDTH=1\n");
    leave_unfinished(&lab);
    lab.nodes = lab.ranks = 2;
    filelab_set(&lab, LINES "VIEW_WAIT=1\n");
    run(&lab, "L2", "out.1");
    for (int i = 0; i < 1000 && has_temporaries(&lab); i++)
        vel_clock_sleep(vel_clock_system(), 10 * VEL_CLOCK_MS);
    ok(!has_temporaries(&lab) && !has_come(&lab),
       "a launch without one of its nodes removes what was on its way");
    filelab_end(&lab);
    lab.nodes = lab.ranks = 3;
    filelab_set(&lab, LINES);
    run(&lab, "L3", "out.2");
    ok(has_come(&lab), "and one that has them all begins anew");
    filelab_end(&lab);
    filelab_fini(&lab);
}

int main(void)
{
    next();
    away();
    return done_testing();
}
