/* SPDX-License-Identifier: BSD-3-Clause */
/* The plug-in for Cray's DataWarp, over the stand-in of test/sdk/datawarp. */
#include "config.h"

#include <errno.h>

#include "conf/conf.h"
#include "sdk/sdk.h"
#include "tap/movelab.h"
#include "tap/tap.h"

static void open_lab(struct movelab *lab, unsigned width)
{
    sdk_reset();
    movelab_init(lab, VEL_FLUSH_DATAWARP);
    lab->setup.width = width;
    if (movelab_open(lab) < 0)
        bail_out("%s", lab->err.text);
}

static void moving(void)
{
    struct movelab lab;

    open_lab(&lab, 4);
    is_str(vel_transport_name(lab.transport), "DATAWARP",
           "the plug-in is found by name");
    sdk_delay(1, false);
    ok(movelab_move(&lab) == 0 && movelab_arrived(&lab), "files are moved");
    is_int((long long)lab.moved, (long long)lab.bytes, "the watch is told every byte");
    movelab_close(&lab);
    is_str(sdk_calls(),
           "dw_set_stage_concurrency from 4\n"
           "dw_stage_file_out a .a.h5v-7.tmp 0\n"
           "dw_stage_file_out b .b.h5v-7.tmp 0\n"
           "dw_stage_file_out c .c.h5v-7.tmp 0\n"
           "dw_query_file_stage a\n"
           "dw_query_file_stage b\n"
           "dw_query_file_stage c\n"
           "dw_query_file_stage a\n"
           "dw_wait_file_stage a\n"
           "dw_query_file_stage b\n"
           "dw_wait_file_stage b\n"
           "dw_query_file_stage c\n"
           "dw_wait_file_stage c\n",
           "by these calls, in this order; nothing pending is waited for");
    open_lab(&lab, 0);
    ok(movelab_move(&lab) == 0 && sdk_count("dw_set_stage_concurrency") == 0,
       "the concurrency is left alone when nobody set a width");
    movelab_close(&lab);
}

static void refused(const char *function, int nth, int terminated)
{
    struct movelab lab;

    open_lab(&lab, 2);
    sdk_delay(9, false);
    sdk_fail(function, nth, -EPERM);
    ok(movelab_move(&lab) == 0 && movelab_arrived(&lab) && lab.nwarnings == 1 &&
           movelab_warned(&lab, function),
       "when %s fails this process copies, and says why", function);
    is_int(sdk_count("dw_terminate_file_stage"), terminated,
           "what had been begun is terminated");
    movelab_close(&lab);
}

static void failures(void)
{
    struct movelab lab;

    open_lab(&lab, 0);
    sdk_delay(9, false);
    sdk_fail("dw_query_file_stage", 5, -EIO);
    ok(movelab_move(&lab) == VEL_EIO && movelab_says(&lab, "dw_query_file_stage of") &&
           movelab_says(&lab, "/from/b"),
       "a stage that cannot be asked for fails the transfer, by the file's name");
    ok(movelab_clean(&lab) && sdk_count("dw_terminate_file_stage") == 3,
       "which is terminated and leaves nothing");
    sdk_delay(1, true);
    ok(movelab_move(&lab) == VEL_ENOSPC && movelab_says(&lab, "the stage of") &&
           movelab_clean(&lab),
       "a lost stage is told with the service's reason");
    sdk_delay(0, true);
    sdk_fail("dw_wait_file_stage", 1, SDK_LIE);
    ok(movelab_move(&lab) == VEL_EIO && movelab_clean(&lab),
       "and is no success when there is none");
    sdk_delay(9, false);
    lab.steps_left = 2;
    ok(movelab_move(&lab) == VEL_ECANCEL && movelab_clean(&lab), "it can be stopped");
    sdk_fail("dw_terminate_file_stage", 2, -EIO);
    lab.steps_left = 2;
    int before = sdk_count("dw_terminate_file_stage");
    ok(movelab_move(&lab) == VEL_ECANCEL &&
           movelab_warned(&lab, "dw_terminate_file_stage"),
       "what cannot be stopped is told");
    is_int(sdk_count("dw_terminate_file_stage"), before + 3,
           "and the others are stopped all the same");
    movelab_close(&lab);
}

static int resume(struct movelab *lab, const struct vel_buf *state)
{
    return vel_transfer_resume(lab->transport, &lab->how, lab->from_dir, lab->files,
                               MOVELAB_FILES, vel_buf_text(state), state->len,
                               &lab->transfer, &lab->err);
}

static void taken_over(void)
{
    struct movelab lab;
    struct vel_buf state;

    open_lab(&lab, 0);
    vel_buf_init(&state);
    sdk_delay(3, false);
    is_int(resume(&lab, &state), VEL_ENOENT,
           "what was never staged cannot be taken over");
    ok(movelab_start(&lab) == 0 &&
           vel_transfer_save(lab.transfer, &state, &lab.err) == 0 && state.len == 0,
       "the service knows a transfer by its files");
    vel_transfer_leave(lab.transfer);
    lab.transfer = NULL;
    ok(resume(&lab, &state) == 0 && movelab_wait(&lab) == 0 && movelab_arrived(&lab),
       "another process takes it over and sees it arrive");
    is_int(sdk_count("dw_terminate_file_stage"), 0, "nothing was stopped");
    vel_transfer_destroy(lab.transfer);
    lab.transfer = NULL;
    sdk_reset();
    sdk_delay(3, false);
    sdk_begin(lab.files[0].from, lab.files[0].to);
    is_int(resume(&lab, &state), VEL_ENOENT, "a part of its stages is no transfer");
    is_int(sdk_count("dw_terminate_file_stage"), 1, "and is stopped");
    sdk_begin(lab.files[0].from, lab.files[0].to);
    sdk_fail("dw_terminate_file_stage", 1, -EIO);
    is_int(resume(&lab, &state), VEL_EIO, "which is told when it cannot be");
    vel_buf_fini(&state);
    movelab_close(&lab);
}

int main(void)
{
    moving();
    refused("dw_set_stage_concurrency", 1, 0);
    refused("dw_stage_file_out", 1, 0);
    refused("dw_stage_file_out", 3, 2);
    failures();
    taken_over();
    return done_testing();
}
