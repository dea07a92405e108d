/* SPDX-License-Identifier: BSD-3-Clause */
/* FLUSH_PLUGIN: a vendor's service moves the files to the prefix; here its stand-in of
 * test/sdk, which has each process to itself. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sdk/sdk.h"
#include "tap/apilab.h"
#include "tap/files.h"
#include "tap/mtap.h"
#include "veloc.h"

static int me;

/* A case whose datasets are all flushed, by the stand-in for that service. */
static void begin(const char *name, const char *service, const char *settings)
{
    char text[2000];

    snprintf(text, sizeof text,
             "FLUSH=1\nCACHE_SIZE=2\nLOG_FILE=$/log\n"
             "FLUSH_PLUGIN=%s/test/sdk/.libs/%s.so\n%s",
             getenv("top_builddir"), service, settings);
    apilab_case(name, 4, text);
    apilab_begin();
}

static bool is_flushed(int version)
{
    return tap_file_is(apilab_at("prefix/p.%d.%d", version, me),
                       apilab_text("p", version, me));
}

static int temporaries(void)
{
    return apilab_files("prefix", ".*.tmp");
}

static void moves(void)
{
    sdk_reset();
    begin("moves", "bbapi", "");
    sdk_delay(3, false);
    mok(apilab_save("p", 1) == VELOC_SUCCESS && is_flushed(1),
        "the files come to the prefix");
    mis_int(sdk_count("BB_StartTransfer"), 1, "by the service, on every rank");
    mok(sdk_count("BB_AddFiles") == 1 && sdk_count("BB_GetTransferInfo") > 1,
        "which is asked until they have arrived");
    apilab_end(1);
    mis_int(sdk_count("BB_TerminateLibrary"), 1, "and left at the end");
    apilab_lose_all();
    sdk_reset();
    mok(apilab_begin() && apilab_restores("p", 1) && apilab_end(0),
        "what it has moved can be fetched");
    mok(apilab_lines("log", "warn") == 0, "nothing was to be warned of");
}

/* One rank's service does not want to: that rank copies by itself. */
static void refuses(void)
{
    sdk_reset();
    begin("refuses", "bbapi", "");
    if (me == 1)
        sdk_fail("BB_StartTransfer", 1, -1);
    mok(apilab_save("p", 1) == VELOC_SUCCESS && is_flushed(1) && temporaries() == 0,
        "where the service refuses the process copies");
    mok(apilab_lines("log", "copies the files itself") == 1, "which is told");
    mok(apilab_save("p", 2) == VELOC_SUCCESS && is_flushed(2) &&
            sdk_count("BB_StartTransfer") == 2,
        "and the next flush tries it again");
    apilab_end(1);
}

/* One rank's files get lost on the way. */
static void loses(void)
{
    int before;

    sdk_reset();
    begin("loses", "bbapi", "");
    if (me == 2)
        sdk_delay(1, true);
    mok(apilab_save("p", 1) == VELOC_SUCCESS && !is_flushed(1),
        "of a transfer that fails on one rank no file is on the prefix");
    mok(apilab_lines("log", "it stays in the cache") == 1 && apilab_restores("p", 1),
        "the checkpoint stays in the cache, and that is told");
    sdk_delay(9, false);
    before = sdk_count("BB_CancelTransfer");
    if (me == 1)
        sdk_fail("BB_GetTransferInfo", 2, ECONNRESET);
    mok(apilab_save("p", 2) == VELOC_SUCCESS && !is_flushed(2) &&
            sdk_count("BB_CancelTransfer") >= before + (me == 1),
        "so does one whose service is gone meanwhile, which is cancelled");
    sdk_delay(1, false);
    mok(apilab_save("p", 3) == VELOC_SUCCESS && is_flushed(3), "the next one arrives");
    apilab_end(0);
    apilab_lose_all();
    mok(apilab_begin() && VELOC_Restart_test("p", 0) == 3 && apilab_restores("p", 3) &&
            VELOC_Restart_test("p", 3) == VELOC_FAILURE,
        "what never arrived is not offered");
    apilab_end(0);

    sdk_reset();
    begin("strict", "bbapi", "STRICT=1\n");
    if (me == 3)
        sdk_delay(1, true);
    mok(VELOC_Start_checkpoint() == VELOC_SUCCESS &&
            VELOC_Complete_checkpoint(1) == VELOC_SUCCESS,
        "a dataset without files has nothing to move");
    mok(apilab_save("p", 1) == VELOC_FAILURE && apilab_says("flushing dataset 2"),
        "STRICT=1: a flush that fails is a failure of the call");
    mok(apilab_restores("p", 1), "and not of the checkpoint");
    apilab_end(0);
}

/* --- a service that says that all is well, and the bytes are others --- */

static int lie_open(unsigned rank, void **ret_instance, char *text)
{
    static int instance;

    (void)rank, (void)text;
    *ret_instance = &instance;
    return 0;
}

static void lie_close(void *instance)
{
    (void)instance;
}

static int lie_start(void *instance, const struct veloc_transport_batch *batch,
                     void **ret_transfer, char *text)
{
    (void)text;
    for (size_t i = 0; i < batch->n; i++) {
        char *bytes = tap_get_file(batch->files[i].source, NULL);

        if (bytes && me == 1)
            bytes[0]++;
        if (bytes)
            tap_put_bytes(batch->files[i].destination, bytes, batch->files[i].size);
        free(bytes);
    }
    *ret_transfer = instance;
    return 0;
}

static int lie_test(void *instance, void *transfer,
                    struct veloc_transport_progress *ret_progress, char *text)
{
    (void)instance, (void)transfer, (void)text;
    ret_progress->is_done = 1;
    return 0;
}

static void lie_free(void *instance, void *transfer)
{
    (void)instance, (void)transfer;
}

static void lies(void)
{
    static const struct veloc_transport_ops ops = {.abi = VELOC_TRANSPORT_ABI,
                                                   .size = sizeof ops,
                                                   .name = "LIAR",
                                                   .version = "1",
                                                   .open = lie_open,
                                                   .close = lie_close,
                                                   .start = lie_start,
                                                   .test = lie_test,
                                                   .free = lie_free};

    sdk_reset();
    sdk_set_ops(&ops);
    begin("lies", "fake", "");
    mok(apilab_save("p", 1) == VELOC_SUCCESS && !is_flushed(1) &&
            apilab_lines("log", "checksum") > 0 && apilab_restores("p", 1),
        "what is said to have arrived is checked");
    apilab_end(0);
}

static void is_not_there(void)
{
    apilab_case("none", 4, "FLUSH=1\nLOG_FILE=$/log\nFLUSH_PLUGIN=$/absent.so\n");
    mok(apilab_begin() && apilab_save("p", 1) == VELOC_SUCCESS && is_flushed(1),
        "without the plug-in the processes copy");
    apilab_end(1);
    mok(apilab_lines("log", "FLUSH_PLUGIN is not to be had") == 1 &&
            apilab_lines("log", "absent.so") == 1,
        "which is told once, with its name");
}

int main(int argc, char **argv)
{
    mtap_init(&argc, &argv);
    me = mtap_rank();
    moves();
    refuses();
    loses();
    lies();
    is_not_there();
    return mtap_done();
}
