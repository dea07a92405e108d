/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "sdk/sdk.h"
#include "tap/files.h"
#include "tap/movelab.h"
#include "tap/tap.h"

/* --- this process --- */

static void copies_itself(int type, const char *name)
{
    struct movelab lab;
    struct vel_buf state;

    movelab_init(&lab, type);
    is_int(movelab_open(&lab), 0, "%s is always there", name);
    is_str(vel_transport_name(lab.transport), "POSIX", "this process copies");
    ok(movelab_start(&lab) == 0 && movelab_wait(&lab) == 0, "the files are moved");
    vel_buf_init(&state);
    is_int(vel_transfer_save(lab.transfer, &state, &lab.err), VEL_EUNSUP,
           "nobody else could go on");
    vel_buf_fini(&state);
    is_int((long long)lab.moved, (long long)lab.bytes, "the watch is told every byte");
    vel_transfer_destroy(lab.transfer);
    lab.transfer = NULL;
    is_int(lab.nwarnings, 0, "there is nothing to warn of");
    movelab_close(&lab);
}

static void posix(void)
{
    struct movelab lab;

    movelab_init(&lab, VEL_FLUSH_POSIX);
    movelab_open(&lab);
    ok(movelab_move(&lab) == 0 && movelab_arrived(&lab),
       "every copy is whole, with mode and time, and outlives its transfer");
    lab.files[2].crc++;
    ok(movelab_move(&lab) == VEL_ECORRUPT && movelab_says(&lab, "/from/c: checksum"),
       "one bad file fails all, by its name");
    lab.files[2].crc--;
    ok(movelab_clean(&lab), "and no copy stays, nor those of before");
    lab.steps_left = 4;
    ok(movelab_move(&lab) == VEL_ECANCEL && movelab_clean(&lab),
       "the watch stops it, and no copy stays");
    movelab_start(&lab);
    vel_transfer_destroy(lab.transfer);
    lab.transfer = NULL;
    ok(movelab_clean(&lab), "what was never waited for leaves nothing");
    lab.setup.type = 99;
    struct vel_transport *none;
    is_int(vel_transport_open(&lab.setup, &none, &lab.err), VEL_EINVAL,
           "an unknown type is refused");
    movelab_close(&lab);
}

static void missing(int type, const char *name, const char *remedy)
{
    struct movelab lab;

    movelab_init(&lab, type);
    lab.setup.dir = tap_dir();
    ok(movelab_open(&lab) == 0 &&
           strcmp(vel_transport_name(lab.transport), "POSIX") == 0,
       "without %s this process copies", name);
    ok(lab.nwarnings == 1 && movelab_warned(&lab, name) && movelab_warned(&lab, remedy),
       "one warning names it and what would help");
    note("%s", lab.warnings);
    ok(movelab_move(&lab) == 0 && movelab_arrived(&lab), "the files are moved");
    movelab_close(&lab);
}

/* --- a plug-in that is whatever we say --- */

static struct {
    int started, freed, cancelled, closed, copy[MOVELAB_FILES];
    int test_rc, cancel_rc;
    bool is_mute;
    uint64_t claims; /* bytes, while it is not done */
} fake;

static int fake_open(unsigned rank, void **ret_instance, char *text)
{
    if (rank != 3) {
        snprintf(text, VELOC_TRANSPORT_TEXT, "rank %u", rank);
        return -EINVAL;
    }
    *ret_instance = &fake;
    return 0;
}

static void fake_close(void *instance)
{
    fake.closed += instance == &fake;
}

static int fake_start(void *instance, const struct veloc_transport_batch *batch,
                      void **ret_transfer, char *text)
{
    (void)instance, (void)text;
    fake.started++;
    for (size_t i = 0; i < batch->n; i++)
        fake.copy[i] = sdk_begin(batch->files[i].source, batch->files[i].destination);
    *ret_transfer = fake.copy;
    return 0;
}

