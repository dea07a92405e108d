/* SPDX-License-Identifier: BSD-3-Clause */
/* transport - see the header. What a service moved is no more believed than what we
 * read: vel_copy_check() reads it back, and brings it to its disk. */
#include "config.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "conf/conf.h"
#include "sys/fs.h"
#include "xfer/plugin.h"
#include "xfer/transport.h"

/* one row per value of FLUSH_TYPE; without a module this process copies */
static const struct {
    const char *name;
    const char *module;
    const char *remedy;
} rows[] = {
    [VEL_FLUSH_POSIX] = {"POSIX", NULL, NULL},
    [VEL_FLUSH_SYNC] = {"SYNC", NULL, NULL},
    [VEL_FLUSH_PTHREAD] = {"PTHREAD", NULL, NULL},
    [VEL_FLUSH_BBAPI] = {"BBAPI", "bbapi.so",
                         "configure h5veloc with --with-bbapi=DIR, where IBM's burst "
                         "buffer API is"},
    [VEL_FLUSH_CPPR] =
        {"CPPR", "cppr.so",
         "configure h5veloc with --with-cppr=DIR, where Intel's CPPR is"},
    [VEL_FLUSH_DATAWARP] = {"DATAWARP", "datawarp.so",
                            "configure h5veloc with --with-datawarp=DIR, where Cray's "
                            "DataWarp API is"},
};

struct vel_transport {
    struct vel_transport_setup setup; /* without its texts */
    struct vel_plugin *plugin;        /* NULL: this process copies */
    pthread_mutex_t lock;             /* guards what follows */
    bool has_warned;
};

struct vel_transfer {
    struct vel_transport *transport;
    struct vel_copy_how how;
    const struct vel_xfer_file *files;
    size_t n;
    uint64_t bytes; /* of all files */

    struct vel_plugin *plugin; /* that moves this one; NULL: we do */
    void *handle;              /* the plug-in's */
    char *store;
    struct veloc_transport_file *list; /* the files as plug-ins know them */
    struct veloc_transport_batch batch;
    bool is_over;  /* nothing moves any more */
    bool is_loose; /* or it does, and cannot be stopped */
    bool is_kept;  /* the temporaries are whole, or not there any more */
};

/* --- the transport ---------------------------------------------------------------- */

static int open_plugin(const struct vel_transport_setup *setup,
                       struct vel_plugin **ret_plugin, struct vel_err *err)
{
    const char *dir = setup->dir ? setup->dir : H5VELOC_TRANSPORTDIR;

    if (setup->plugin)
        return vel_plugin_open(setup->plugin, setup->rank, ret_plugin, err);
    char *path = vel_path_join(dir, rows[setup->type].module);
    if (!path)
        return vel_out_of_memory(err, dir);
    int rc = vel_plugin_open(path, setup->rank, ret_plugin, err);
    free(path);
    return rc;
}

static void tell_missing(const struct vel_transport_setup *setup,
                         const struct vel_err *err)
{
    if (setup->plugin)
        vel_log_shared(VEL_LOG_WARN,
                       "FLUSH_PLUGIN is not to be had, the processes copy their files "
                       "themselves; name a transfer plug-in of this h5veloc: %s",
                       err->text);
    else
        vel_log_shared(VEL_LOG_WARN,
                       "flushing by %s is not to be had, the processes copy their "
                       "files themselves; %s: %s",
                       rows[setup->type].name, rows[setup->type].remedy, err->text);
}

int vel_transport_open(const struct vel_transport_setup *setup,
                       struct vel_transport **ret_transport, struct vel_err *err)
{
    struct vel_err why = {0};
    struct vel_transport *t;

    if (setup->type < 0 || (size_t)setup->type >= sizeof rows / sizeof rows[0])
        return vel_fail(err, VEL_EINVAL, "there is no FLUSH_TYPE %d", setup->type);
    t = calloc(1, sizeof *t);
    if (!t)
        return vel_out_of_memory(err, "a transport");
    t->setup = *setup;
    t->setup.plugin = t->setup.dir = NULL;
    pthread_mutex_init(&t->lock, NULL);
    if ((setup->plugin || rows[setup->type].module) &&
        open_plugin(setup, &t->plugin, &why) < 0)
        tell_missing(setup, &why);
    else if (t->plugin)
        vel_log_shared(VEL_LOG_DEBUG, "files are flushed by %s", vel_transport_name(t));
    *ret_transport = t;
    return 0;
}

