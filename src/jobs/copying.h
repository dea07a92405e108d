/* SPDX-License-Identifier: BSD-3-Clause */
/* copying - record "copying": where a node's copy of a dataset to the prefix has come
 * to, from which the node's next leader goes on. Beside the parts, as jobs/promise.h.
 */
#ifndef VEL_JOBS_COPYING_H
#define VEL_JOBS_COPYING_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "sys/fs.h"

struct vel_copying {
    int64_t id, owner;       /* dataset, and K of the temporary names */
    int rank;                /* the file that is on its way; all before it are there */
    char *name;              /* NULL: all are */
    uint64_t offset;         /* of it so much is on disk, */
    uint32_t crc;            /* with this checksum */
    struct vel_buf transfer; /* what a vendor's service needs to go on; or nothing */
};

void vel_copying_init(struct vel_copying *copying);
void vel_copying_fini(struct vel_copying *copying);

/* Below `home`; NULL: the dataset is in no cache of this node any more, and nothing is
 * noted of it. */
int vel_copying_save(struct vel_fs *fs, const char *home, const char *node,
                     const struct vel_copying *copying, struct vel_err *err);
int vel_copying_load(struct vel_fs *fs, const char *home, const char *node,
                     struct vel_copying *ret, struct vel_err *err);
int vel_copying_remove(struct vel_fs *fs, const char *home, const char *node,
                       struct vel_err *err);

#endif
