/* SPDX-License-Identifier: BSD-3-Clause */
/* lofi - a member's files as one string of bytes: read at an offset, or written there.
 *
 * Files are opened when they are touched, and only a few are open at a time, so that a
 * list of ten thousand costs no descriptors.
 */
#ifndef VEL_RED_LOFI_H
#define VEL_RED_LOFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "sys/fs.h"

struct vel_lofi;

/* An empty string over files in `dir` (both borrowed until destroy); to be written:
 * files are created anew (O_EXCL) when they are first touched. NULL when out of memory.
 */
struct vel_lofi *vel_lofi_create(struct vel_fs *fs, const char *dir, bool is_written);

/* Close what is open; without a check: a writer calls vel_lofi_sync first. */
void vel_lofi_destroy(struct vel_lofi *lofi);

/* Put a file of that size at the end; `name` is copied. */
int vel_lofi_add(struct vel_lofi *lofi, const char *name, uint64_t size,
                 struct vel_err *err);

uint64_t vel_lofi_size(const struct vel_lofi *lofi);

/* Bytes behind the end read as zeros, and are dropped when written. */
int vel_lofi_read(struct vel_lofi *lofi, uint64_t at, void *bytes, size_t len,
                  struct vel_err *err);
int vel_lofi_write(struct vel_lofi *lofi, uint64_t at, const void *bytes, size_t len,
                   struct vel_err *err);

/* Create the files that no byte was written to, give every file its size, fsync and
 * close all. */
int vel_lofi_sync(struct vel_lofi *lofi, struct vel_err *err);

#endif
