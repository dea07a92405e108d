/* SPDX-License-Identifier: BSD-3-Clause */
/* record - typed JSON records on disk: checksummed, replaced whole
 * (doc/format-record.txt).
 *
 * A record has a type, a version and a body. Loading tells apart what its caller must:
 * not there (VEL_ENOENT), damaged (VEL_ECORRUPT), written by a newer h5veloc
 * (VEL_EUNSUP).
 */
#ifndef VEL_RECORD_RECORD_H
#define VEL_RECORD_RECORD_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "record/node.h"
#include "sys/fs.h"

enum { VEL_RECORD_VERSION_MAX = 9999 };

/* Append the bytes of a record to *ret. */
int vel_record_encode(const char *type, int version, const struct vel_node *body,
                      struct vel_buf *ret, struct vel_err *err);

/* The body of a record of that type and of a version from 1 to `newest`; the caller
 * destroys it. */
int vel_record_decode(const void *bytes, size_t len, const char *type, int newest,
                      int *ret_version, struct vel_node **ret_body,
                      struct vel_err *err);

/* The same with a file, which is replaced whole and readable by its owner only. */
int vel_record_save(struct vel_fs *fs, const char *path, const char *type, int version,
                    const struct vel_node *body, struct vel_err *err);

/* The same by one of several writers, and a loss of power may leave it torn: see
 * vel_fs_replace_unsynced(). */
int vel_record_save_unsynced(struct vel_fs *fs, const char *path, int64_t writer,
                             const char *type, int version, const struct vel_node *body,
                             struct vel_err *err);
int vel_record_load(struct vel_fs *fs, const char *path, const char *type, int newest,
                    int *ret_version, struct vel_node **ret_body, struct vel_err *err);

#endif
