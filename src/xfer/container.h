/* SPDX-License-Identifier: BSD-3-Clause */
/* container - many small files in one on the prefix: where each lies, in and out. */
#ifndef VEL_XFER_CONTAINER_H
#define VEL_XFER_CONTAINER_H

#include "base/vec.h"
#include "meta/filelist.h"
#include "xfer/crew.h"
#include "xfer/flush.h"

/* Local. Give every file (struct vel_flush_file) of list `list` of a dataset that has
 * `lists` of them its container and its offset there: they lie one behind the other, a
 * container ends behind the file that fills it, and the i-th has the number i * lists +
 * list, which no other list gives. */
int vel_container_plan(struct vel_vec *files, uint64_t container_size, int list,
                       int lists, struct vel_err *err);

/* For whoever goes through a list from its end: is this file one by itself, or the last
 * one of its container? *last is -1 before. */
bool vel_container_ends(const struct vel_listed *file, int *last);

/* Local. Make a container, `to`, of those of the files (struct vel_flush_file) that are
 * in the container of the last one: each is checked as vel_copy_file() does, and all
 * are synced in the end. */
int vel_container_fill(const struct vel_crew *crew, const char *to,
                       const struct vel_flush_file *files, size_t n,
                       struct vel_err *err);

/* Local. Stands a container at `path`, with so many bytes as its last file needs? */
int vel_container_stands(const struct vel_crew *crew, const char *path,
                         const struct vel_listed *last, struct vel_err *err);

/* Local. Copy a file into its container, or out of it to `to`: checked against size and
 * checksum, synced, throttled as crew->copy says. */
int vel_container_put(const struct vel_crew *crew, int64_t id, const char *from,
                      struct vel_listed *file, struct vel_err *err);
int vel_container_get(const struct vel_crew *crew, int64_t id,
                      const struct vel_listed *file, const char *to,
                      struct vel_err *err);

/* Local. Are its bytes in the container those that were recorded? */
int vel_container_check(const struct vel_crew *crew, int64_t id,
                        const struct vel_listed *file, struct vel_err *err);

#endif
