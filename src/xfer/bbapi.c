/* SPDX-License-Identifier: BSD-3-Clause */
/* bbapi - transfer plug-in for IBM's burst buffer API: bbProxy moves files from the
 * node's SSD to the parallel file system. Knows the order of its calls.
 *
 * A transfer is a handle, made from a tag that the job step has not used before: chance
 * makes it, so that a process which takes over from one that died cannot repeat a tag.
 * The handle belongs to the service and outlives the process.
 */
#include "config.h"

#include <bbapi.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/le.h"
#include "sys/entropy.h"
#include "veloc_transport.h"

struct transfer {
    BBTransferDef_t *def; /* NULL when it was taken over */
    BBTransferHandle_t handle;
};

/* The service tells errors as -1 or as an errno, and why in a text of its own. */
static int failed(int rc, const char *what, const char *path, char *text)
{
    char details[VELOC_TRANSPORT_TEXT / 2] = "";
    size_t len = 0;

    if (BB_GetLastErrorDetails(BBERRORFLAT, &len, sizeof details, details) != 0)
        details[0] = 0;
    details[sizeof details - 1] = 0;
    snprintf(text, VELOC_TRANSPORT_TEXT, "%s%s%.200s failed with %d%s%s", what,
             path[0] ? " " : "", path, rc, details[0] ? ": " : "", details);
    return rc > 0 ? -rc : -EIO;
}

static int plugin_open(unsigned rank, void **ret_instance, char *text)
{
    int rc = BB_InitLibrary(rank, BBAPI_CLIENTVERSIONSTR);

    if (rc != 0)
        return failed(rc, "BB_InitLibrary", "", text);
    *ret_instance = NULL; /* the service's library keeps it all */
    return 0;
}

static void plugin_close(void *instance)
{
    (void)instance;
    BB_TerminateLibrary();
}

static void plugin_free(void *instance, void *transfer)
{
    struct transfer *t = transfer;

    (void)instance;
    if (t->def)
        BB_FreeTransferDef(t->def);
    free(t);
}

static int add_files(struct transfer *t, const struct veloc_transport_batch *batch,
                     char *text)
{
    for (size_t i = 0; i < batch->n; i++) {
        const struct veloc_transport_file *f = &batch->files[i];
        int rc = BB_AddFiles(t->def, f->source, f->destination, (BBFILEFLAGS)0);

        if (rc != 0)
            return failed(rc, "BB_AddFiles for", f->source, text);
    }
    return 0;
}

static int define_and_start(struct transfer *t,
                            const struct veloc_transport_batch *batch, char *text)
{
    BBTAG tag = 0;
    int rc = BB_CreateTransferDef(&t->def);

    if (rc != 0) {
        t->def = NULL;
        return failed(rc, "BB_CreateTransferDef", "", text);
    }
    rc = add_files(t, batch, text);
    if (rc < 0)
        return rc;
    if (vel_entropy(&tag, sizeof tag, NULL) < 0) {
        snprintf(text, VELOC_TRANSPORT_TEXT, "the system gives no random numbers");
        return -EIO;
    }
    /* one contributor, ourselves */
    rc = BB_GetTransferHandle(tag, 1, NULL, &t->handle);
    if (rc != 0)
        return failed(rc, "BB_GetTransferHandle", "", text);
    rc = BB_StartTransfer(t->def, t->handle);
    return rc != 0 ? failed(rc, "BB_StartTransfer for", batch->store, text) : 0;
}

static int plugin_start(void *instance, const struct veloc_transport_batch *batch,
                        void **ret_transfer, char *text)
{
    struct transfer *t = calloc(1, sizeof *t);

    if (!t)
        return -ENOMEM;
    int rc = define_and_start(t, batch, text);
    if (rc < 0) {
        plugin_free(instance, t);
        return rc;
    }
    *ret_transfer = t;
    return 0;
}

