/* SPDX-License-Identifier: BSD-3-Clause */
/* Open addressing over indices into an entry array: the array keeps the order, the
 * slots make it quick. Removal is rare here and costs a refill of the slots. */
#include "config.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"

struct entry {
    char *key;
    void *value;
    uint64_t hash;
};

static const uint32_t EMPTY = UINT32_MAX;

struct vel_map {
    struct vel_vec entries; /* of struct entry, no holes */
    uint32_t *slots;        /* index into entries, or EMPTY */
    size_t nslots;          /* a power of two, more than 4/3 of the entries */
};

static uint64_t hash_of(const char *key)
{
    uint64_t h =
        0xcbf29ce484222325u; /* FNV-1a, folded at the end for the low bits' sake */

    for (; *key; key++)
        h = (h ^ (unsigned char)*key) * 0x100000001b3u;
    return h ^ (h >> 32);
}

static struct entry *entry_at(const struct vel_map *map, size_t i)
{
    return vel_vec_at(&map->entries, i);
}

/* the slot that holds key, or the empty one where it would go */
static size_t find(const struct vel_map *map, const char *key, uint64_t hash)
{
    size_t at = hash & (map->nslots - 1);

    while (map->slots[at] != EMPTY) {
        const struct entry *e = entry_at(map, map->slots[at]);
        if (e->hash == hash && strcmp(e->key, key) == 0)
            break;
        at = (at + 1) & (map->nslots - 1);
    }
    return at;
}

static void fill_slots(struct vel_map *map)
{
    memset(map->slots, 0xff, map->nslots * sizeof *map->slots);
    for (size_t i = 0; i < map->entries.n; i++) {
        const struct entry *e = entry_at(map, i);
        map->slots[find(map, e->key, e->hash)] = (uint32_t)i;
    }
}

struct vel_map *vel_map_create(void)
{
    struct vel_map *map = calloc(1, sizeof *map);

    if (!map)
        return NULL;
    vel_vec_init(&map->entries, sizeof(struct entry));
    map->nslots = 16;
    map->slots = malloc(map->nslots * sizeof *map->slots);
    if (!map->slots) {
        free(map);
        return NULL;
    }
    fill_slots(map);
    return map;
}

void vel_map_destroy(struct vel_map *map, void (*free_value)(void *))
{
    if (!map)
        return;
    for (size_t i = 0; i < map->entries.n; i++) {
        struct entry *e = entry_at(map, i);
        free(e->key);
        if (free_value)
            free_value(e->value);
    }
    vel_vec_fini(&map->entries);
    free(map->slots);
    free(map);
}

size_t vel_map_count(const struct vel_map *map)
{
    return map->entries.n;
}

static struct entry *lookup(const struct vel_map *map, const char *key)
{
    uint32_t i = map->slots[find(map, key, hash_of(key))];

    return i == EMPTY ? NULL : entry_at(map, i);
}

void *vel_map_get(const struct vel_map *map, const char *key)
{
    struct entry *e = lookup(map, key);

    return e ? e->value : NULL;
}

bool vel_map_has(const struct vel_map *map, const char *key)
{
    return lookup(map, key) != NULL;
}

static int grow(struct vel_map *map)
{
    if (map->entries.n + 1 <= map->nslots / 4 * 3)
        return 0;
    uint32_t *slots = realloc(map->slots, map->nslots * 2 * sizeof *slots);
    if (!slots)
        return VEL_ENOMEM;
    map->slots = slots;
    map->nslots *= 2;
    fill_slots(map);
    return 0;
}

int vel_map_set(struct vel_map *map, const char *key, void *value, void **ret_old)
{
    struct entry *e = lookup(map, key);

    if (e) {
        if (ret_old)
            *ret_old = e->value;
        e->value = value;
        return 0;
    }
    struct entry fresh = {.key = strdup(key), .value = value, .hash = hash_of(key)};
    if (!fresh.key || grow(map) < 0 || !vel_vec_push(&map->entries, &fresh)) {
        free(fresh.key);
        return VEL_ENOMEM;
    }
    map->slots[find(map, key, fresh.hash)] = (uint32_t)(map->entries.n - 1);
    if (ret_old)
        *ret_old = NULL;
    return 0;
}

void *vel_map_remove(struct vel_map *map, const char *key)
{
    struct entry *e = lookup(map, key);

    if (!e)
        return NULL;
    void *value = e->value;
    free(e->key);
    vel_vec_remove(&map->entries, (size_t)(e - (struct entry *)map->entries.items));
    fill_slots(map); /* indices behind the removed one have moved */
    return value;
}

const char *vel_map_key(const struct vel_map *map, size_t i)
{
    return entry_at(map, i)->key;
}

void *vel_map_value(const struct vel_map *map, size_t i)
{
    return entry_at(map, i)->value;
}
