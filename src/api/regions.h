/* SPDX-License-Identifier: BSD-3-Clause */
/* regions - the memory that a program wants to see again after a failure.
 *
 * Regions are known by ids that the program chose. Those without a name form one list;
 * each name has a list of its own, with its own ids, and becomes a checkpoint file of
 * its own. The memory belongs to the program, and nothing here looks at it.
 */
#ifndef VEL_API_REGIONS_H
#define VEL_API_REGIONS_H

#include <stddef.h>
#include <stdint.h>

#include "api/selection.h"
#include "base/err.h"
#include "base/vec.h"

struct vel_region {
    int id;
    void *ptr;
    size_t size;  /* bytes of an element, what a VELOC_type tells: not 0 */
    size_t count; /* elements: not 0; size * count is no overflow */
};

struct vel_region_list {
    char *name;           /* NULL: the unnamed ones */
    struct vel_vec items; /* struct vel_region, ids rising */
};

struct vel_regions;

/* NULL when out of memory. */
struct vel_regions *vel_regions_create(void);
void vel_regions_destroy(struct vel_regions *regions);

/* Register `count` elements of `size` bytes at `ptr`; an id that is there is replaced.
 * count 0 takes the id out, if it is there, whatever ptr and size say. `name` is NULL
 * for the unnamed list. VEL_EINVAL: ptr is NULL, size is 0, the bytes are more than
 * memory can have (a negative count is), or the name cannot be part of a file name
 * (vel_image_name_check). Nothing has changed after a failure. */
int vel_regions_protect(struct vel_regions *regions, const char *name, int id,
                        void *ptr, size_t count, size_t size, struct vel_err *err);

/* VEL_ENOENT when there is no such region, VEL_EINVAL when there can be no such name.
 */
int vel_regions_unprotect(struct vel_regions *regions, const char *name, int id,
                          struct vel_err *err);

/* Forget all regions of this name, or all unnamed ones; there may be none. */
void vel_regions_clear(struct vel_regions *regions, const char *name);

/* List 0 is the unnamed one, which may be empty; the others, in the order in which
 * their names were first used, have regions. A list is good until a call above changes
 * regions of its name. vel_regions_list() is NULL when nothing has this name. */
size_t vel_regions_lists(const struct vel_regions *regions);
const struct vel_region_list *vel_regions_at(const struct vel_regions *regions,
                                             size_t i);
const struct vel_region_list *vel_regions_list(const struct vel_regions *regions,
                                               const char *name);

size_t vel_region_bytes(const struct vel_region *region);

/* What the regions of all lists hold now, as far as a checkpoint would save them. */
uint64_t vel_regions_bytes(const struct vel_regions *regions);

/* NULL when the list does not have it. */
const struct vel_region *vel_region_find(const struct vel_region_list *list, int id);

#endif
