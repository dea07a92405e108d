/* SPDX-License-Identifier: BSD-3-Clause */
/* shared - the settings that all processes of a launch have in common: those that
 * decide what becomes of files. Paths, and what OWN rows of schema.def name, are not of
 * them.
 */
#ifndef VEL_CONF_SHARED_H
#define VEL_CONF_SHARED_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "conf/conf.h"

/* Do HDF5 files fare differently under a and b, which are finished? Then the first
 * difference, as each has it, is appended to *of_a and *of_b: "MODE=SYNC" and
 * "MODE=ASYNC", or a line and "no DATASET line". DATASET lines come first. */
bool vel_conf_differ(const struct vel_conf *a, const struct vel_conf *b,
                     struct vel_buf *of_a, struct vel_buf *of_b);

/* Settings `own`, but for which files form a dataset: the DATASET lines and UNLISTED
 * are those of `first`. `where` is told as their source in sentences. */
int vel_conf_share(const struct vel_conf *own, const struct vel_conf *first,
                   const char *where, struct vel_conf **ret, struct vel_err *err);

/* Settings `first` of a process on `node`, as they are on the node of `own`. Where the
 * CACHE_BASE of `first` has the name of its node in it, it is that of `own` if it gives
 * one; so it is with STORE and CKPT lines that are the same but for directories. */
int vel_conf_on_node(const struct vel_conf *first, const char *node,
                     const struct vel_conf *own, struct vel_conf **ret,
                     struct vel_err *err);

#endif
