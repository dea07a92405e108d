/* SPDX-License-Identifier: BSD-3-Clause */
/* homes - where a prefix has its files in the caches of a node. */
#ifndef VEL_PROCESS_HOMES_H
#define VEL_PROCESS_HOMES_H

#include <stddef.h>

#include "base/err.h"
#include "conf/conf.h"
#include "sys/fs.h"
#include "sys/host.h"

struct vel_homes {
    char **items; /* "CACHE/USER/ID", each once */
    size_t n;
};

/* Of every store of this node that can be used, made when it is not there. VEL_ENOENT:
 * none. `host` has the node as the settings call it. */
int vel_homes_make(struct vel_fs *fs, const struct vel_conf *conf,
                   const struct vel_host *host, const char *prefix_id,
                   struct vel_homes *ret, struct vel_err *err);
void vel_homes_fini(struct vel_homes *homes);

#endif
