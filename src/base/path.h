/* SPDX-License-Identifier: BSD-3-Clause */
/* path - names of files as text: joined, normalised, and kept inside their directory.
 *
 * No file is looked at here. A path that comes from a record, a message or another user
 * is checked with vel_path_is_inner() before anything is done with it.
 */
#ifndef VEL_BASE_PATH_H
#define VEL_BASE_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { VEL_PATH_MAX = 4096 };

/* dir + "/" + name into a new string that the caller frees; an absolute name stands
 * alone. NULL when out of memory. */
char *vel_path_join(const char *dir, const char *name);

/* The directory of a level in a cache, BASE/USER/ID; new string, NULL when out of
 * memory. */
char *vel_path_level(const char *home, int64_t index);

/* The absolute, normalised form of `path` seen from the absolute directory `cwd`: no
 * ".", no
 * "..", no double or trailing slash. Links are not followed: ".." takes off the name
 * before it, as a shell's logical cd does. New string, NULL when out of memory. */
char *vel_path_absolute(const char *cwd, const char *path);

/* The same directory or file by its normalised name, seen from the root? false when out
 * of memory. */
bool vel_path_is_same(const char *a, const char *b);

/* A path that cannot leave the directory it is joined to: relative, normalised, not
 * empty, no control characters, shorter than VEL_PATH_MAX. */
bool vel_path_is_inner(const char *path);

/* `path` relative to `dir`, both absolute and normalised: a pointer into path, "" when
 * they are the same, NULL when path lies elsewhere. */
const char *vel_path_below(const char *dir, const char *path);

/* The part behind the last slash; points into path. */
const char *vel_path_base(const char *path);

/* The part before the last slash as a new string: "." where there is none, "/" for the
 * root. */
char *vel_path_dir(const char *path);

#endif