void vel_transport_close(struct vel_transport *transport)
{
    if (!transport)
        return;
    vel_plugin_close(transport->plugin);
    pthread_mutex_destroy(&transport->lock);
    free(transport);
}

const char *vel_transport_name(const struct vel_transport *transport)
{
    return transport->plugin ? vel_plugin_name(transport->plugin)
                             : rows[VEL_FLUSH_POSIX].name;
}

bool vel_transport_is_service(const struct vel_transport *transport)
{
    return transport->plugin != NULL;
}

/* --- a transfer: begin -------------------------------------------------------------
 */

static void transfer_free(struct vel_transfer *transfer)
{
    if (transfer->plugin && transfer->handle)
        vel_plugin_free(transfer->plugin, transfer->handle);
    free(transfer->list);
    free(transfer->store);
    free(transfer);
}

static void fill_batch(struct vel_transfer *t)
{
    for (size_t i = 0; i < t->n; i++) {
        t->list[i] = (struct veloc_transport_file){.source = t->files[i].from,
                                                   .destination = t->files[i].to,
                                                   .size = t->files[i].size};
        t->bytes += t->files[i].size;
    }
    t->batch = (struct veloc_transport_batch){.size = sizeof t->batch,
                                              .store = t->store,
                                              .files = t->list,
                                              .n = t->n,
                                              .width = t->transport->setup.width};
}

static int transfer_create(struct vel_transport *transport,
                           const struct vel_copy_how *how, const char *store,
                           const struct vel_xfer_file *files, size_t n,
                           struct vel_transfer **ret_transfer, struct vel_err *err)
{
    struct vel_transfer *t = calloc(1, sizeof *t);

    if (!t)
        return vel_out_of_memory(err, "a transfer");
    t->transport = transport;
    t->how = *how;
    t->files = files;
    t->n = n;
    t->store = strdup(store);
    t->list = calloc(n > 0 ? n : 1, sizeof *t->list);
    if (!t->store || !t->list) {
        transfer_free(t);
        return vel_out_of_memory(err, "a transfer");
    }
    fill_batch(t);
    *ret_transfer = t;
    return 0;
}

static int make_room(struct vel_fs *fs, const char *path, struct vel_err *err)
{
    char *dir = vel_path_dir(path);

    if (!dir)
        return vel_out_of_memory(err, path);
    int rc = vel_fs_make_dirs(fs, dir, 0777, err);
    free(dir);
    return rc < 0 ? rc : vel_fs_unlink(fs, path, err);
}

/* Hand the files to the service. What it does not want stays with us. */
static void try_plugin(struct vel_transfer *transfer)
{
    struct vel_transport *t = transfer->transport;
    struct vel_err err = {0};

    if (vel_plugin_start(t->plugin, &transfer->batch, &transfer->handle, &err) == 0) {
        transfer->plugin = t->plugin;
        return;
    }
    pthread_mutex_lock(&t->lock);
    bool is_first = !t->has_warned;
    t->has_warned = true;
    pthread_mutex_unlock(&t->lock);
    vel_log(is_first ? VEL_LOG_WARN : VEL_LOG_DEBUG,
            "this process copies the files itself: %s", err.text);
}

int vel_transfer_start(struct vel_transport *transport, const struct vel_copy_how *how,
                       const char *store, const struct vel_xfer_file *files, size_t n,
                       struct vel_transfer **ret_transfer, struct vel_err *err)
{
    struct vel_transfer *transfer = NULL;
    int rc = transfer_create(transport, how, store, files, n, &transfer, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = make_room(how->fs, files[i].to, err);
    if (rc < 0) {
        transfer_free(transfer);
        return rc;
    }
    if (transport->plugin && n > 0)
        try_plugin(transfer);
    *ret_transfer = transfer;
    return 0;
}

int vel_transfer_save(struct vel_transfer *transfer, struct vel_buf *state,
                      struct vel_err *err)
{
    if (!transfer->plugin)
        return vel_fail(err, VEL_EUNSUP,
                        "what this process copies cannot be taken over by another");
    return vel_plugin_save(transfer->plugin, transfer->handle, state, err);
}

int vel_transfer_resume(struct vel_transport *transport, const struct vel_copy_how *how,
                        const char *store, const struct vel_xfer_file *files, size_t n,
                        const void *state, size_t len,
                        struct vel_transfer **ret_transfer, struct vel_err *err)
{
    struct vel_transfer *transfer = NULL;

