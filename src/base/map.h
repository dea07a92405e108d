/* SPDX-License-Identifier: BSD-3-Clause */
/* map - text keys to pointers, in the order of insertion.
 *
 * Keys are copied, values are borrowed. Walking by index gives the order of insertion,
 * so that what is printed or written from a map is the same every time.
 */
#ifndef VEL_BASE_MAP_H
#define VEL_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct vel_map;

/* NULL when out of memory. */
struct vel_map *vel_map_create(void);

/* free_value may be NULL; otherwise it is called for every value. */
void vel_map_destroy(struct vel_map *map, void (*free_value)(void *));

size_t vel_map_count(const struct vel_map *map);

/* The value, or NULL when there is none. */
void *vel_map_get(const struct vel_map *map, const char *key);
bool vel_map_has(const struct vel_map *map, const char *key);

/* Set or replace; *ret_old (may be NULL) receives the value replaced, else NULL. Fails
 * only for lack of memory, and then changes nothing. */
int vel_map_set(struct vel_map *map, const char *key, void *value, void **ret_old);

/* Take the key out; returns its value, or NULL. The order of the others stays. */
void *vel_map_remove(struct vel_map *map, const char *key);

/* Entry i of 0 .. count-1, in the order of insertion. The key belongs to the map. */
const char *vel_map_key(const struct vel_map *map, size_t i);
void *vel_map_value(const struct vel_map *map, size_t i);

#endif
