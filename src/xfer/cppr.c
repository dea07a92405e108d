/* SPDX-License-Identifier: BSD-3-Clause */
/* cppr - transfer plug-in for Intel's CPPR, which moves files from node-local storage
 * to the parallel file system. Knows the order of its calls.
 *
 * cppr_mv takes a directory, another directory and one name for both ends. We want
 * another name at the far end, so the source gets that name as a second one for the
 * time of its transfer; whatever "move" means, the first name stays. A transfer cannot
 * be cancelled, only waited for.
 */
#include "config.h"

#include <cppr.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "sys/clock.h"
#include "sys/fs.h"
#include "veloc_transport.h"

struct transfer {
    const struct veloc_transport_batch *batch;
    char **links;              /* the second names of the sources */
    struct cppr_op_info *info; /* one per file */
    size_t n;                  /* how many were begun */
};

static int failed(cppr_return_t rc, const char *what, const char *path, char *text)
{
    snprintf(text, VELOC_TRANSPORT_TEXT, "%s%s%.300s failed with %d: %.150s", what,
             path[0] ? " " : "", path, (int)rc, cppr_err_to_str(rc));
    return -EIO;
}

static int plugin_open(unsigned rank, void **ret_instance, char *text)
{
    cppr_return_t rc = cppr_status();

    (void)rank;
    if (rc != CPPR_SUCCESS)
        return failed(rc, "cppr_status", "", text);
    *ret_instance = NULL;
    return 0;
}

static void plugin_close(void *instance)
{
    (void)instance;
}

static void plugin_free(void *instance, void *transfer)
{
    struct transfer *t = transfer;

    (void)instance;
    for (size_t i = 0; t->links && i < t->batch->n; i++) {
        if (t->links[i])
            vel_fs_unlink(vel_fs_posix(), t->links[i], NULL);
        free(t->links[i]);
    }
    free(t->links);
    free(t->info);
    free(t);
}

/* The far end's name beside the source; one that a crash left is made anew. */
static int link_source(struct transfer *t, size_t i, const char *source_dir, char *text)
{
    const struct veloc_transport_file *f = &t->batch->files[i];
    struct vel_fs *fs = vel_fs_posix();
    struct vel_err err = {0};
    char *name = vel_path_join(source_dir, vel_path_base(f->destination));

    if (!name)
        return -ENOMEM;
    int rc = vel_fs_unlink(fs, name, &err);
    if (rc == 0)
        rc = vel_fs_link(fs, f->source, name, &err);
    if (rc < 0) {
        free(name);
        snprintf(text, VELOC_TRANSPORT_TEXT, "%.500s", err.text);
        return -ENOTSUP;
    }
    t->links[i] = name;
    return 0;
}

static int begin(struct transfer *t, size_t i, char *text)
{
    const struct veloc_transport_file *f = &t->batch->files[i];
    char *from = vel_path_dir(f->source), *to = vel_path_dir(f->destination);
    int rc = from && to ? link_source(t, i, from, text) : -ENOMEM;

    if (rc == 0) {
        cppr_return_t moved = cppr_mv(&t->info[i], NULL, CPPR_FLAG_TRACK_PROGRESS, NULL,
                                      to, from, vel_path_base(f->destination));
        if (moved == CPPR_SUCCESS)
            t->n = i + 1;
        else
            rc = failed(moved, "cppr_mv of", f->source, text);
    }
    free(from);
    free(to);
    return rc;
}

/* Wait for all that was begun; it may have failed, but it writes no more. */
static int finish(struct transfer *t, char *text)
{
    enum { SLICE_MS = 1000 };

    while (t->n > 0) {
        cppr_return_t waited = cppr_wait_all((uint32_t)t->n, t->info, SLICE_MS);
        cppr_return_t rc = cppr_test_all((uint32_t)t->n, t->info);
        size_t n = 0;

        if (rc != CPPR_SUCCESS)
            return failed(rc, "cppr_test_all", "", text);
        while (n < t->n && t->info[n].status == CPPR_STATUS_COMPLETE)
            n++;
        if (n == t->n)
            break;
        if (waited != CPPR_SUCCESS) /* perhaps it did not wait at all */
            vel_clock_sleep(vel_clock_system(), 10 * VEL_CLOCK_MS);
    }
    return 0;
}

static int plugin_start(void *instance, const struct veloc_transport_batch *batch,
                        void **ret_transfer, char *text)
{
    char ignored[VELOC_TRANSPORT_TEXT];
    struct transfer *t = calloc(1, sizeof *t);
    int rc = 0;

    if (!t)
        return -ENOMEM;
    t->batch = batch;
    t->links = calloc(batch->n, sizeof *t->links);
    t->info = calloc(batch->n, sizeof *t->info);
    if (!t->links || !t->info)
        rc = -ENOMEM;
    for (size_t i = 0; i < batch->n && rc == 0; i++)
        rc = begin(t, i, text);
    if (rc < 0) {
        finish(t, ignored); /* all files or none */
        plugin_free(instance, t);
        return rc;
    }
    *ret_transfer = t;
    return 0;
}

/* From what the service wrote last into our array. */
static int progress_of(const struct transfer *t,
                       struct veloc_transport_progress *ret_progress, char *text)
{
    struct veloc_transport_progress progress = {1, 0};

    for (size_t i = 0; i < t->n; i++) {
        const struct cppr_op_info *info = &t->info[i];
        const struct veloc_transport_file *f = &t->batch->files[i];

        if (info->status != CPPR_STATUS_COMPLETE) {
            uint64_t percent = info->progress > 0 ? (uint64_t)info->progress : 0;
            progress.is_done = 0;
            progress.bytes += f->size / 100 * (percent < 100 ? percent : 100);
        } else if (info->retcode != CPPR_SUCCESS) {
            return failed(info->retcode, "moving", f->source, text);
        } else {
            progress.bytes += f->size;
        }
    }
    *ret_progress = progress;
    return 0;
}

static int plugin_test(void *instance, void *transfer,
                       struct veloc_transport_progress *ret_progress, char *text)
{
    struct transfer *t = transfer;
    cppr_return_t rc = cppr_test_all((uint32_t)t->n, t->info);

    (void)instance;
    if (rc != CPPR_SUCCESS)
        return failed(rc, "cppr_test_all", "", text);
    return progress_of(t, ret_progress, text);
}

static int plugin_cancel(void *instance, void *transfer, char *text)
{
    (void)instance;
    return finish(transfer, text);
}

static const struct veloc_transport_ops ops = {
    .abi = VELOC_TRANSPORT_ABI,
    .size = sizeof ops,
    .name = "CPPR",
    .version = PACKAGE_VERSION,
    .open = plugin_open,
    .close = plugin_close,
    .start = plugin_start,
    .test = plugin_test,
    .cancel = plugin_cancel,
    .free = plugin_free,
};

const struct veloc_transport_ops *veloc_transport_entry(unsigned host_abi)
{
    return host_abi == VELOC_TRANSPORT_ABI ? &ops : NULL;
}
