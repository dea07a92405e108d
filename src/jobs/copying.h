/* SPDX-License-Identifier: BSD-3-Clause */
/* copying - fact `copying`: where a node's copy of a dataset to the prefix has come to,
 * from which the node's next leader goes on (doc/facts.txt, 5).
 */
#ifndef VEL_JOBS_COPYING_H
#define VEL_JOBS_COPYING_H

#include <stdint.h>

#include "base/buf.h"
#include "jobs/batches.h"

struct vel_copying {
    int64_t id, owner;       /* dataset, and K of the temporary names */
    int64_t files;           /* so many are to be copied */
    int rank;                /* the file that is on its way; all before it are there */
    char *name;              /* NULL: nothing is known to be there */
    uint64_t offset;         /* of it so much is on disk, */
    uint32_t crc;            /* with this checksum */
    struct vel_buf transfer; /* what a vendor's service needs to go on; or nothing */
};

void vel_copying_init(struct vel_copying *copying);
void vel_copying_fini(struct vel_copying *copying);

/* In the ledger of the cache where the dataset is; NULL: it is in no cache of this node
 * any more, and nothing is said of it. is_synced: on the disk when this returns. */
int vel_copying_say(struct vel_batches *ledger, const struct vel_copying *copying,
                    bool is_synced, struct vel_err *err);

/* What this leader has said or (with_others) any one of this cache; nothing, when it is
 * not known. */
int vel_copying_find(struct vel_batches *ledger, int64_t id, bool with_others,
                     struct vel_copying *ret, struct vel_err *err);

#endif
