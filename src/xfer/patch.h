/* SPDX-License-Identifier: BSD-3-Clause */
/* patch - what differs between a file on the prefix and its next version: a redo
 * journal (doc/format-meta.txt, 7).
 *
 * It lies under the temporary name of the next version and is as durable as a whole
 * copy would be there. To give that its name means to carry the patch out: forward
 * only, and again by whoever finds it after a crash. While that is under way plain
 * readers may see a mix of both versions.
 */
#ifndef VEL_XFER_PATCH_H
#define VEL_XFER_PATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "meta/filelist.h"
#include "sys/fs.h"
#include "xfer/watch.h"

/* The file that it is a patch of, and how large that becomes. */
struct vel_patch_head {
    uint64_t inode, size;
    int64_t mtime_s;
    uint32_t mtime_ns;
    uint64_t new_size;
};

/* --- writing --- */

struct vel_patch_writer {
    struct vel_fs *fs;
    int fd;
    const char *path; /* borrowed */
    uint64_t at, most, count;
};

/* The descriptor, of an empty file, stays the caller's. */
int vel_patch_begin(struct vel_patch_writer *writer, struct vel_fs *fs, int fd,
                    const char *path, const struct vel_patch_head *head,
                    struct vel_err *err);

/* These bytes are new at `at`. VEL_EUNSUP: it is more than half of the file by now, for
 * which nobody should take a patch. */
int vel_patch_put(struct vel_patch_writer *writer, uint64_t at, const void *bytes,
                  size_t len, struct vel_err *err);
int vel_patch_end(struct vel_patch_writer *writer, struct vel_err *err);

/* --- reading --- */

/* Called for each piece, in order; with a failure it ends. */
typedef int vel_patch_piece_f(void *arg, uint64_t at, const void *bytes, size_t len,
                              struct vel_err *err);

/* The whole patch, checked piece by piece; `piece` may be NULL. VEL_ECORRUPT: it is
 * none, or was not finished. */
int vel_patch_read(struct vel_fs *fs, const char *path, struct vel_patch_head *ret_head,
                   vel_patch_piece_f *piece, void *arg, struct vel_err *err);

/* --- carrying it out --- */

struct vel_patch {
    struct vel_fs *fs;
    const char *path; /* of the patch */
    const char *dest; /* of the file */
    const char *work; /* where a new copy is made of both, see vel_patch_work() */
    const struct vel_listed *file; /* what it becomes */
    bool keeps_mode;               /* it gets the listed one */
    bool is_alone; /* nobody else can be at this patch: the file may be changed in
                      place, when only this name leads to it. Else, and when an earlier
                      attempt may have changed a part of it, a new file is made */
    const struct vel_watch *watch; /* asked piece by piece: it may let others go first,
                                      and stops nothing; NULL: nobody */
};

/* The file at `dest` is the listed one afterwards, and on disk; the patch is gone.
 * VEL_ENOENT: there is no patch. VEL_EEXIST: what stands at `dest` is not what it was
 * made for, and stays. */
int vel_patch_apply(const struct vel_patch *patch, struct vel_err *err);

/* The name of that copy, a new string. */
int vel_patch_work(const char *path, int64_t id, char **ret_work, struct vel_err *err);

#endif
