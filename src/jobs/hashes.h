/* SPDX-License-Identifier: BSD-3-Clause */
/* hashes - record "hashes": what the blocks of a node's files on the prefix were when
 * they were flushed, so that the next version of a file need not be written where it is
 * the same (doc/format-meta.txt). Nothing but speed depends on it: a record that is
 * damaged or not there makes the next flush a whole one.
 */
#ifndef VEL_JOBS_HASHES_H
#define VEL_JOBS_HASHES_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/siphash.h"
#include "base/vec.h"
#include "sys/fs.h"

enum { VEL_HASHES_BLOCK = 65536 };

struct vel_hashed {
    char *name;      /* cached name */
    uint64_t inode;  /* of the file on the prefix, by which it is known to be ours, */
    uint64_t size;   /* with its size */
    int64_t mtime_s; /* and time */
    uint32_t mtime_ns;
    uint8_t key[VEL_SIPHASH_KEY]; /* its own, random */
    uint8_t *hash; /* SipHash-128 of each block of VEL_HASHES_BLOCK bytes; the last
                      may be shorter */
};

size_t vel_hashed_blocks(uint64_t size);

void vel_hashed_fini(struct vel_hashed *hashed);

/* Frees the items, struct vel_hashed, too. */
void vel_hashes_fini(struct vel_vec *hashes);

/* That of list `list` of dataset `id` in dir, PREFIX/.veloc. The directory is there. */
int vel_hashes_save(struct vel_fs *fs, const char *dir, int64_t id, int list,
                    const struct vel_vec *hashes, struct vel_err *err);
int vel_hashes_load(struct vel_fs *fs, const char *dir, int64_t id, int list,
                    struct vel_vec *ret, struct vel_err *err);

#endif