static int fake_refuse(void *instance, const struct veloc_transport_batch *batch,
                       void **ret_transfer, char *text)
{
    (void)instance, (void)ret_transfer;
    fake.started++;
    snprintf(text, VELOC_TRANSPORT_TEXT, "%s is not on the fast storage", batch->store);
    return -ENOTSUP;
}

static int fake_test(void *instance, void *transfer,
                     struct veloc_transport_progress *ret_progress, char *text)
{
    const int *copy = transfer;
    int done = 1;

    (void)instance;
    if (fake.test_rc) {
        if (!fake.is_mute)
            memset(text, 'x', VELOC_TRANSPORT_TEXT); /* without an end */
        return fake.test_rc;
    }
    for (size_t i = 0; i < MOVELAB_FILES; i++)
        done &= sdk_look(copy[i]) != SDK_PENDING;
    ret_progress->is_done = done;
    ret_progress->bytes = fake.claims;
    return 0;
}

static int fake_wait(void *instance, void *transfer, unsigned ms,
                     struct veloc_transport_progress *ret_progress, char *text)
{
    sdk_call("wait", "%u", ms);
    return fake_test(instance, transfer, ret_progress, text);
}

static int fake_cancel(void *instance, void *transfer, char *text)
{
    const int *copy = transfer;

    (void)instance, (void)text;
    fake.cancelled++;
    for (size_t i = 0; i < MOVELAB_FILES && !fake.cancel_rc; i++)
        sdk_cancel(copy[i]);
    return fake.cancel_rc;
}

static void fake_free(void *instance, void *transfer)
{
    (void)instance;
    fake.freed += transfer == fake.copy;
}

/* more than the host has room for at first */
static int fake_save(void *instance, void *transfer, void *bytes, size_t *len,
                     char *text)
{
    const size_t need = 5000;
    bool has_room = *len >= need;

    (void)instance, (void)transfer, (void)text;
    *len = need;
    if (has_room)
        memset(bytes, 's', need);
    return has_room ? 0 : -ENOSPC;
}

static int fake_resume(void *instance, const struct veloc_transport_batch *batch,
                       const void *bytes, size_t len, void **ret_transfer, char *text)
{
    const char *state = bytes;

    (void)instance, (void)text;
    if (len != 5000 || state[0] != 's' || batch->n != MOVELAB_FILES)
        return -ENOENT;
    *ret_transfer = fake.copy;
    return 0;
}

static const struct veloc_transport_ops whole = {
    .abi = VELOC_TRANSPORT_ABI,
    .size = sizeof whole,
    .name = "FAKE",
    .version = "1",
    .open = fake_open,
    .close = fake_close,
    .start = fake_start,
    .test = fake_test,
    .wait = fake_wait,
    .cancel = fake_cancel,
    .free = fake_free,
    .save = fake_save,
    .resume = fake_resume,
};

static void open_fake(struct movelab *lab, const struct veloc_transport_ops *ops)
{
    static char path[1200];

    snprintf(path, sizeof path, "%s/test/sdk/.libs/fake.so", getenv("top_builddir"));
    sdk_reset();
    sdk_set_ops(ops);
    memset(&fake, 0, sizeof fake);
    movelab_init(lab, VEL_FLUSH_BBAPI);
    lab->setup.plugin = path;
    movelab_open(lab);
}

static void plugin_moves(void)
{
    struct movelab lab;

    open_fake(&lab, &whole);
    is_str(vel_transport_name(lab.transport), "FAKE", "a plug-in is taken by its path");
    sdk_delay(3, false);
    fake.claims = 50000;
    ok(movelab_move(&lab) == 0 && movelab_arrived(&lab),
       "what it moved is whole, with mode and time");
    ok(fake.started == 1 && fake.freed == 1 && fake.cancelled == 0,
       "its operations are called once each");
    ok(sdk_count("wait") > 1, "it is waited for where it can wait");
    is_int((long long)lab.moved, (long long)lab.bytes, "the watch is told every byte");
    movelab_close(&lab);
    is_int(fake.closed, 1, "it is closed");
}