/* The sizes that the service tells are those of the files, not of what has arrived. */
static int plugin_test(void *instance, void *transfer,
                       struct veloc_transport_progress *ret_progress, char *text)
{
    struct transfer *t = transfer;
    BBTransferInfo_t info;

    (void)instance;
    memset(&info, 0, sizeof info);
    int rc = BB_GetTransferInfo(t->handle, &info);
    if (rc != 0)
        return failed(rc, "BB_GetTransferInfo", "", text);
    switch (info.status) {
    case BBFULLSUCCESS:
        *ret_progress = (struct veloc_transport_progress){1, info.totalTransferSize};
        return 0;
    case BBNOTSTARTED:
    case BBINPROGRESS:
        *ret_progress = (struct veloc_transport_progress){0, 0};
        return 0;
    default:
        snprintf(text, VELOC_TRANSPORT_TEXT, "the transfer ended with status 0x%llx%s",
                 (unsigned long long)info.status,
                 info.status == BBCANCELED  ? " (cancelled)"
                 : info.status == BBFAILED  ? " (failed)"
                 : info.status == BBSTOPPED ? " (stopped)"
                                            : "");
        return info.status == BBCANCELED ? -ECANCELED : -EIO;
    }
}

static int plugin_cancel(void *instance, void *transfer, char *text)
{
    struct transfer *t = transfer;
    struct veloc_transport_progress progress;
    int rc = BB_CancelTransfer(t->handle, BBSCOPETAG);

    if (rc == 0)
        return 0;
    rc = failed(rc, "BB_CancelTransfer", "", text);
    /* what has ended cannot be cancelled, and need not be */
    char ignored[VELOC_TRANSPORT_TEXT];
    int end = plugin_test(instance, transfer, &progress, ignored);
    return end < 0 || progress.is_done ? 0 : rc;
}

static int plugin_save(void *instance, void *transfer, void *bytes, size_t *len,
                       char *text)
{
    struct transfer *t = transfer;
    struct vel_le_writer w;

    (void)instance, (void)text;
    vel_le_write_init(&w, bytes, *len);
    vel_le_put64(&w, t->handle);
    *len = sizeof t->handle;
    return w.is_short ? -ENOSPC : 0;
}

/* A handle is good for the job step that made it; the service knows. */
static int plugin_resume(void *instance, const struct veloc_transport_batch *batch,
                         const void *bytes, size_t len, void **ret_transfer, char *text)
{
    struct transfer *t = calloc(1, sizeof *t);
    struct vel_le_reader r;
    BBTransferInfo_t info;

    (void)instance, (void)batch;
    if (!t)
        return -ENOMEM;
    vel_le_read_init(&r, bytes, len);
    t->handle = vel_le_get64(&r);
    if (r.is_short || r.left > 0) {
        snprintf(text, VELOC_TRANSPORT_TEXT, "a saved handle has 8 bytes, not %zu",
                 len);
        free(t);
        return -EINVAL;
    }
    memset(&info, 0, sizeof info);
    int rc = BB_GetTransferInfo(t->handle, &info);
    if (rc != 0) {
        failed(rc, "BB_GetTransferInfo", "of a saved handle", text);
        free(t);
        return -ENOENT;
    }
    *ret_transfer = t;
    return 0;
}

static const struct veloc_transport_ops ops = {
    .abi = VELOC_TRANSPORT_ABI,
    .size = sizeof ops,
    .name = "BBAPI",
    .version = PACKAGE_VERSION,
    .open = plugin_open,
    .close = plugin_close,
    .start = plugin_start,
    .test = plugin_test,
    .cancel = plugin_cancel,
    .free = plugin_free,
    .save = plugin_save,
    .resume = plugin_resume,
};

const struct veloc_transport_ops *veloc_transport_entry(unsigned host_abi)
{
    return host_abi == VELOC_TRANSPORT_ABI ? &ops : NULL;
}
