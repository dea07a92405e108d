/* SPDX-License-Identifier: BSD-3-Clause */
/* datawarp - transfer plug-in for Cray's DataWarp: its servers stage files from the
 * burst buffer out to the parallel file system. Knows the order of its calls.
 *
 * A file has at most one stage at a time, and the service knows it by the file's name;
 * so a transfer is nothing but its batch, and any process can take it over. A wait of
 * the service cannot be interrupted: it is used only to learn how a stage ended that is
 * no longer pending.
 */
#include "config.h"

#include <datawarp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "veloc_transport.h"

struct transfer {
    const struct veloc_transport_batch *batch;
};

static int failed(int rc, const char *what, const char *path, char *text)
{
    snprintf(text, VELOC_TRANSPORT_TEXT, "%s%s%.400s failed with %d", what,
             path[0] ? " " : "", path, rc);
    return rc < 0 ? rc : -EIO;
}

/* The service has no library to begin with; a file tells whether it is there. */
static int plugin_open(unsigned rank, void **ret_instance, char *text)
{
    (void)rank, (void)text;
    *ret_instance = NULL;
    return 0;
}

static void plugin_close(void *instance)
{
    (void)instance;
}

static void plugin_free(void *instance, void *transfer)
{
    (void)instance;
    free(transfer);
}

/* Stages of the first n files, of which some may have ended: those stay as they are. */
static int terminate(const struct veloc_transport_batch *batch, size_t n, char *text)
{
    int first = 0;

    for (size_t i = 0; i < n; i++) {
        const char *source = batch->files[i].source;
        int rc = dw_terminate_file_stage(source);

        /* -EINVAL: it has no stage, -ENOENT: there is no such file */
        if (rc != 0 && rc != -EINVAL && rc != -ENOENT && first == 0)
            first = failed(rc, "dw_terminate_file_stage of", source, text);
    }
    return first;
}

static int stage_all(const struct veloc_transport_batch *batch, char *text)
{
    char ignored[VELOC_TRANSPORT_TEXT];

    if (batch->width > 0) {
        int rc = dw_set_stage_concurrency(batch->store, batch->width);
        if (rc != 0)
            return failed(rc, "dw_set_stage_concurrency of", batch->store, text);
    }
    for (size_t i = 0; i < batch->n; i++) {
        const struct veloc_transport_file *f = &batch->files[i];
        int rc = dw_stage_file_out(f->source, f->destination, DW_STAGE_IMMEDIATE);

        if (rc != 0) {
            rc = failed(rc, "dw_stage_file_out of", f->source, text);
            terminate(batch, i, ignored); /* all files or none */
            return rc;
        }
    }
    return 0;
}

static int transfer_create(const struct veloc_transport_batch *batch,
                           void **ret_transfer)
{
    struct transfer *t = malloc(sizeof *t);

    if (!t)
        return -ENOMEM;
    t->batch = batch;
    *ret_transfer = t;
    return 0;
}

static int plugin_start(void *instance, const struct veloc_transport_batch *batch,
                        void **ret_transfer, char *text)
{
    void *transfer;
    int rc = transfer_create(batch, &transfer);

    if (rc < 0)
        return rc;
    rc = stage_all(batch, text);
    if (rc < 0) {
        plugin_free(instance, transfer);
        return rc;
    }
    *ret_transfer = transfer;
    return 0;
}

/* 1: the file has arrived, 0: not yet */
static int query(const struct veloc_transport_file *file, char *text)
{
    int complete = 0, pending = 0, deferred = 0, lost = 0;
    int rc = dw_query_file_stage(file->source, &complete, &pending, &deferred, &lost);

    if (rc != 0)
        return failed(rc, "dw_query_file_stage of", file->source, text);
    if (lost == 0 && (pending > 0 || deferred > 0))
        return 0;
    rc = dw_wait_file_stage(file->source); /* does not wait any more */
    if (rc == 0 && (lost > 0 || complete == 0))
        rc = -EIO;
    return rc != 0 ? failed(rc, "the stage of", file->source, text) : 1;
}

static int plugin_test(void *instance, void *transfer,
                       struct veloc_transport_progress *ret_progress, char *text)
{
    const struct transfer *t = transfer;
    struct veloc_transport_progress progress = {1, 0};

    (void)instance;
    for (size_t i = 0; i < t->batch->n; i++) {
        int rc = query(&t->batch->files[i], text);
        if (rc < 0)
            return rc;
        progress.is_done &= rc;
        progress.bytes += rc ? t->batch->files[i].size : 0;
    }
    *ret_progress = progress;
    return 0;
}

static int plugin_cancel(void *instance, void *transfer, char *text)
{
    const struct transfer *t = transfer;

    (void)instance;
    return terminate(t->batch, t->batch->n, text);
}

static int plugin_save(void *instance, void *transfer, void *bytes, size_t *len,
                       char *text)
{
    (void)instance, (void)transfer, (void)bytes, (void)text;
    *len = 0;
    return 0;
}

static int plugin_resume(void *instance, const struct veloc_transport_batch *batch,
                         const void *bytes, size_t len, void **ret_transfer, char *text)
{
    char ignored[VELOC_TRANSPORT_TEXT];

    (void)instance, (void)bytes, (void)len;
    for (size_t i = 0; i < batch->n; i++) {
        const char *source = batch->files[i].source;
        int complete, pending, deferred, lost;
        int rc = dw_query_file_stage(source, &complete, &pending, &deferred, &lost);

        if (rc == -EINVAL) { /* never staged: those before it are no transfer */
            rc = terminate(batch, i, text);
            failed(-EINVAL, "dw_query_file_stage of", source, rc == 0 ? text : ignored);
            return rc == 0 ? -ENOENT : rc;
        }
        if (rc != 0)
            return failed(rc, "dw_query_file_stage of", source, text);
    }
    return transfer_create(batch, ret_transfer);
}

static const struct veloc_transport_ops ops = {
    .abi = VELOC_TRANSPORT_ABI,
    .size = sizeof ops,
    .name = "DATAWARP",
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
