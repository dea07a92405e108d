/* SPDX-License-Identifier: BSD-3-Clause */
/* The plug-in for IBM's burst buffer API, over the stand-in of test/sdk/bbapi. */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "conf/conf.h"
#include "sdk/sdk.h"
#include "tap/movelab.h"
#include "tap/tap.h"

static void open_lab(struct movelab *lab)
{
    sdk_reset();
    movelab_init(lab, VEL_FLUSH_BBAPI);
    if (movelab_open(lab) < 0)
        bail_out("%s", lab->err.text);
}

static void moving(void)
{
    struct movelab lab;

    open_lab(&lab);
    is_str(vel_transport_name(lab.transport), "BBAPI", "the plug-in is found by name");
    sdk_delay(1, false);
    ok(movelab_move(&lab) == 0 && movelab_arrived(&lab), "files are moved");
    is_int((long long)lab.moved, (long long)lab.bytes, "the watch is told every byte");
    movelab_close(&lab);
    is_str(sdk_calls(),
           "BB_InitLibrary 3 {\"stand-in\":1}\n"
           "BB_CreateTransferDef\n"
           "BB_AddFiles a .a.h5v-7.tmp 0\n"
           "BB_AddFiles b .b.h5v-7.tmp 0\n"
           "BB_AddFiles c .c.h5v-7.tmp 0\n"
           "BB_GetTransferHandle 1 self\n"
           "BB_StartTransfer\n"
           "BB_GetTransferInfo\n"
           "BB_GetTransferInfo\n"
           "BB_FreeTransferDef\n"
           "BB_TerminateLibrary\n",
           "by these calls, in this order");
}

static void two_transfers(void)
{
    struct movelab lab;

    open_lab(&lab);
    ok(movelab_move(&lab) == 0 && movelab_move(&lab) == 0 && movelab_arrived(&lab),
       "no tag is used twice");
    ok(lab.nwarnings == 0 && sdk_count("BB_StartTransfer") == 2, "by the service");
    movelab_close(&lab);
}

static void unavailable(void)
{
    struct movelab lab;

    sdk_reset();
    sdk_fail("BB_InitLibrary", 1, -1);
    movelab_init(&lab, VEL_FLUSH_BBAPI);
    ok(movelab_open(&lab) == 0 &&
           strcmp(vel_transport_name(lab.transport), "POSIX") == 0,
       "without the proxy this process copies");
    ok(lab.nwarnings == 1 && movelab_warned(&lab, "BB_InitLibrary") &&
           movelab_warned(&lab, "details of format 3"),
       "the service's own words are told");
    note("%s", lab.warnings);
    movelab_close(&lab);
}

static void refused(const char *function, int nth, int rc)
{
    struct movelab lab;

    open_lab(&lab);
    sdk_fail(function, nth, rc);
    ok(movelab_move(&lab) == 0 && movelab_arrived(&lab) && lab.nwarnings == 1 &&
           movelab_warned(&lab, function),
       "when %s fails this process copies, and says why", function);
    int made = sdk_count("BB_CreateTransferDef") -
               (strcmp(function, "BB_CreateTransferDef") == 0);
    is_int(sdk_count("BB_FreeTransferDef"), made, "no definition is left");
    movelab_close(&lab);
}

static void failures(void)
{
    struct movelab lab;

    open_lab(&lab);
    sdk_delay(9, false);
    sdk_fail("BB_GetTransferInfo", 2, ECONNRESET);
    ok(movelab_move(&lab) == VEL_ELOST && movelab_says(&lab, "BB_GetTransferInfo") &&
           movelab_says(&lab, "details of format 3"),
       "a proxy that is gone fails the transfer");
    ok(movelab_clean(&lab) && sdk_count("BB_CancelTransfer") == 1,
       "which is cancelled and leaves nothing");
    sdk_delay(1, true);
    ok(movelab_move(&lab) == VEL_EIO && movelab_says(&lab, "(failed)") &&
           movelab_clean(&lab),
       "so does one that the service cannot finish");
    sdk_delay(9, false);
    lab.steps_left = 2;
    int before = sdk_count("BB_CancelTransfer 2"); /* the scope is the tag */
    ok(movelab_move(&lab) == VEL_ECANCEL && movelab_clean(&lab), "it can be stopped");
    is_int(sdk_count("BB_CancelTransfer 2"), before + 1, "by its tag");
    ok(sdk_count("BB_CreateTransferDef") == sdk_count("BB_FreeTransferDef"),
       "no definition is left");
    sdk_fail("BB_CancelTransfer", 1, EIO);
    lab.steps_left = 2;
    ok(movelab_move(&lab) == VEL_ECANCEL && movelab_warned(&lab, "BB_CancelTransfer"),
       "what cannot be stopped is told");
    movelab_close(&lab);
}

static void ended_before_cancel(void)
{
    struct movelab lab;

    open_lab(&lab);
    sdk_delay(0, true);
    sdk_fail("BB_CancelTransfer", 1, EINVAL);
    ok(movelab_move(&lab) == VEL_EIO && movelab_clean(&lab) && lab.nwarnings == 0,
       "what has ended need not be cancelled");
    movelab_close(&lab);
}

static int resume(struct movelab *lab, const struct vel_buf *state, size_t len)
{
    return vel_transfer_resume(lab->transport, &lab->how, lab->from_dir, lab->files,
                               MOVELAB_FILES, state->data, len, &lab->transfer,
                               &lab->err);
}

static void taken_over(void)
{
    struct movelab lab;
    struct vel_buf state;

    open_lab(&lab);
    vel_buf_init(&state);
    sdk_delay(2, false);
    ok(movelab_start(&lab) == 0 &&
           vel_transfer_save(lab.transfer, &state, &lab.err) == 0 && state.len == 8,
       "a transfer is saved as its handle");
    vel_transfer_leave(lab.transfer);
    lab.transfer = NULL;
    vel_transport_close(lab.transport);
    ok(sdk_count("BB_CancelTransfer") == 0, "left, it goes on");
    movelab_open(&lab);
    ok(resume(&lab, &state, 8) == 0 && movelab_wait(&lab) == 0 && movelab_arrived(&lab),
       "another process takes it over and sees it arrive");
    vel_transfer_destroy(lab.transfer);
    lab.transfer = NULL;
    is_int(resume(&lab, &state, 7), VEL_EINVAL, "half a handle is none");
    sdk_fail("BB_GetTransferInfo", 1, EINVAL);
    is_int(resume(&lab, &state, 8), VEL_ENOENT,
           "one that the service does not know is gone");
    vel_buf_fini(&state);
    movelab_close(&lab);
}

int main(void)
{
    moving();
    two_transfers();
    unavailable();
    refused("BB_CreateTransferDef", 1, -1);
    refused("BB_AddFiles", 3, ENOENT);
    refused("BB_GetTransferHandle", 1, -1);
    refused("BB_StartTransfer", 1, EBUSY);
    failures();
    ended_before_cancel();
    taken_over();
    return done_testing();
}
