/* SPDX-License-Identifier: BSD-3-Clause */
/* plugin - see the header.
 *
 * A plug-in is somebody else's code: its table may be shorter than ours (what it does
 * not know is NULL), and its sentence may lack the ending zero.
 */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "xfer/plugin.h"

struct vel_plugin {
    void *library;
    struct veloc_transport_ops ops; /* NULL where the plug-in has nothing */
    void *instance;
    pthread_mutex_t lock; /* held while the plug-in is called */
};

/* room for what a plug-in says about one call */
struct answer {
    char text[VELOC_TRANSPORT_TEXT];
};

static int failed(const struct vel_plugin *plugin, int rc, struct answer *answer,
                  const char *what, struct vel_err *err)
{
    const char *name = plugin->ops.name;

    answer->text[VELOC_TRANSPORT_TEXT - 1] = 0;
    if (rc > 0) /* not what the interface allows; do not take it for a success */
        rc = -EIO;
    if (answer->text[0])
        return vel_fail(err, vel_status_of_errno(-rc), "%s cannot %s: %s", name, what,
                        answer->text);
    return vel_fail_errno(err, -rc, "%s cannot %s", name, what);
}

static int lacks(const struct vel_plugin *plugin, const char *what, struct vel_err *err)
{
    return vel_fail(err, VEL_EUNSUP, "%s cannot %s", plugin->ops.name, what);
}

/* the table, as far as the plug-in has one */
static int take_ops(struct vel_plugin *plugin, const struct veloc_transport_ops *ops,
                    const char *path, struct vel_err *err)
{
    /* up to the last operation that must be there */
    const size_t least = offsetof(struct veloc_transport_ops, save);

    if (!ops || ops->abi != VELOC_TRANSPORT_ABI)
        return vel_fail(err, VEL_EUNSUP,
                        "%s does not serve version %d of veloc_transport.h: build it "
                        "for this h5veloc",
                        path, VELOC_TRANSPORT_ABI);
    if (ops->size < least)
        return vel_fail(err, VEL_EUNSUP, "%s has a table of %zu bytes, not of %zu",
                        path, ops->size, least);
    memcpy(&plugin->ops, ops,
           ops->size < sizeof plugin->ops ? ops->size : sizeof plugin->ops);
    ops = &plugin->ops;
    if (!ops->name || !ops->open || !ops->close || !ops->start || !ops->test ||
        !ops->free || !ops->save != !ops->resume)
        return vel_fail(err, VEL_EUNSUP,
                        "%s lacks a name or an operation that is not optional", path);
    return 0;
}

static int load(struct vel_plugin *plugin, const char *path, struct vel_err *err)
{
    const struct veloc_transport_ops *(*entry)(unsigned);

    plugin->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!plugin->library)
        return vel_fail(err, VEL_EUNSUP, "cannot load: %s", dlerror());
    /* POSIX makes a function of what dlsym gives, ISO C does not */
    *(void **)&entry = dlsym(plugin->library, "veloc_transport_entry");
    if (!entry)
        return vel_fail(err, VEL_EUNSUP,
                        "%s is no transfer plug-in: it has no veloc_transport_entry",
                        path);
    return take_ops(plugin, entry(VELOC_TRANSPORT_ABI), path, err);
}

static void unload(struct vel_plugin *plugin)
{
    if (plugin->library)
        dlclose(plugin->library);
    pthread_mutex_destroy(&plugin->lock);
    free(plugin);
}

/* Without its instance. */
static int load_new(const char *path, struct vel_plugin **ret_plugin,
                    struct vel_err *err)
{
    struct vel_plugin *plugin = calloc(1, sizeof *plugin);

    if (!plugin)
        return vel_out_of_memory(err, path);
    pthread_mutex_init(&plugin->lock, NULL);
    int rc = load(plugin, path, err);
    if (rc < 0)
        unload(plugin);
    else
        *ret_plugin = plugin;
    return rc;
}

int vel_plugin_open(const char *path, unsigned rank, struct vel_plugin **ret_plugin,
                    struct vel_err *err)
{
    struct answer answer = {""};
    struct vel_plugin *plugin = NULL;
    int rc = load_new(path, &plugin, err);

    if (rc < 0)
        return rc;
    rc = plugin->ops.open(rank, &plugin->instance, answer.text);
    if (rc != 0) {
        rc = failed(plugin, rc, &answer, "be used", err);
        unload(plugin);
        return rc;
    }
    *ret_plugin = plugin;
    return 0;
}

int vel_plugin_check(const char *path, struct vel_err *err)
{
    struct vel_plugin *plugin = NULL;
    int rc = load_new(path, &plugin, err);

    if (rc == 0)
        unload(plugin);
    return rc;
}

