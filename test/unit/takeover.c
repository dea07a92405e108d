/* SPDX-License-Identifier: BSD-3-Clause */
/* Launches that are killed while a vendor's service moves their files: the next one
 * lets the service finish or stops it, where it may, and never forgets it. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sdk/sdk.h"
#include "tap/files.h"
#include "tap/takelab.h"
#include "tap/tap.h"

/* --- adopted, or stopped ----------------------------------------------------------
 */

static void adopted(const char *service)
{
    struct seslab lab;
    int starts;

    takelab_die(&lab, service);
    is_int(takelab_records(NULL), 1,
           "%s: killed in the middle of a transfer, it is recorded", service);
    ok(!seslab_is_flushed(&lab, 2), "and not on the prefix");
    starts = sdk_count(takelab_start(service));
    takelab_forget();
    ok(takelab_plays(&lab, 1, 3, 2) && seslab_is_flushed(&lab, 2) &&
           takelab_told->newest == 2,
       "the next launch waits for it, and it is on the prefix");
    ok(sdk_count(takelab_start(service)) == starts &&
           sdk_count(takelab_stop(service)) == 0,
       "by the service alone, to which nothing was told twice");
    ok(takelab_is_clean(&lab), "no temporary file and no record stays");
    ok(takelab_lines("warn") == 0 &&
           takelab_lines("which an earlier launch had begun") == 1,
       "which is told, and no warning");
    ok(takelab_is_on_prefix(&lab, 1, 2), "every byte can be fetched");
}

/* Killed when everything has arrived, and nobody has looked at it. */
static void arrived(const char *service)
{
    struct seslab lab;

    takelab_init(&lab, service);
    sdk_delay(2, false);
    sdk_fail(takelab_ask(service), 3, SDK_KILL);
    takelab_plays(&lab, 1, 1, 1);
    ok(!takelab_told->is_over && takelab_plays(&lab, 1, 2, 1) &&
           seslab_is_flushed(&lab, 1) && sdk_count(takelab_stop(service)) == 0 &&
           takelab_is_clean(&lab),
       "%s: so is what arrives soon", service);
    ok(takelab_is_on_prefix(&lab, 1, 1), "with every byte");
}

static void failed(const char *service)
{
    struct seslab lab;

    takelab_init(&lab, service);
    sdk_delay(9, true);
    sdk_fail(takelab_ask(service), 3, SDK_KILL);
    takelab_plays(&lab, 1, 1, 1);
    takelab_forget();
    sdk_delay(0, false);
    ok(!takelab_told->is_over && takelab_plays(&lab, 1, 2, 1) &&
           takelab_told->newest == 1 && takelab_lines("has been stopped") == 1 &&
           takelab_lines("warn") == 0,
       "%s: what the service cannot finish is given up, and told", service);
    ok(seslab_is_flushed(&lab, 1) && takelab_is_clean(&lab),
       "the end of the launch flushes it anew");
    ok(takelab_is_on_prefix(&lab, 1, 1), "with every byte");
}

/* What the service has forgotten, and what it has brought with a byte that is another
 * one than was recorded. */
static void changed(void)
{
    struct seslab lab;

    takelab_die(&lab, "bbapi");
    sdk_reset();
    takelab_forget();
    ok(takelab_plays(&lab, 1, 3, 2) && takelab_told->newest == 2 &&
           takelab_lines("of a saved handle") == 1 && takelab_lines("warn") == 0,
       "what the service does not know any more is not waited for");
    ok(seslab_is_flushed(&lab, 2) && takelab_is_clean(&lab) &&
           takelab_is_on_prefix(&lab, 1, 2),
       "and flushed anew");

    takelab_init(&lab, "bbapi");
    sdk_delay(9, false);
    sdk_fail("BB_GetTransferInfo", 3, SDK_KILL);
    takelab_plays(&lab, 1, 1, 1);
    takelab_forget();
    sdk_spoil();
    ok(takelab_plays(&lab, 1, 2, 1) && takelab_lines("checksum") == 1 &&
           takelab_lines("it begins anew") == 1,
       "what has arrived with another byte is told");
    ok(seslab_is_flushed(&lab, 1) && takelab_is_clean(&lab) &&
           takelab_is_on_prefix(&lab, 1, 1),
       "and flushed anew");
}

/* A flush that nobody wants any more. */
static void unwanted(const char *service)
{
    char path[600];
    struct seslab lab;

    takelab_die(&lab, service);
    snprintf(path, sizeof path, "%s/.veloc/index/dataset.2", lab.prefix);
    unlink(path);
    tap_fresh_dir(lab.cache);
    takelab_forget();
    ok(takelab_plays(&lab, 1, 2, 2) && takelab_told->newest == 1 &&
           sdk_count(takelab_stop(service)) > 0 &&
           takelab_lines("nobody waits for it") == 1 && takelab_lines("warn") == 0,
       "%s: what no entry speaks of is stopped", service);
    ok(seslab_id(&lab, 2) == 3, "its number is not given to what is written now");
    ok(takelab_records(NULL) == 0 &&
           access(tap_path("prefix/v2/.r0.f1.h5.h5v-2.tmp"), F_OK) < 0,
       "and nothing stays of it");
}

