/* SPDX-License-Identifier: BSD-3-Clause */
/* filelist - record "files": where the files of some ranks of a dataset are on the
 * prefix (doc/format-meta.txt). It is what a publication goes by after a crash, and
 * what a fetch goes by. */
#ifndef VEL_META_FILELIST_H
#define VEL_META_FILELIST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"
#include "record/node.h"
#include "sys/fs.h"

struct vel_listed {
    int rank;
    char *name; /* cached name; its path on the prefix follows */
    uint64_t size;
    uint32_t crc;
    uint32_t mode;
    int64_t mtime_s;
    uint32_t mtime_ns;
    int container;   /* below 0: a file of its own */
    uint64_t offset; /* in the container */
    bool is_through; /* written where it belongs, and never in a cache */
    bool is_patch;   /* its temporary name has what changed alone (xfer/patch.h) */
};

void vel_listed_fini(struct vel_listed *file);

/* Frees the items, struct vel_listed, too. */
void vel_filelist_fini(struct vel_vec *files);

/* The same as bytes of a record, for messages between ranks; decode appends to *ret. */
int vel_filelist_encode(const struct vel_vec *files, struct vel_buf *ret,
                        struct vel_err *err);
int vel_filelist_decode(const void *bytes, size_t len, struct vel_vec *ret,
                        struct vel_err *err);

/* The directory of a dataset's lists, and of what else belongs to them: 1 when it was
 * made, 0 when it was there. Its name is on the disk when a list is. */
int vel_filelist_make_dir(struct vel_fs *fs, const char *dir, int64_t id,
                          struct vel_err *err);

/* Files record `list` of dataset `id` in dir, PREFIX/.veloc. The directory is there. A
 * node and whoever renames for it may save it at once. */
int vel_filelist_save(struct vel_fs *fs, const char *dir, int64_t id, int list,
                      const struct vel_vec *files, struct vel_err *err);
int vel_filelist_load(struct vel_fs *fs, const char *dir, int64_t id, int list,
                      struct vel_vec *ret, struct vel_err *err);

/* Each file of lists 0 to `lists` - 1 of a dataset, as far as they can be read, until
 * one gives another result than 0, which is returned. */
typedef int vel_filelist_f(void *arg, const struct vel_listed *file);
int vel_filelist_each(struct vel_fs *fs, const char *dir, int64_t id, int lists,
                      vel_filelist_f *each, void *arg);

/* The same record at any path. */
int vel_filelist_save_at(struct vel_fs *fs, const char *path,
                         const struct vel_vec *files, struct vel_err *err);
int vel_filelist_load_at(struct vel_fs *fs, const char *path, struct vel_vec *ret,
                         struct vel_err *err);

#endif