    if (!transport->plugin)
        return vel_fail(err, VEL_EUNSUP,
                        "the transfer belongs to a service that is not to be had now");
    int rc = transfer_create(transport, how, store, files, n, &transfer, err);
    if (rc < 0)
        return rc;
    rc = vel_plugin_resume(transport->plugin, &transfer->batch, state, len,
                           &transfer->handle, err);
    if (rc < 0) {
        transfer_free(transfer);
        return rc;
    }
    transfer->plugin = transport->plugin;
    *ret_transfer = transfer;
    return 0;
}

/* --- a transfer: until it is done ---------------------------------------------------
 */

enum { ASK_MS = 100 }; /* how long a plug-in may keep us from asking the watch */

/* how far it is, after a while; the pause grows while we can only ask */
static int look(struct vel_transfer *transfer, uint64_t *pause,
                struct veloc_transport_progress *ret_progress, struct vel_err *err)
{
    struct vel_plugin *plugin = transfer->plugin;

    if (vel_plugin_can_wait(plugin))
        return vel_plugin_wait(plugin, transfer->handle, ASK_MS, ret_progress, err);
    int rc = vel_plugin_test(plugin, transfer->handle, ret_progress, err);
    if (rc == 0 && !ret_progress->is_done) {
        vel_clock_sleep(transfer->transport->setup.clock, *pause);
        *pause =
            *pause * 2 < ASK_MS * VEL_CLOCK_MS ? *pause * 2 : ASK_MS * VEL_CLOCK_MS;
    }
    return rc;
}

/* Without a watch: until it ends. */
static int run_plugin(struct vel_transfer *transfer, const struct vel_watch *watch,
                      struct vel_err *err)
{
    struct veloc_transport_progress progress = {0, 0};
    uint64_t told = 0, pause = VEL_CLOCK_MS;

    while (!progress.is_done) {
        int rc = look(transfer, &pause, &progress, err);
        if (rc < 0)
            return rc;
        uint64_t now = progress.is_done || progress.bytes > transfer->bytes
                           ? transfer->bytes
                           : progress.bytes;
        uint64_t more = now > told ? now - told : 0;
        told += more;
        if (!vel_watch_step(watch, more) && !progress.is_done)
            return vel_fail(err, VEL_ECANCEL, "%s: cancelled",
                            vel_plugin_name(transfer->plugin));
    }
    transfer->is_over = true;
    return 0;
}

/* Nothing shall write any more. Where the plug-in cannot stop, its end is waited for.
 */
static void stop_plugin(struct vel_transfer *transfer)
{
    struct vel_err err = {0};

    if (!transfer->plugin || transfer->is_over)
        return;
    int rc = vel_plugin_cancel(transfer->plugin, transfer->handle, &err);
    if (rc == VEL_EUNSUP) {
        run_plugin(transfer, NULL, &err); /* a failure is an end, too */
        rc = 0;
    }
    transfer->is_over = rc == 0;
    transfer->is_loose = rc < 0;
    if (rc < 0)
        vel_log(VEL_LOG_WARN,
                "a transfer goes on that was to be stopped, its copies are left under "
                "temporary names, and the next launch removes them: %s",
                err.text);
}

static void remove_all(struct vel_transfer *transfer)
{
    for (size_t i = 0; i < transfer->n; i++)
        vel_fs_unlink(transfer->how.fs, transfer->files[i].to, NULL);
}

void vel_transfer_stop(struct vel_transfer *transfer)
{
    stop_plugin(transfer);
    if (!transfer->is_loose)
        remove_all(transfer);
    transfer->is_over = transfer->is_kept = true;
}

int vel_transfer_wait(struct vel_transfer *transfer, const struct vel_watch *watch,
                      struct vel_xfer_copied *ret_copied, struct vel_err *err)
{
    struct vel_copy_how how = transfer->how;
    bool is_ours = !transfer->plugin;
    int rc = is_ours ? 0 : run_plugin(transfer, watch, err);

    how.watch = watch;
    for (size_t i = 0; i < transfer->n && rc == 0; i++)
        rc = is_ours ? vel_copy_file(&how, &transfer->files[i], &ret_copied[i], err)
                     : vel_copy_check(&how, &transfer->files[i], &ret_copied[i], err);
    if (rc < 0)
        vel_transfer_stop(transfer);
    transfer->is_over = transfer->is_kept = true;
    return rc;
}

void vel_transfer_leave(struct vel_transfer *transfer)
{
    if (transfer)
        transfer_free(transfer);
}

void vel_transfer_destroy(struct vel_transfer *transfer)
{
    if (!transfer)
        return;
    if (!transfer->is_kept)
        vel_transfer_stop(transfer);
    transfer_free(transfer);
}
