/* SPDX-License-Identifier: BSD-3-Clause */
/* Strict where the real one is: nothing before BB_InitLibrary, a tag starts once, the
 * target of a cancelled transfer is deleted. Handles outlive BB_TerminateLibrary. */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sdk/bbapi/bbapi.h"
#include "sdk/sdk.h"

enum { NFILES = 16, NTAGS = 256 };

struct def {
    char from[NFILES][1200], to[NFILES][1200];
    int n;
};

struct tag {
    BBTAG tag;
    bool is_started;
    int copies[NFILES], n;
    char to[NFILES][1200];
};

/* what the service knows */
struct known {
    uint64_t ntags;
    struct tag tags[NTAGS];
};

static bool is_open;

static struct known *known(void)
{
    return sdk_memory(sizeof(struct known));
}

static int failed(int rc)
{
    return rc ? rc : is_open ? 0 : -1;
}

int BB_InitLibrary(uint32_t contribId, const char *clientVersion)
{
    int rc = sdk_call("BB_InitLibrary", "%u %s", contribId, clientVersion);

    if (rc == 0 && is_open)
        return -1;
    is_open = rc == 0;
    return rc;
}

int BB_TerminateLibrary(void)
{
    int rc = failed(sdk_call("BB_TerminateLibrary", "%s", ""));

    is_open = false;
    return rc;
}

int BB_GetLastErrorDetails(BBERRORFORMAT format, size_t *numAvailBytes,
                           size_t buffersize, char *bufferForErrorDetails)
{
    int n = snprintf(bufferForErrorDetails, buffersize, "details of format %d", format);

    *numAvailBytes = (size_t)n;
    return sdk_call("BB_GetLastErrorDetails", "%s", "");
}

int BB_CreateTransferDef(BBTransferDef_t **transfer)
{
    int rc = failed(sdk_call("BB_CreateTransferDef", "%s", ""));

    if (rc == 0)
        *transfer = calloc(1, sizeof(struct def));
    return rc;
}

int BB_AddFiles(BBTransferDef_t *transfer, const char *source, const char *target,
                BBFILEFLAGS flags)
{
    struct def *def = (struct def *)transfer;
    int rc = failed(
        sdk_call("BB_AddFiles", "%s %s %d", sdk_base(source), sdk_base(target), flags));

    if (rc != 0)
        return rc;
    if (def->n == NFILES)
        return ENOMEM;
    snprintf(def->from[def->n], sizeof def->from[0], "%s", source);
    snprintf(def->to[def->n++], sizeof def->to[0], "%s", target);
    return 0;
}

int BB_FreeTransferDef(BBTransferDef_t *transfer)
{
    free(transfer);
    return failed(sdk_call("BB_FreeTransferDef", "%s", ""));
}

int BB_GetTransferHandle(BBTAG tag, uint64_t numcontrib, uint32_t contrib[],
                         BBTransferHandle_t *handle)
{
    int rc =
        failed(sdk_call("BB_GetTransferHandle", "%llu %s",
                        (unsigned long long)numcontrib, contrib ? "list" : "self"));

    if (rc != 0)
        return rc;
    for (uint64_t i = 0; i < known()->ntags; i++)
        if (known()->tags[i].tag == tag) {
            *handle = i + 1;
            return 0;
        }
    uint64_t i = __atomic_fetch_add(&known()->ntags, 1, __ATOMIC_RELAXED);
    if (i >= NTAGS)
        return ENOMEM;
    known()->tags[i].tag = tag;
    *handle = i + 1;
    return 0;
}

int BB_StartTransfer(BBTransferDef_t *transfer, BBTransferHandle_t handle)
{
    struct def *def = (struct def *)transfer;
    int rc = failed(sdk_call("BB_StartTransfer", "%s", ""));

    if (rc != 0)
        return rc;
    if (handle == 0 || handle > known()->ntags)
        return EINVAL;
    struct tag *tag = &known()->tags[handle - 1];
    if (tag->is_started)
        return EEXIST;
    tag->is_started = true;
    tag->n = def->n;
    for (int i = 0; i < def->n; i++) {
        tag->copies[i] = sdk_begin(def->from[i], def->to[i]);
        if (tag->copies[i] < 0)
            return ENOENT;
        snprintf(tag->to[i], sizeof tag->to[0], "%s", def->to[i]);
    }
    return 0;
}

int BB_CancelTransfer(BBTransferHandle_t handle, BBCANCELSCOPE scope)
{
    int rc = failed(sdk_call("BB_CancelTransfer", "%d", scope));

    if (rc != 0)
        return rc;
    if (handle == 0 || handle > known()->ntags)
        return EINVAL;
    for (int i = 0; i < known()->tags[handle - 1].n; i++) {
        sdk_cancel(known()->tags[handle - 1].copies[i]);
        unlink(known()->tags[handle - 1].to[i]);
    }
    return 0;
}

int BB_GetTransferInfo(BBTransferHandle_t handle, BBTransferInfo_t *info)
{
    int rc = failed(sdk_call("BB_GetTransferInfo", "%s", ""));
    const BBSTATUS of[] = {[SDK_PENDING] = BBINPROGRESS,
                           [SDK_DONE] = BBFULLSUCCESS,
                           [SDK_LOST] = BBFAILED,
                           [SDK_CANCELLED] = BBCANCELED};

    if (rc != 0)
        return rc;
    if (handle == 0 || handle > known()->ntags)
        return EINVAL;
    const struct tag *tag = &known()->tags[handle - 1];
    info->status = tag->is_started ? BBFULLSUCCESS : BBNOTSTARTED;
    for (int i = 0; i < tag->n; i++) {
        BBSTATUS here = of[sdk_look(tag->copies[i])];

        info->totalTransferSize += sdk_size(tag->copies[i]);
        if (here != BBFULLSUCCESS)
            info->status = here;
    }
    return 0;
}
