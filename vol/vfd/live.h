/* SPDX-License-Identifier: BSD-3-Clause */
/* live - files that are written at their own paths, with an undo journal beside each
 * (doc/format-journal.txt, 7). Of HDF5's driver sec2 alone. */
#ifndef VEL_VOL_VFD_LIVE_H
#define VEL_VOL_VFD_LIVE_H

#include <stdbool.h>

#include <hdf5.h>

#include "vfd/opened.h"

/* The driver has opened a file to be written, which has a journal in `dir` from now on,
 * if that is possible; `name` in sentences. is_new: nothing of it is worth keeping
 * before its first H5Fflush. */
void vel_live_keep(struct vel_opened *opened, const char *name, bool is_new);

/* HDF5 has opened the file with this handle (H5Fget_vfd_handle()); `name` in sentences.
 * False: it has no journal, which was told. */
bool vel_live_begin(const char *name, const void *handle, bool is_new);

/* HDF5 opens it by itself. */
void vel_live_begin_unseen(struct vel_opened *opened);

/* It is read while it is written from now on: it has none any more. */
void vel_live_give_up(const void *handle, const char *why);

/* H5Fflush begins, and ends: what was flushed meanwhile has a point. */
void vel_live_flush_begin(void);
void vel_live_flush_end(bool is_done);

/* What the driver does to a file that has a journal. */
herr_t vel_live_write(struct vel_opened *opened, const struct vel_write *write);
herr_t vel_live_truncate(struct vel_opened *opened, hid_t dxpl_id, hbool_t closing);
void vel_live_flushed(struct vel_opened *opened);
void vel_live_ends_at(const struct vel_opened *opened, haddr_t at);
herr_t vel_live_close(const struct vel_opened *opened);

#endif
