/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

void vel_vec_init(struct vel_vec *vec, size_t item_size)
{
    assert(item_size > 0);
    *vec = (struct vel_vec){.item_size = item_size};
}

void vel_vec_fini(struct vel_vec *vec)
{
    free(vec->items);
    *vec = (struct vel_vec){.item_size = vec->item_size};
}

void *vel_vec_at(const struct vel_vec *vec, size_t i)
{
    assert(i < vec->n);
    return (char *)vec->items + i * vec->item_size;
}

void *vel_vec_push(struct vel_vec *vec, const void *item)
{
    return vel_vec_insert(vec, vec->n, item);
}

void *vel_vec_insert(struct vel_vec *vec, size_t i, const void *item)
{
    assert(i <= vec->n);
    if (vec->n == vec->cap) {
        size_t cap = vec->cap ? vec->cap * 2 : 8;

        if (cap > SIZE_MAX / vec->item_size)
            return NULL;
        void *items = realloc(vec->items, cap * vec->item_size);
        if (!items)
            return NULL;
        vec->items = items;
        vec->cap = cap;
    }
    char *at = (char *)vec->items + i * vec->item_size;
    memmove(at + vec->item_size, at, (vec->n - i) * vec->item_size);
    if (item)
        memcpy(at, item, vec->item_size);
    else
        memset(at, 0, vec->item_size);
    vec->n++;
    return at;
}

void vel_vec_remove(struct vel_vec *vec, size_t i)
{
    char *at = vel_vec_at(vec, i);

    memmove(at, at + vec->item_size, (vec->n - i - 1) * vec->item_size);
    vec->n--;
}

bool vel_vec_has_number(const struct vel_vec *vec, int64_t number)
{
    const int64_t *items = vec->items;

    for (size_t i = 0; i < vec->n; i++)
        if (items[i] == number)
            return true;
    return false;
}

void vel_vec_sort(struct vel_vec *vec, int (*compare)(const void *, const void *))
{
    if (vec->n > 1)
        qsort(vec->items, vec->n, vec->item_size, compare);
}

size_t vel_vec_place(const struct vel_vec *vec, const void *key,
                     int (*compare)(const void *, const void *), bool *ret_is_there)
{
    size_t low = 0, high = vec->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (compare(key, vel_vec_at(vec, mid)) > 0)
            low = mid + 1;
        else
            high = mid;
    }
    *ret_is_there = low < vec->n && compare(key, vel_vec_at(vec, low)) == 0;
    return low;
}