/* no optional operation, and a table that ends before them */
static void least_plugin(void)
{
    struct veloc_transport_ops ops = whole;
    struct movelab lab;
    struct vel_buf state;

    ops.wait = NULL;
    ops.cancel = NULL;
    ops.size = offsetof(struct veloc_transport_ops, save);
    open_fake(&lab, &ops);
    is_str(vel_transport_name(lab.transport), "FAKE", "an older table is good enough");
    sdk_delay(20, false);
    fake.claims = UINT64_MAX;
    uint64_t begin = vel_clock_monotonic(&lab.clock.clock);
    ok(movelab_start(&lab) == 0 && movelab_wait(&lab) == 0 && movelab_arrived(&lab),
       "without a wait it is asked again and again");
    uint64_t ms = (vel_clock_monotonic(&lab.clock.clock) - begin) / VEL_CLOCK_MS;
    ok(ms > 200 && ms < 6000, "with growing pauses");
    is_int((long long)lab.moved, (long long)lab.bytes, "a boast is cut");
    vel_buf_init(&state);
    is_int(vel_transfer_save(lab.transfer, &state, &lab.err), VEL_EUNSUP,
           "it cannot be handed over");
    vel_transfer_destroy(lab.transfer);
    struct vel_transfer *none;
    is_int(vel_transfer_resume(lab.transport, &lab.how, "x", lab.files, MOVELAB_FILES,
                               "s", 1, &none, &lab.err),
           VEL_EUNSUP, "nor taken over");
    vel_buf_fini(&state);
    lab.transfer = NULL;
    lab.steps_left = 1;
    int looks = 30;
    sdk_delay(looks, false);
    ok(movelab_move(&lab) == VEL_ECANCEL && movelab_clean(&lab) &&
           sdk_state(fake.copy[0]) == SDK_DONE,
       "what cannot be stopped is waited for, and then removed");
    movelab_close(&lab);
}

static void plugin_fails(void)
{
    struct movelab lab;

    open_fake(&lab, &whole);
    fake.test_rc = -ENOSPC;
    ok(movelab_move(&lab) == VEL_ENOSPC && movelab_says(&lab, "FAKE cannot move") &&
           movelab_says(&lab, "xxx"),
       "its sentence is told, even without an end");
    ok(fake.cancelled == 1 && fake.freed == 1 && movelab_clean(&lab),
       "what is left of the transfer is stopped and removed");
    fake.is_mute = true;
    ok(movelab_move(&lab) == VEL_ENOSPC && movelab_says(&lab, "No space left"),
       "without a sentence the reason is the system's");
    fake.test_rc = 17;
    ok(movelab_move(&lab) == VEL_EIO, "an answer that is not allowed is a failure");
    fake.cancel_rc = -EIO;
    ok(movelab_move(&lab) == VEL_EIO && movelab_warned(&lab, "next launch removes"),
       "what cannot be stopped is not removed under the writer, and told");
    fake.test_rc = fake.cancel_rc = 0;
    sdk_delay(0, true);
    ok(movelab_move(&lab) == VEL_ECORRUPT && movelab_clean(&lab) &&
           movelab_says(&lab, "has 50000 bytes, not the recorded 100001"),
       "half a file is not believed, whatever the service says");
    sdk_delay(5, false);
    lab.steps_left = 2;
    ok(movelab_move(&lab) == VEL_ECANCEL && movelab_clean(&lab) &&
           movelab_says(&lab, "FAKE: cancelled"),
       "the watch stops it");
    movelab_close(&lab);
}

static void plugin_refuses(void)
{
    struct veloc_transport_ops ops = whole;
    struct movelab lab;

    ops.start = fake_refuse;
    open_fake(&lab, &ops);
    bool all = true;
    for (int i = 0; i < 3; i++)
        all &= movelab_move(&lab) == 0 && movelab_arrived(&lab);
    ok(all, "what a plug-in does not want this process copies");
    ok(lab.nwarnings == 1 && movelab_warned(&lab, "is not on the fast storage"),
       "which is told once");
    movelab_close(&lab);
}

