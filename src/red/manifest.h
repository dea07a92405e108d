/* SPDX-License-Identifier: BSD-3-Clause */
/* manifest - one member's files: names, sizes, times, modes, checksums; and the
 * descriptor that whoever applied the scheme wants back with them
 * (doc/format-parity.txt, 3). */
#ifndef VEL_RED_MANIFEST_H
#define VEL_RED_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/le.h"
#include "base/vec.h"
#include "sys/fs.h"

enum {
    VEL_DESCRIPTOR_MAX = 16384,
    VEL_MANIFEST_FILES_MAX = 1 << 20,
};

struct vel_red_file {
    char *name; /* relative to the member's directory */
    uint64_t size;
    int64_t mtime_s;
    uint32_t mtime_ns;
    uint32_t mode;
    uint32_t crc;
    bool is_dated; /* no checksum was taken: its time tells whether it is the same */
};

struct vel_manifest {
    uint32_t rank;
    struct vel_buf descriptor;
    struct vel_vec files; /* of struct vel_red_file */
    uint64_t total;       /* bytes of all files */
};

void vel_manifest_init(struct vel_manifest *manifest, uint32_t rank);
void vel_manifest_fini(struct vel_manifest *manifest);

/* Add a file as it is on disk now; its checksum is still 0. VEL_EINVAL for a name that
 * is not inner, is there already, or is no regular file. */
int vel_manifest_add(struct vel_manifest *manifest, struct vel_fs *fs, const char *dir,
                     const char *name, struct vel_err *err);

static inline struct vel_red_file *
vel_manifest_file(const struct vel_manifest *manifest, size_t i)
{
    return (struct vel_red_file *)manifest->files.items + i;
}

/* A copy of all of it. *ret is written on success only, and then to be finished. */
int vel_manifest_copy(const struct vel_manifest *manifest, struct vel_manifest *ret,
                      struct vel_err *err);

/* Bytes on disk; decode checks every bound and leaves *ret alone when it fails. */
size_t vel_manifest_encoded_size(const struct vel_manifest *manifest);
void vel_manifest_encode(const struct vel_manifest *manifest, struct vel_le_writer *w);
int vel_manifest_decode(struct vel_le_reader *r, struct vel_manifest *ret,
                        struct vel_err *err);

#endif
