/* SPDX-License-Identifier: BSD-3-Clause */
/* owner - who has ever owned a dataset's way to the prefix: 1 is who has made its seal
 * in the launch that made it, the others are the names owner.K in its directory there,
 * each made once (doc/protocol-leader.txt, 3). Read here; claimed by node leaders. */
#ifndef VEL_META_OWNER_H
#define VEL_META_OWNER_H

#include <stdint.h>

#include "base/vec.h"
#include "sys/fs.h"

/* The numbers, items int64_t, ascending from 1; none when there is no directory. `dir`
 * is PREFIX/.veloc. */
int vel_owners_load(struct vel_fs *fs, const char *dir, int64_t id, struct vel_vec *ret,
                    struct vel_err *err);

#endif