static void handed_over(void)
{
    struct movelab lab;
    struct vel_buf state;

    open_fake(&lab, &whole);
    sdk_delay(2, false);
    vel_buf_init(&state);
    ok(movelab_start(&lab) == 0 &&
           vel_transfer_save(lab.transfer, &state, &lab.err) == 0 && state.len == 5000,
       "a transfer is saved, however long that is");
    vel_transfer_leave(lab.transfer);
    ok(fake.freed == 1 && fake.cancelled == 0, "left, it goes on");
    is_int(vel_transfer_resume(lab.transport, &lab.how, lab.from_dir, lab.files,
                               MOVELAB_FILES, state.data, state.len - 1, &lab.transfer,
                               &lab.err),
           VEL_ENOENT, "what is gone cannot be taken over");
    is_int(vel_transfer_resume(lab.transport, &lab.how, lab.from_dir, lab.files,
                               MOVELAB_FILES, state.data, state.len, &lab.transfer,
                               &lab.err),
           0, "another process takes it over");
    ok(movelab_wait(&lab) == 0 && movelab_arrived(&lab), "and sees it arrive");
    vel_buf_fini(&state);
    movelab_close(&lab);
}

static void no_plugin(const struct veloc_transport_ops *ops, const char *says)
{
    struct movelab lab;

    open_fake(&lab, ops);
    ok(strcmp(vel_transport_name(lab.transport), "POSIX") == 0 && lab.nwarnings == 1 &&
           movelab_warned(&lab, says) && movelab_warned(&lab, "FLUSH_PLUGIN"),
       "not taken, with a warning: %s", says);
    if (!movelab_warned(&lab, says))
        note("%s", lab.warnings);
    movelab_close(&lab);
}

static void bad_tables(void)
{
    struct veloc_transport_ops ops = whole;
    struct movelab lab;

    no_plugin(NULL, "does not serve version 1");
    ops.abi = 2;
    no_plugin(&ops, "does not serve version 1");
    ops = whole;
    ops.size = 40;
    no_plugin(&ops, "has a table of 40 bytes");
    ops = whole;
    ops.free = NULL;
    no_plugin(&ops, "lacks a name or an operation");
    ops = whole;
    ops.resume = NULL;
    no_plugin(&ops, "lacks a name or an operation");
    movelab_init(&lab, VEL_FLUSH_POSIX);
    lab.setup.plugin = "/nowhere/x.so";
    ok(movelab_open(&lab) == 0 && movelab_warned(&lab, "/nowhere/x.so"),
       "nor what is not there");
    movelab_close(&lab);
    movelab_init(&lab, VEL_FLUSH_POSIX);
    lab.setup.plugin = "libm.so.6";
    ok(movelab_open(&lab) == 0 && movelab_warned(&lab, "no veloc_transport_entry"),
       "nor another library");
    movelab_close(&lab);
    movelab_init(&lab, VEL_FLUSH_POSIX);
    lab.setup.plugin = tap_path("text");
    tap_put_file(lab.setup.plugin, "text");
    ok(movelab_open(&lab) == 0 && lab.nwarnings == 1, "nor a text");
    movelab_close(&lab);
}

int main(void)
{
    copies_itself(VEL_FLUSH_SYNC, "SYNC");
    copies_itself(VEL_FLUSH_PTHREAD, "PTHREAD");
    posix();
    missing(VEL_FLUSH_BBAPI, "BBAPI", "--with-bbapi=DIR");
    missing(VEL_FLUSH_CPPR, "CPPR", "--with-cppr=DIR");
    missing(VEL_FLUSH_DATAWARP, "DATAWARP", "--with-datawarp=DIR");
    plugin_moves();
    least_plugin();
    plugin_fails();
    plugin_refuses();
    handed_over();
    bad_tables();
    return done_testing();
}
