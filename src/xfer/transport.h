/* SPDX-License-Identifier: BSD-3-Clause */
/* transport - who moves the files of a dataset to the prefix: this process, or a
 * vendor's service behind a transfer plug-in; and one batch of files on its way.
 *
 * Whoever moves them, what a finished transfer leaves is the same: every file whole,
 * checked and on disk under its temporary name (doc/transport.txt). Nothing here is
 * collective.
 */
#ifndef VEL_XFER_TRANSPORT_H
#define VEL_XFER_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "sys/clock.h"
#include "xfer/copy.h"
#include "xfer/watch.h"

struct vel_transport;
struct vel_transfer;

struct vel_transport_setup {
    int type;           /* enum vel_flush_type of conf/conf.h */
    const char *plugin; /* path of a plug-in to use instead (FLUSH_PLUGIN), or NULL */
    const char *dir;    /* where the plug-ins lie; NULL: where they were installed */
    unsigned rank;      /* tells the processes of the job apart */
    unsigned width;     /* FLUSH_WIDTH, for services that write from elsewhere */
    struct vel_clock *clock;
};

/* Open what the setup names. When that is not to be had, one warning says why and what
 * would help, and the files are copied by this process. A process opens a type once and
 * uses it for all stores. What the setup points to is borrowed, its texts are not. */
int vel_transport_open(const struct vel_transport_setup *setup,
                       struct vel_transport **ret_transport, struct vel_err *err);

/* After all its transfers. */
void vel_transport_close(struct vel_transport *transport);

/* "POSIX" when this process copies, else the plug-in's name. */
const char *vel_transport_name(const struct vel_transport *transport);

/* Does a vendor's service move the files, also when this process ends? */
bool vel_transport_is_service(const struct vel_transport *transport);

/* Begin to move these files, which lie on the store at directory `store`. Their
 * directories are made, and what stands at their temporary names is removed. A service
 * begins at once; when it refuses, a warning is written once and this process copies,
 * or checks, as `how` says but for its watch. A copy by this process begins in
 * vel_transfer_wait(). files, their paths and what `how` points to are borrowed. */
int vel_transfer_start(struct vel_transport *transport, const struct vel_copy_how *how,
                       const char *store, const struct vel_xfer_file *files, size_t n,
                       struct vel_transfer **ret_transfer, struct vel_err *err);

/* What vel_transfer_resume() needs to take the transfer over in another process,
 * appended to *state. VEL_EUNSUP when it ends with this one. */
int vel_transfer_save(struct vel_transfer *transfer, struct vel_buf *state,
                      struct vel_err *err);

/* Take over what another process began with the same files. VEL_ENOENT when there is no
 * such transfer any more, VEL_EUNSUP when this transport cannot: start anew. */
int vel_transfer_resume(struct vel_transport *transport, const struct vel_copy_how *how,
                        const char *store, const struct vel_xfer_file *files, size_t n,
                        const void *state, size_t len,
                        struct vel_transfer **ret_transfer, struct vel_err *err);

/* Until all files are whole, checked and on disk, or one of them failed, or the watch
 * says stop (VEL_ECANCEL). ret_copied has room for one entry per file. On failure
 * nothing of the transfer goes on, and no temporary stands, unless it got loose. Once
 * per transfer. */
int vel_transfer_wait(struct vel_transfer *transfer, const struct vel_watch *watch,
                      struct vel_xfer_copied *ret_copied, struct vel_err *err);

/* Stop it, and remove the temporaries. */
void vel_transfer_stop(struct vel_transfer *transfer);

/* Let a service go on without this process, which has saved the transfer; it is
 * destroyed here. */
void vel_transfer_leave(struct vel_transfer *transfer);

/* A transfer that was not waited for is stopped, and its temporaries are removed. */
void vel_transfer_destroy(struct vel_transfer *transfer);

#endif
