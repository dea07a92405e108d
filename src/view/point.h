/* SPDX-License-Identifier: BSD-3-Clause */
/* point - version points of a file while it is written in a batch: as it was when the
 * program flushed it, which is found when the program is killed (doc/format-meta.txt,
 * 16).
 *
 * A flush costs a few stores: until something is written the file itself is at the
 * point, and a mark beside it says so. Only who writes then may want to keep it, as a
 * copy that shares its blocks where the file system can.
 */
#ifndef VEL_VIEW_POINT_H
#define VEL_VIEW_POINT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "sys/fs.h"

/* --- the process that writes the file --- */

struct vel_point;

enum { VEL_POINT_HEAD = 64 };

/* The file of a rank in a batch; nothing of it is kept before. may_map:
 * vel_fs_overwrites_in_place(dir). It fails where it cannot be known whether the node
 * was started again. */
int vel_point_begin(struct vel_fs *fs, const char *dir, int64_t rank, const char *name,
                    bool may_map, struct vel_point **ret, struct vel_err *err);

/* What a file is at a point. Were it closed then, it would begin with these bytes. */
struct vel_point_is {
    int64_t number; /* > 0 */
    uint64_t size;
    size_t head; /* so many */
    unsigned char bytes[VEL_POINT_HEAD];
};

/* The file is at this point; it is at another one as it was at this. */
void vel_point_set(struct vel_point *point, const struct vel_point_is *is);
void vel_point_renumber(struct vel_point *point, int64_t number);

/* It is at a point: keep a copy of it, instead of the one before. */
int vel_point_copy(struct vel_point *point, struct vel_err *err);

/* It is at a point, of which there is a copy: the open file goes on at `to`, and in its
 * place is the copy, which is as if it had been closed. After a failure all is as
 * before. */
int vel_point_part(struct vel_point *point, const char *to, struct vel_err *err);

/* It is going to be changed. */
void vel_point_leave(struct vel_point *point);

/* NULL is nothing. removes: there are no points of it any more. */
void vel_point_end(struct vel_point *point, bool removes);

/* --- who finds it --- */

/* The numbers of those that can be had, int64_t, the newest first. */
int vel_point_list(struct vel_fs *fs, const char *dir, int64_t rank, const char *name,
                   struct vel_vec *ret, struct vel_err *err);

/* The file becomes what it was at one of them. May be asked again. */
int vel_point_restore(struct vel_fs *fs, const char *dir, int64_t rank,
                      const char *name, int64_t number, int64_t *ret_size,
                      struct vel_err *err);

int vel_point_remove(struct vel_fs *fs, const char *dir, int64_t rank, const char *name,
                     struct vel_err *err);

#endif
