/* SPDX-License-Identifier: BSD-3-Clause */
/* level - the levels that the settings describe, whichever way. Inside topo. */
#ifndef VEL_TOPO_LEVEL_H
#define VEL_TOPO_LEVEL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/scheme.h"
#include "conf/conf.h"

enum { VEL_LEVEL_IMPLIED = -1 }; /* id of the one level where there are no CKPT lines */

/* Level i by id, with what vel_conf_finish() filled in; its texts belong to conf. False
 * behind the last. */
bool vel_level_at(const struct vel_conf *conf, size_t i, struct vel_ckpt *ret);
size_t vel_level_count(const struct vel_conf *conf);

enum vel_scheme vel_level_scheme(const struct vel_ckpt *level);

/* So many that every set bears; 0 of RS: half of a set, once there is one. */
size_t vel_level_losses(const struct vel_ckpt *level);

/* "CKPT=2", "COPY_TYPE=XOR": how a sentence names a level. */
enum { VEL_LEVEL_NAME = 48 };
const char *vel_level_name(const struct vel_ckpt *level, char name[VEL_LEVEL_NAME]);

#endif