/* A service that never ends: time passes by itself here. */
static void patience(void)
{
    struct vel_manual_clock clock;
    struct seslab lab;

    vel_manual_clock_init(&clock, 5000 * VEL_CLOCK_S, 0);
    takelab_init(&lab, "datawarp");
    seslab_set(&lab, "FLUSH_STALL", "60");
    sdk_delay(1000000, false);
    sdk_fail("dw_query_file_stage", 3, SDK_KILL);
    takelab_plays(&lab, 1, 1, 1);
    lab.clock = &clock.clock;
    sdk_delay(0, false);
    takelab_forget();
    ok(takelab_plays(&lab, 1, 2, 1) && takelab_lines("has been stopped") == 1 &&
           seslab_is_flushed(&lab, 1) && takelab_is_clean(&lab),
       "what does not move for FLUSH_STALL is stopped, and flushed anew");
    vel_manual_clock_fini(&clock);
}

/* --- who may not ------------------------------------------------------------------
 */

/* The first launch is one of node v0, the second one of the host itself. */
static void other_node(const char *service)
{
    struct seslab lab, other;
    int before;

    takelab_init(&lab, service);
    other = lab;
    seslab_set(&lab, "VIRTUAL_NODES", "1");
    takelab_plays(&lab, 1, 1, 1);
    sdk_delay(20, false);
    sdk_fail(takelab_ask(service), 4, SDK_KILL);
    takelab_plays(&lab, 1, 2, 2);
    before = takelab_said(service);
    takelab_forget();
    ok(takelab_plays(&other, 1, 3, 2) && takelab_told->newest == 1 &&
           takelab_said(service) == before,
       "%s: a launch on another node does not touch it", service);
    ok(takelab_records(NULL) == 1 && takelab_lines("warn") >= 1 &&
           takelab_lines("are left alone") == 1,
       "and says so");
    takelab_forget();
    ok(takelab_plays(&other, 1, 3, 2) && takelab_lines("are left alone") == 1 &&
           takelab_lines("warn] transfers") == 0 && takelab_records(NULL) == 1,
       "a second one has no news");
    sdk_delay(0, false);
    takelab_forget();
    before = sdk_count(takelab_stop(service));
    ok(takelab_plays(&lab, 1, 3, 2) && takelab_told->newest == 2 &&
           takelab_records(NULL) == 0 && sdk_count(takelab_stop(service)) > before,
       "its own node stops it when it is back");
    ok(seslab_is_flushed(&lab, 2) && strstr(sdk_calls(), ".h5v-2-1.tmp"),
       "and has the files flushed again, under names of their own");
    ok(takelab_is_on_prefix(&other, 1, 2) && takelab_is_clean(&other),
       "so that every byte is there");
}

/* Of two nodes one is away when the job begins again. */
static void lost_node(void)
{
    struct seslab both, one;
    char path[1200];

    takelab_init(&both, "bbapi");
    seslab_set(&both, "COPY_TYPE", "PARTNER");
    seslab_set(&both, "SET_SIZE", "2");
    one = both;
    seslab_set(&both, "VIRTUAL_NODES", "2");
    seslab_set(&one, "VIRTUAL_NODES", "1");
    takelab_plays(&both, 2, 1, 1);
    sdk_delay(20, false);
    sdk_fail("BB_GetTransferInfo", 4, SDK_KILL);
    takelab_run(
        &(struct takelab_play){.lab = &both, .first = 2, .last = 2, .victim = 1}, 2);
    sdk_heal();
    vel_fs_remove_tree(vel_fs_posix(), seslab_node(&both, 1), NULL);
    sdk_delay(0, false);
    int stops = sdk_count("BB_CancelTransfer");
    ok(takelab_plays(&one, 2, 3, 2) && takelab_told->newest == 2 &&
           seslab_is_flushed(&one, 2),
       "the job goes on without a node, and flushes what was on its way");
    ok(takelab_records(path) == 1 && strstr(path, ".v1.2.1.0") &&
           sdk_count("BB_CancelTransfer") == stops,
       "what the other node was moving is left alone");
    ok(takelab_plays(&both, 2, 3, 3) && takelab_records(NULL) == 0 &&
           takelab_is_on_prefix(&both, 2, 3) && takelab_is_clean(&both),
       "and ended when that is back");
}

