/* SPDX-License-Identifier: BSD-3-Clause */
/* The plug-in for Intel's CPPR, over the stand-in of test/sdk/cppr. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "conf/conf.h"
#include "sdk/sdk.h"
#include "tap/files.h"
#include "tap/movelab.h"
#include "tap/tap.h"

static void open_lab(struct movelab *lab)
{
    sdk_reset();
    movelab_init(lab, VEL_FLUSH_CPPR);
    if (movelab_open(lab) < 0)
        bail_out("%s", lab->err.text);
}

/* are the sources the only files where they lie? */
static bool no_links(const struct movelab *lab)
{
    struct vel_vec names;

    if (vel_fs_list(vel_fs_posix(), lab->from_dir, &names, NULL) < 0)
        return false;
    bool is = names.n == MOVELAB_FILES;
    vel_fs_names_fini(&names);
    return is;
}

static void moving(void)
{
    struct movelab lab;
    char left[1300];

    open_lab(&lab);
    is_str(vel_transport_name(lab.transport), "CPPR", "the plug-in is found by name");
    snprintf(left, sizeof left, "%s/.a.h5v-7.tmp", lab.from_dir);
    tap_put_file(left, "left by a crash");
    sdk_delay(2, false);
    ok(movelab_move(&lab) == 0 && movelab_arrived(&lab),
       "files are moved, and stay where they were");
    is_int((long long)lab.moved, (long long)lab.bytes, "the watch is told every byte");
    ok(no_links(&lab), "their second names are gone, those of a crash too");
    movelab_close(&lab);
    is_str(sdk_calls(),
           "cppr_status\n"
           "cppr_mv sub from .a.h5v-7.tmp 1\n"
           "cppr_mv sub from .b.h5v-7.tmp 1\n"
           "cppr_mv sub from .c.h5v-7.tmp 1\n"
           "cppr_test_all 3\n"
           "cppr_test_all 3\n"
           "cppr_test_all 3\n",
           "by these calls, in this order");
}

static void unavailable(void)
{
    struct movelab lab;

    sdk_reset();
    sdk_fail("cppr_status", 1, 2);
    movelab_init(&lab, VEL_FLUSH_CPPR);
    ok(movelab_open(&lab) == 0 &&
           strcmp(vel_transport_name(lab.transport), "POSIX") == 0,
       "without the service this process copies");
    ok(lab.nwarnings == 1 && movelab_warned(&lab, "cppr_status") &&
           movelab_warned(&lab, "an error of the stand-in"),
       "the service's own words are told");
    movelab_close(&lab);
}

static void refused(int nth, int waited)
{
    struct movelab lab;

    open_lab(&lab);
    sdk_delay(1, false);
    sdk_fail("cppr_mv", nth, 2);
    ok(movelab_move(&lab) == 0 && movelab_arrived(&lab) && lab.nwarnings == 1 &&
           movelab_warned(&lab, "cppr_mv of") && no_links(&lab),
       "when a file is refused this process copies, and says why");
    ok((sdk_count("cppr_wait_all") > 0) == waited,
       "what had been begun is waited for first");
    movelab_close(&lab);
}

static void failures(void)
{
    struct movelab lab;

    open_lab(&lab);
    sdk_delay(5, false);
    sdk_fail("cppr_test_all", 2, 2);
    ok(movelab_move(&lab) == VEL_EIO && movelab_says(&lab, "cppr_test_all") &&
           movelab_clean(&lab) && no_links(&lab),
       "a service that is gone fails the transfer, which leaves nothing");
    sdk_delay(1, true);
    ok(movelab_move(&lab) == VEL_EIO && movelab_says(&lab, "moving") &&
           movelab_says(&lab, "/from/a") && movelab_clean(&lab) && no_links(&lab),
       "so does a file that cannot be moved, by its name");
    sdk_delay(6, false);
    sdk_fail("cppr_wait_all", 1, 2);
    lab.steps_left = 1;
    ok(movelab_move(&lab) == VEL_ECANCEL && movelab_clean(&lab) && no_links(&lab),
       "to be stopped is to be waited for, and removed");
    ok(sdk_count("cppr_wait_all") > 1, "also when a wait ends early");
    sdk_delay(9, false);
    lab.steps_left = 1;
    sdk_fail("cppr_test_all", 3, 2);
    ok(movelab_move(&lab) == VEL_ECANCEL && movelab_warned(&lab, "cppr_test_all"),
       "what cannot be waited for is told");
    movelab_close(&lab);
}

static void not_taken_over(void)
{
    struct movelab lab;
    struct vel_buf state;

    open_lab(&lab);
    vel_buf_init(&state);
    ok(movelab_start(&lab) == 0 &&
           vel_transfer_save(lab.transfer, &state, &lab.err) == VEL_EUNSUP,
       "a transfer ends with its process");
    vel_buf_fini(&state);
    movelab_close(&lab);
    ok(movelab_clean(&lab), "and one that is not waited for leaves nothing");
}

int main(void)
{
    moving();
    unavailable();
    refused(1, 0);
    refused(3, 1);
    failures();
    not_taken_over();
    return done_testing();
}
