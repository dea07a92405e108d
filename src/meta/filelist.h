/* SPDX-License-Identifier: BSD-3-Clause */
/* filelist - where the files of some ranks of a dataset are on the prefix: by that a
 * publication goes on after a crash, and a fetch finds them. A record "files"; of a
 * dataset with few files its entry has them in the end (doc/format-meta.txt, 7).
 */
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

/* As part of another record: an object, NULL without memory; what it says is appended
 * to *ret. */
struct vel_node *vel_filelist_to_node(const struct vel_vec *files, struct vel_err *err);
int vel_filelist_from_node(const struct vel_node *node, struct vel_vec *ret,
                           struct vel_err *err);

/* The same as bytes of a record, for messages between ranks; decode appends to *ret. */
int vel_filelist_encode(const struct vel_vec *files, struct vel_buf *ret,
                        struct vel_err *err);
int vel_filelist_decode(const void *bytes, size_t len, struct vel_vec *ret,
                        struct vel_err *err);

/* The directory of a dataset's lists, and of what else belongs to them: 1 when it was
 * made, 0 when it was there. Its name is on the disk when a list is. */
int vel_filelist_make_dir(struct vel_fs *fs, const char *dir, int64_t id,
                          struct vel_err *err);

/* Is a list that takes so many bytes short, as one of so many of its dataset? All that
 * are so have room in the entry. */
bool vel_filelist_is_short(size_t len, int lists);

/* Files record `list` of dataset `id` in dir, PREFIX/.veloc, which is there. A node and
 * whoever renames for it may save it at once. Unless it `lasts` it outlives this
 * process, and perhaps no loss of power. */
int vel_filelist_save(struct vel_fs *fs, const char *dir, int64_t id, int list,
                      const struct vel_vec *files, bool lasts, struct vel_err *err);
int vel_filelist_load(struct vel_fs *fs, const char *dir, int64_t id, int list,
                      struct vel_vec *ret, struct vel_err *err);

/* The entry has it now. */
void vel_filelist_remove(struct vel_fs *fs, const char *dir, int64_t id, int list);
/* When nothing is left in it. */
void vel_filelist_remove_dir(struct vel_fs *fs, const char *dir, int64_t id);

/* The same record at any path. */
int vel_filelist_save_at(struct vel_fs *fs, const char *path,
                         const struct vel_vec *files, struct vel_err *err);
int vel_filelist_load_at(struct vel_fs *fs, const char *path, struct vel_vec *ret,
                         struct vel_err *err);

#endif
