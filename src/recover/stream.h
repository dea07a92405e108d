/* SPDX-License-Identifier: BSD-3-Clause */
/* stream - all files of a rank's directory as messages from one process to another.
 *
 * First a message of 8 bytes: the length of the list; then the list, a record as in
 * meta/filelist.h; then the bytes of all files in pieces, each with a byte behind it
 * that is 0 while the sender can read. Either side keeps going when its files fail, so
 * that the other never waits: the receiver learns it at the end.
 */
#ifndef VEL_RECOVER_STREAM_H
#define VEL_RECOVER_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "comm/comm.h"
#include "sys/fs.h"
#include "xfer/throttle.h"

struct vel_stream_out;
struct vel_stream_in;

/* Begin to send what is in `dir`, no faster than the throttle lets it be read (NULL: as
 * fast as can be). A directory that cannot be read is sent as such. */
int vel_stream_out_open(struct vel_comm *comm, int to, struct vel_fs *fs,
                        const char *dir, size_t piece, struct vel_throttle *throttle,
                        struct vel_stream_out **ret, struct vel_err *err);

/* The message under way; hand it to vel_comm_wait_any, and when it is done call step,
 * which starts the next one. */
struct vel_req *vel_stream_out_pending(const struct vel_stream_out *out);
int vel_stream_out_step(struct vel_stream_out *out, struct vel_err *err);
bool vel_stream_out_is_done(const struct vel_stream_out *out);
void vel_stream_out_close(struct vel_stream_out *out);

/* The same on the other side. The files are written to "<dir>.new". */
int vel_stream_in_open(struct vel_comm *comm, int from, struct vel_fs *fs,
                       const char *dir, struct vel_throttle *throttle,
                       struct vel_stream_in **ret, struct vel_err *err);
struct vel_req *vel_stream_in_pending(const struct vel_stream_in *in);
int vel_stream_in_step(struct vel_stream_in *in, struct vel_err *err);
bool vel_stream_in_is_done(const struct vel_stream_in *in);

/* Local. Sync what came and put it in the place of `dir`; what was there goes. Fails
 * with the first reason of either side, and leaves `dir` alone; nothing stands there
 * when it was the last step that failed. */
int vel_stream_in_finish(struct vel_stream_in *in, struct vel_err *err);
void vel_stream_in_close(struct vel_stream_in *in);

#endif
