/* SPDX-License-Identifier: BSD-3-Clause */
/* cachename - the name of a file in the cache, from which its own path follows
 * (doc/engine.txt, 1). */
#ifndef VEL_META_CACHENAME_H
#define VEL_META_CACHENAME_H

#include "base/err.h"

/* The cached name of the file at the absolute, normalised `path`: relative to `prefix`
 * when it lies below it. New string; VEL_EINVAL for what can be no file. */
int vel_cachename_of(const char *prefix, const char *path, char **ret_name,
                     struct vel_err *err);

/* The path that a cached name stands for. New string; VEL_ECORRUPT when no path has
 * that name, so that a name from a record never leads anywhere unexpected. */
int vel_cachename_path(const char *prefix, const char *name, char **ret_path,
                       struct vel_err *err);

#endif
