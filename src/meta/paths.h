/* SPDX-License-Identifier: BSD-3-Clause */
/* paths - where everything lies (doc/engine.txt, 1). New strings, NULL when out of
 * memory. */
#ifndef VEL_META_PATHS_H
#define VEL_META_PATHS_H

#include <stdbool.h>
#include <stdint.h>

/* below PREFIX/.veloc, which is `dir` */
char *vel_veloc_dir(const char *prefix);
char *vel_dataset_dir(const char *dir, int64_t id);
char *vel_dropped_path(const char *dir, int64_t id);
char *vel_files_path(const char *dir, int64_t id, int list);
char *vel_hashes_path(const char *dir, int64_t id, int list);
char *vel_taken_path(const char *dir, int64_t id);
char *vel_left_path(const char *dir, int64_t id);
char *vel_container_path(const char *dir, int64_t id, int container);

/* below a level's directory in a cache */
char *vel_cache_dataset_dir(const char *level, int64_t id);
char *vel_cache_rank_dir(const char *level, int64_t id, int rank);
char *vel_cache_aside_path(const char *level, int64_t id);

/* Is `name` the text and then a decimal number as we write it, from 0? */
bool vel_number_behind(const char *name, const char *text, int64_t *ret_number);

/* Behind the name of a directory that is being removed, which has a dot before it. */
#define VEL_GONE ".h5v-tmp"

#endif
