/* SPDX-License-Identifier: BSD-3-Clause */
/* copy_in - what the files of a copy share: copy (what must be true of it), copy_bytes
 * (how its bytes move). */
#ifndef VEL_XFER_COPY_IN_H
#define VEL_XFER_COPY_IN_H

#include "xfer/copy.h"

enum { VEL_COPY_ALIGN = 4096 };

/* one copy under way */
struct vel_copy_run {
    const struct vel_copy_how *how;
    const struct vel_xfer_file *file;
    struct vel_copy_resume *resume; /* NULL: no notes are taken */
    struct vel_copy_blocks *blocks; /* NULL: they are not told apart */
    uint64_t noted, noted_at;       /* bytes; by the clock */
    uint64_t hastened;              /* bytes that are on their way to the disk */
    int from, to;                   /* descriptors or -1 */
    bool is_made;                   /* `to` was created by us */
    struct stat st;
    size_t chunk; /* a multiple of VEL_COPY_ALIGN, and of a block */
    char *buffer;
    uint32_t crc;
    struct vel_patch_writer patch;
};

static inline bool vel_copy_needs_crc(const struct vel_copy_run *c)
{
    return c->how->wants_crc || c->file->has_crc;
}

/* Is only what has changed written? */
static inline bool vel_copy_is_partial(const struct vel_copy_run *c)
{
    return c->blocks && c->blocks->as != VEL_COPY_WHOLE;
}

/* By the clock of the copy, and the pause that is due after what was written since. */
uint64_t vel_copy_now(const struct vel_copy_run *c);
int vel_copy_rest(const struct vel_copy_run *c, uint64_t begun, struct vel_err *err);

/* Tell the watch; VEL_ECANCEL when it says stop. */
int vel_copy_told(const struct vel_copy_run *c, uint64_t n, struct vel_err *err);

/* What is written before `at` begins its way to the disk, unless little of it would. */
void vel_copy_hasten(struct vel_copy_run *c, uint64_t at);

/* All bytes of the source from where the copy goes on. */
int vel_copy_bytes(struct vel_copy_run *c, struct vel_err *err);

#endif