/* Killed while the service was told what to do. */
static void half_begun(void)
{
    struct seslab lab;

    takelab_init(&lab, "datawarp");
    sdk_fail("dw_stage_file_out", 2, SDK_KILL);
    takelab_plays(&lab, 1, 1, 1);
    is_int(takelab_records(NULL), 1, "what was not begun whole is recorded, too");
    sdk_delay(9, false);
    ok(takelab_plays(&lab, 1, 2, 1) && sdk_count("dw_terminate_file_stage") == 1 &&
           seslab_is_flushed(&lab, 1) && takelab_is_clean(&lab),
       "where the service can be asked without more it is stopped");

    takelab_init(&lab, "bbapi");
    sdk_fail("BB_StartTransfer", 1, SDK_KILL);
    takelab_plays(&lab, 1, 1, 1);
    takelab_forget();
    ok(takelab_records(NULL) == 1 && takelab_plays(&lab, 1, 2, 1) &&
           takelab_lines("warn") == 1 &&
           takelab_lines("a saved handle has 8 bytes") == 1 &&
           strstr(sdk_calls(), ".h5v-1-1.tmp"),
       "where not, its names are not used again");
    ok(takelab_is_clean(&lab) && takelab_is_on_prefix(&lab, 1, 1),
       "and the files are flushed");
}

/* CPPR has no name for a transfer that another process could ask by. */
static void not_to_be_had(void)
{
    struct seslab lab;

    takelab_init(&lab, "cppr");
    sdk_delay(20, false);
    sdk_fail("cppr_test_all", 2, SDK_KILL);
    takelab_plays(&lab, 1, 1, 1);
    takelab_forget();
    sdk_delay(0, false);
    ok(!takelab_told->is_over && takelab_records(NULL) == 1,
       "killed while CPPR moves files, which nobody else can ask about");
    ok(takelab_plays(&lab, 1, 2, 1) && takelab_lines("warn") == 1 &&
           takelab_lines("CPPR cannot take over a transfer") == 1 &&
           strstr(sdk_calls(), ".h5v-1-1.tmp"),
       "the next launch says so, and uses other names than it may still write to");
    ok(takelab_records(NULL) == 0 && takelab_is_on_prefix(&lab, 1, 1),
       "and the files are flushed");
}

/* The next launch has no such service. */
static void without_service(void)
{
    struct seslab lab, without;

    takelab_die(&lab, "bbapi");
    without = lab;
    for (size_t i = 0; without.settings[i][0]; i++)
        if (strcmp(without.settings[i][0], "FLUSH_PLUGIN") == 0)
            without.settings[i][0] = "CLUSTER_NAME";
    takelab_forget();
    ok(takelab_plays(&without, 1, 3, 2) && takelab_told->newest == 2 &&
           takelab_records(NULL) == 1,
       "without the service nobody can ask, and the record stays");
    ok(takelab_lines("warn") == 1 && takelab_lines("'BBAPI' is not to be had") == 1,
       "one line says so");
    ok(seslab_is_flushed(&lab, 2), "the process copies, under other names");
    takelab_forget();
    ok(takelab_plays(&lab, 1, 3, 2) && sdk_count("BB_CancelTransfer") > 0 &&
           takelab_is_clean(&lab) && takelab_lines("warn") == 0,
       "with it again what goes on is stopped");
    ok(takelab_is_on_prefix(&lab, 1, 2), "and harms nothing");

    takelab_die(&lab, "bbapi");
    sdk_fail("BB_CancelTransfer", 1, EIO);
    sdk_fail("BB_GetTransferInfo", 3, ECONNRESET);
    takelab_forget();
    ok(takelab_plays(&lab, 1, 3, 2) && takelab_records(NULL) == 1 &&
           takelab_lines("cannot be stopped") == 1 && seslab_is_flushed(&lab, 2),
       "nor is one forgotten that cannot be stopped");
    ok(takelab_plays(&lab, 1, 3, 2) && takelab_is_clean(&lab) &&
           takelab_is_on_prefix(&lab, 1, 2),
       "until it can be");
}

/* It cannot be stopped while its process lives. */
static void loose(void)
{
    struct seslab lab;

    takelab_init(&lab, "bbapi");
    sdk_delay(5, false);
    sdk_fail("BB_GetTransferInfo", 2, ECONNRESET);
    sdk_fail("BB_CancelTransfer", 1, EIO);
    ok(takelab_plays(&lab, 1, 1, 1) && seslab_is_flushed(&lab, 1) &&
           takelab_records(NULL) == 1 && strstr(sdk_calls(), ".h5v-1-1.tmp"),
       "a flush whose service got loose is tried again under other names");
    ok(takelab_plays(&lab, 1, 2, 1) && takelab_is_clean(&lab) &&
           takelab_is_on_prefix(&lab, 1, 1),
       "the next launch stops what is left of it");
}

int main(void)
{
    adopted("bbapi");
    adopted("datawarp");
    arrived("bbapi");
    arrived("datawarp");
    failed("bbapi");
    failed("datawarp");
    changed();
    unwanted("bbapi");
    unwanted("datawarp");
    patience();
    other_node("bbapi");
    other_node("datawarp");
    lost_node();
    half_begun();
    not_to_be_had();
    without_service();
    loose();
    return done_testing();
}
