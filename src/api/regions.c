/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/image_name.h"
#include "api/regions.h"
#include "base/map.h"

struct vel_regions {
    struct vel_region_list unnamed;
    struct vel_map *named; /* struct vel_region_list, none of them empty */
};

static void list_init(struct vel_region_list *list)
{
    list->name = NULL;
    vel_vec_init(&list->items, sizeof(struct vel_region));
}

static void list_fini(struct vel_region_list *list)
{
    free(list->name);
    vel_vec_fini(&list->items);
}

static void list_destroy(void *value)
{
    struct vel_region_list *list = value;

    if (list)
        list_fini(list);
    free(list);
}

static struct vel_region_list *list_create(const char *name)
{
    struct vel_region_list *list = malloc(sizeof *list);

    if (!list)
        return NULL;
    list_init(list);
    list->name = strdup(name);
    if (!list->name) {
        list_destroy(list);
        return NULL;
    }
    return list;
}

struct vel_regions *vel_regions_create(void)
{
    struct vel_regions *regions = calloc(1, sizeof *regions);

    if (!regions)
        return NULL;
    list_init(&regions->unnamed);
    regions->named = vel_map_create();
    if (!regions->named) {
        vel_regions_destroy(regions);
        return NULL;
    }
    return regions;
}

void vel_regions_destroy(struct vel_regions *regions)
{
    if (!regions)
        return;
    list_fini(&regions->unnamed);
    if (regions->named)
        vel_map_destroy(regions->named, list_destroy);
    free(regions);
}

size_t vel_region_bytes(const struct vel_region *region)
{
    return region->size * region->count;
}

static int compare_regions(const void *a, const void *b)
{
    const struct vel_region *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

static size_t place_of(const struct vel_region_list *list, int id, bool *ret_is_there)
{
    const struct vel_region key = {.id = id};

    return vel_vec_place(&list->items, &key, compare_regions, ret_is_there);
}

const struct vel_region *vel_region_find(const struct vel_region_list *list, int id)
{
    bool is_there;
    size_t place = place_of(list, id, &is_there);

    return is_there ? vel_vec_at(&list->items, place) : NULL;
}

static struct vel_region_list *list_of(struct vel_regions *regions, const char *name)
{
    return name ? vel_map_get(regions->named, name) : &regions->unnamed;
}

/* a name without regions is no name any more */
static void drop_if_empty(struct vel_regions *regions, struct vel_region_list *list)
{
    if (list->name && list->items.n == 0) {
        vel_map_remove(regions->named, list->name);
        list_destroy(list);
    }
}

static int remove_id(struct vel_regions *regions, const char *name, int id)
{
    struct vel_region_list *list = list_of(regions, name);
    bool is_there = false;
    size_t place = list ? place_of(list, id, &is_there) : 0;

    if (!is_there)
        return VEL_ENOENT;
    vel_vec_remove(&list->items, place);
    drop_if_empty(regions, list);
    return 0;
}

static int put(struct vel_region_list *list, const struct vel_region *region)
{
    bool is_there;
    size_t place = place_of(list, region->id, &is_there);

    if (is_there) {
        *(struct vel_region *)vel_vec_at(&list->items, place) = *region;
        return 0;
    }
    return vel_vec_insert(&list->items, place, region) ? 0 : VEL_ENOMEM;
}

/* into a name that has no list yet */
static int put_first(struct vel_regions *regions, const char *name,
                     const struct vel_region *region)
{
    struct vel_region_list *list = list_create(name);

    if (!list || put(list, region) < 0 ||
        vel_map_set(regions->named, name, list, NULL) < 0) {
        list_destroy(list);
        return VEL_ENOMEM;
    }
    return 0;
}

static int check_region(const struct vel_region *region, struct vel_err *err)
{
    size_t bytes;

    if (!region->ptr)
        return vel_fail(err, VEL_EINVAL, "region %d is at NULL", region->id);
    if (region->size == 0)
        return vel_fail(err, VEL_EINVAL, "region %d has elements of 0 bytes",
                        region->id);
    if (__builtin_mul_overflow(region->size, region->count, &bytes) ||
        bytes > PTRDIFF_MAX)
        return vel_fail(err, VEL_EINVAL,
                        "region %d: %zu elements of %zu bytes are more than memory can "
                        "have",
                        region->id, region->count, region->size);
    return 0;
}

int vel_regions_protect(struct vel_regions *regions, const char *name, int id,
                        void *ptr, size_t count, size_t size, struct vel_err *err)
{
    struct vel_region region = {.id = id, .ptr = ptr, .size = size, .count = count};
    int rc = name ? vel_image_name_check("the name of a region", name, err) : 0;

    if (rc < 0)
        return rc;
    if (count == 0) {
        remove_id(regions, name, id);
        return 0;
    }
    rc = check_region(&region, err);
    if (rc < 0)
        return rc;
    struct vel_region_list *list = list_of(regions, name);
    rc = list ? put(list, &region) : put_first(regions, name, &region);
    return rc < 0 ? vel_out_of_memory(err, "protecting a region") : 0;
}

int vel_regions_unprotect(struct vel_regions *regions, const char *name, int id,
                          struct vel_err *err)
{
    int rc = name ? vel_image_name_check("the name of a region", name, err) : 0;

    if (rc < 0)
        return rc;
    rc = remove_id(regions, name, id);
    if (rc == 0)
        return 0;
    return name ? vel_fail(err, rc, "\"%s\" has no protected region %d", name, id)
                : vel_fail(err, rc, "there is no protected region %d", id);
}

void vel_regions_clear(struct vel_regions *regions, const char *name)
{
    struct vel_region_list *list = list_of(regions, name);

    if (!list)
        return;
    vel_vec_fini(&list->items);
    vel_vec_init(&list->items, sizeof(struct vel_region));
    drop_if_empty(regions, list);
}

size_t vel_regions_lists(const struct vel_regions *regions)
{
    return 1 + vel_map_count(regions->named);
}

const struct vel_region_list *vel_regions_at(const struct vel_regions *regions,
                                             size_t i)
{
    return i == 0 ? &regions->unnamed : vel_map_value(regions->named, i - 1);
}

uint64_t vel_regions_bytes(const struct vel_regions *regions)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < vel_regions_lists(regions); i++) {
        const struct vel_region_list *list = vel_regions_at(regions, i);

        for (size_t k = 0; k < list->items.n; k++)
            bytes += vel_region_bytes(vel_vec_at(&list->items, k));
    }
    return bytes;
}

const struct vel_region_list *vel_regions_list(const struct vel_regions *regions,
                                               const char *name)
{
    return name ? vel_map_get(regions->named, name) : &regions->unnamed;
}
