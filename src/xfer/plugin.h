/* SPDX-License-Identifier: BSD-3-Clause */
/* plugin - transfer plug-ins as shared objects: loaded, checked, called. The one door
 * to dlopen.
 *
 * The functions below are those of veloc_transport.h with our errors; an optional
 * operation that a plug-in lacks is VEL_EUNSUP. Used by any thread: a plug-in is called
 * by one at a time.
 */
#ifndef VEL_XFER_PLUGIN_H
#define VEL_XFER_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "veloc_transport.h"

struct vel_plugin;

/* Load the shared object at `path` and open its instance. VEL_EUNSUP when it is not
 * there, is no plug-in or of another ABI. */
int vel_plugin_open(const char *path, unsigned rank, struct vel_plugin **ret_plugin,
                    struct vel_err *err);
void vel_plugin_close(struct vel_plugin *plugin);

/* Could it be loaded? Its instance is not opened: what it needs may be on other nodes.
 */
int vel_plugin_check(const char *path, struct vel_err *err);

const char *vel_plugin_name(const struct vel_plugin *plugin);

/* The batch is borrowed until vel_plugin_free(). */
int vel_plugin_start(struct vel_plugin *plugin,
                     const struct veloc_transport_batch *batch, void **ret_transfer,
                     struct vel_err *err);
int vel_plugin_resume(struct vel_plugin *plugin,
                      const struct veloc_transport_batch *batch, const void *bytes,
                      size_t len, void **ret_transfer, struct vel_err *err);

/* Wait up to `ms` milliseconds, where the plug-in can do more than be asked. */
bool vel_plugin_can_wait(const struct vel_plugin *plugin);
int vel_plugin_wait(struct vel_plugin *plugin, void *transfer, unsigned ms,
                    struct veloc_transport_progress *ret_progress, struct vel_err *err);
int vel_plugin_test(struct vel_plugin *plugin, void *transfer,
                    struct veloc_transport_progress *ret_progress, struct vel_err *err);
int vel_plugin_cancel(struct vel_plugin *plugin, void *transfer, struct vel_err *err);
void vel_plugin_free(struct vel_plugin *plugin, void *transfer);

/* What another process needs, appended to *state. */
int vel_plugin_save(struct vel_plugin *plugin, void *transfer, struct vel_buf *state,
                    struct vel_err *err);

#endif
