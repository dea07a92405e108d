/* SPDX-License-Identifier: BSD-3-Clause */
/* revive - one dataset of an earlier launch, complete in the caches of this one again.
 */
#ifndef VEL_RECOVER_REVIVE_H
#define VEL_RECOVER_REVIVE_H

#include "recover/caches.h"

/* Where a part lies that this process uses. */
struct vel_revived_part {
    int rank;
    char *dir;
};

struct vel_revived {
    struct vel_filemap map; /* of this rank; of a foreign dataset, of some rank */
    char *level;            /* the directory of its level here; NULL: foreign */
    struct vel_vec parts;   /* struct vel_revived_part: this rank's one, or of a foreign
                               dataset those that this process speaks for */
    bool is_foreign;     /* written by another number of ranks: whole, and to be read by
                            name */
    int64_t rebuilt;     /* parts of all ranks that were made again */
    char *rebuilt_ranks; /* whose, in words; NULL for none */
    int64_t moved;       /* and parts that came from another node */
};

void vel_revived_fini(struct vel_revived *revived);

/* Collective over world. Dataset `id`: its files are moved to where their ranks run and
 * rebuilt where they are missing, short or corrupt. Copies that are not needed any more
 * are removed. VEL_ENOENT: it was never complete, and what there was of it is gone now;
 * any other failure, the same on all ranks: it cannot be restored now, and is as it
 * was.
 */
int vel_revive(struct vel_caches *caches, int64_t id, struct vel_revived *ret,
               struct vel_err *err);

#endif