void vel_plugin_close(struct vel_plugin *plugin)
{
    if (!plugin)
        return;
    int saved = errno;
    plugin->ops.close(plugin->instance);
    unload(plugin);
    errno = saved;
}

const char *vel_plugin_name(const struct vel_plugin *plugin)
{
    return plugin->ops.name;
}

int vel_plugin_start(struct vel_plugin *plugin,
                     const struct veloc_transport_batch *batch, void **ret_transfer,
                     struct vel_err *err)
{
    struct answer answer = {""};
    void *transfer = NULL;
    pthread_mutex_lock(&plugin->lock);
    int rc = plugin->ops.start(plugin->instance, batch, &transfer, answer.text);
    pthread_mutex_unlock(&plugin->lock);

    if (rc != 0)
        return failed(plugin, rc, &answer, "move the files", err);
    *ret_transfer = transfer;
    return 0;
}

int vel_plugin_resume(struct vel_plugin *plugin,
                      const struct veloc_transport_batch *batch, const void *bytes,
                      size_t len, void **ret_transfer, struct vel_err *err)
{
    static const char what[] = "take over a transfer";
    struct answer answer = {""};
    void *transfer = NULL;

    if (!plugin->ops.resume)
        return lacks(plugin, what, err);
    pthread_mutex_lock(&plugin->lock);
    int rc =
        plugin->ops.resume(plugin->instance, batch, bytes, len, &transfer, answer.text);
    pthread_mutex_unlock(&plugin->lock);
    if (rc != 0)
        return failed(plugin, rc, &answer, what, err);
    *ret_transfer = transfer;
    return 0;
}

int vel_plugin_test(struct vel_plugin *plugin, void *transfer,
                    struct veloc_transport_progress *ret_progress, struct vel_err *err)
{
    struct answer answer = {""};
    struct veloc_transport_progress progress = {0, 0};
    pthread_mutex_lock(&plugin->lock);
    int rc = plugin->ops.test(plugin->instance, transfer, &progress, answer.text);
    pthread_mutex_unlock(&plugin->lock);

    if (rc != 0)
        return failed(plugin, rc, &answer, "move the files", err);
    *ret_progress = progress;
    return 0;
}

bool vel_plugin_can_wait(const struct vel_plugin *plugin)
{
    return plugin->ops.wait;
}

int vel_plugin_wait(struct vel_plugin *plugin, void *transfer, unsigned ms,
                    struct veloc_transport_progress *ret_progress, struct vel_err *err)
{
    struct answer answer = {""};
    struct veloc_transport_progress progress = {0, 0};

    if (!plugin->ops.wait)
        return lacks(plugin, "wait", err);
    pthread_mutex_lock(&plugin->lock);
    int rc = plugin->ops.wait(plugin->instance, transfer, ms, &progress, answer.text);
    pthread_mutex_unlock(&plugin->lock);
    if (rc != 0)
        return failed(plugin, rc, &answer, "move the files", err);
    *ret_progress = progress;
    return 0;
}

int vel_plugin_cancel(struct vel_plugin *plugin, void *transfer, struct vel_err *err)
{
    static const char what[] = "stop a transfer";
    struct answer answer = {""};

    if (!plugin->ops.cancel)
        return lacks(plugin, what, err);
    pthread_mutex_lock(&plugin->lock);
    int rc = plugin->ops.cancel(plugin->instance, transfer, answer.text);
    pthread_mutex_unlock(&plugin->lock);
    return rc != 0 ? failed(plugin, rc, &answer, what, err) : 0;
}

void vel_plugin_free(struct vel_plugin *plugin, void *transfer)
{
    pthread_mutex_lock(&plugin->lock);
    plugin->ops.free(plugin->instance, transfer);
    pthread_mutex_unlock(&plugin->lock);
}

int vel_plugin_save(struct vel_plugin *plugin, void *transfer, struct vel_buf *state,
                    struct vel_err *err)
{
    static const char what[] = "hand a transfer over";
    struct answer answer = {""};
    size_t room = 256, most = 1 << 20;

    if (!plugin->ops.save)
        return lacks(plugin, what, err);
    for (;;) {
        size_t len = room;

        if (vel_buf_reserve(state, room) < 0)
            return vel_out_of_memory(err, what);
        pthread_mutex_lock(&plugin->lock);
        int rc = plugin->ops.save(plugin->instance, transfer, state->data + state->len,
                                  &len, answer.text);
        pthread_mutex_unlock(&plugin->lock);
        if (rc == 0 && len <= room) {
            state->len += len;
            state->data[state->len] = 0;
            return 0;
        }
        if (rc != -ENOSPC || len <= room || len > most)
            return failed(plugin, rc == 0 ? -EIO : rc, &answer, what, err);
        room = len;
        memset(&answer, 0, sizeof answer);
    }
}
