/* SPDX-License-Identifier: BSD-3-Clause */
/* filemap - whose files of which dataset lie in a directory of the cache, and which
 * level protects them (doc/format-meta.txt): the descriptor in its redundancy files.
 *
 * It does not list the files: a cached name tells where its file belongs, all files
 * below rank.R are rank R's, and the redundancy file has their names, sizes and
 * checksums.
 */
#ifndef VEL_META_FILEMAP_H
#define VEL_META_FILEMAP_H

#include "base/buf.h"
#include "comm/comm.h"
#include "meta/dataset.h"

struct vel_filemap {
    int rank;
    struct vel_dataset dataset;
    struct vel_node *descriptor; /* the level as it was applied */
};

void vel_filemap_fini(struct vel_filemap *map);

/* The bytes of the record. Reading writes *ret only on success. */
int vel_filemap_encode(const struct vel_filemap *map, struct vel_buf *ret,
                       struct vel_err *err);
int vel_filemap_decode(const void *bytes, size_t len, struct vel_filemap *ret,
                       struct vel_err *err);

/* Collective. Who has one (*has) keeps it; the others get that of the lowest who has.
 * *has stays false when nobody does. */
int vel_filemap_share(struct vel_comm *comm, struct vel_filemap *map, bool *has,
                      struct vel_err *err);

#endif
