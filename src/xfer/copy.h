/* SPDX-License-Identifier: BSD-3-Clause */
/* copy - one file copied to a temporary name, checked and brought to its disk; and put
 * under its real name when everyone agrees.
 *
 * How long and of which checksum a file must be is known before it is copied: from the
 * dataset's records. What is read is never believed without them.
 */
#ifndef VEL_XFER_COPY_H
#define VEL_XFER_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/err.h"
#include "sys/clock.h"
#include "sys/fs.h"
#include "xfer/patch.h"
#include "xfer/throttle.h"
#include "xfer/watch.h"

/* How files are copied. Everything is borrowed. */
struct vel_copy_how {
    struct vel_fs *fs;
    size_t chunk;                  /* bytes at once (FILE_BUF_SIZE); 0: 1 MiB */
    struct vel_throttle *throttle; /* of the prefix; NULL: no limit */
    struct vel_throttle *device;   /* of the store at the other end, likewise */
    const struct vel_watch *watch; /* NULL: nobody */
    bool keeps_metadata;           /* mode and times of the source (COPY_METADATA) */
    bool wants_crc;                /* of files for which none is known, too */
    bool leaves_dirs;              /* that are there: the caller brings them to disk */
    struct vel_clock *clock;       /* for FLUSH_PERCENT and vel_copy_resume.apart;
                                      NULL: those are not kept */
};

/* What is copied. The paths are borrowed. */
struct vel_xfer_file {
    const char *from;
    const char *to; /* the temporary name, see xfer/temp.h */
    uint64_t size;
    uint32_t crc; /* CRC-32C, when has_crc */
    bool has_crc;
};

/* What a record tells of the file that was copied. */
struct vel_xfer_copied {
    uint32_t crc; /* when has_crc */
    bool has_crc;
    uint32_t mode; /* of the source: the permissions */
    struct timespec mtime;
};

/* Returns when so many bytes may be moved, or with VEL_ECANCEL. */
int vel_copy_ask(const struct vel_copy_how *how, uint64_t bytes, struct vel_err *err);

/* Copy a regular file: directories on the way are made, what stands at `to` (left by a
 * crash) is replaced, holes stay holes. On success the copy is whole, has the size and
 * the checksum that were told, and is on disk. VEL_ECORRUPT when size or checksum
 * differ, VEL_EBUSY when the source changed meanwhile, VEL_ECANCEL when the watch says
 * stop. On failure nothing stands at `to`. */
int vel_copy_file(const struct vel_copy_how *how, const struct vel_xfer_file *file,
                  struct vel_xfer_copied *ret_copied, struct vel_err *err);

/* A copy that can go on where it was interrupted. */
struct vel_copy_resume {
    uint64_t at;    /* so much of `to` is there from before; 0: begin anew */
    uint32_t crc;   /* of these bytes */
    uint64_t every; /* bytes between two notes */
    uint64_t apart; /* and ns, by the copy's clock: each of them waits for the disk */
    /* The first `at` bytes, of that checksum, are on disk: another copy may go on from
     * there. 0: what was there from before is not used. A failure ends the copy. */
    int (*note)(void *arg, uint64_t at, uint32_t crc, struct vel_err *err);
    void *arg;
};

/* The same as vel_copy_file(), with notes. What stands at `to` is trusted as far as the
 * checksum of the whole tells in the end; when it is shorter than `at`, or no file of
 * ours, the copy begins anew. resume->at becomes what was used. Nobody else may still
 * write to it. On failure it stays, to go on with; but not on VEL_ECORRUPT. */
int vel_copy_resume(const struct vel_copy_how *how, const struct vel_xfer_file *file,
                    struct vel_copy_resume *resume, struct vel_xfer_copied *ret_copied,
                    struct vel_err *err);

/* What becomes of a source whose blocks are told apart. */
enum vel_copy_as {
    VEL_COPY_WHOLE, /* a copy as any; each block is only shown */
    VEL_COPY_CLONE, /* a clone of the base, with what differs from it */
    VEL_COPY_PATCH, /* what differs alone, as a patch of the base (xfer/patch.h) */
};

struct vel_copy_blocks {
    size_t block; /* bytes; a multiple of 4096 */
    /* Has the base these bytes at `at`? Called for each block that is copied, in their
     * order; the last one may be shorter. */
    bool (*is_same)(void *arg, uint64_t at, const void *bytes, size_t len);
    void *arg;
    enum vel_copy_as as;
    int base; /* of a clone: an open file, which nobody changes meanwhile */
    const char *base_path;
    const struct vel_patch_head *head; /* of a patch */
    uint64_t same, differ; /* returned: bytes of blocks that were compared */
};

/* The same once more, told block by block. A clone or a patch is made in one go,
 * without notes, and removed when it fails: VEL_EUNSUP when these files cannot share
 * blocks, or a patch is not worth it. */
int vel_copy_by_blocks(const struct vel_copy_how *how, const struct vel_xfer_file *file,
                       struct vel_copy_resume *resume, struct vel_copy_blocks *blocks,
                       struct vel_xfer_copied *ret_copied, struct vel_err *err);

/* The same promises for a copy that somebody else made (a transfer plug-in): it is read
 * back when there is a checksum to compare, gets mode and times, and is synced. On
 * failure it is left to the caller. */
int vel_copy_check(const struct vel_copy_how *how, const struct vel_xfer_file *file,
                   struct vel_xfer_copied *ret_copied, struct vel_err *err);

/* Give the copy its real name, replacing what stands there, and sync the directory:
 * forward only, after all have agreed. VEL_ENOENT when there is no temporary: whoever
 * finishes the work of one who died looks at `dest` then. */
int vel_copy_publish(struct vel_fs *fs, const char *temporary, const char *dest,
                     struct vel_err *err);

#endif
