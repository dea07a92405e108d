/* SPDX-License-Identifier: BSD-3-Clause */
/* vec - growable array of items of one size, stored by value. */
#ifndef VEL_BASE_VEC_H
#define VEL_BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct vel_vec {
    void *items; /* cast to the item's type; NULL while empty */
    size_t n;
    size_t cap;
    size_t item_size;
};

void vel_vec_init(struct vel_vec *vec, size_t item_size);

/* Frees the array; what the items point to is the caller's. */
void vel_vec_fini(struct vel_vec *vec);

/* Append a copy of *item, which is none of the array's own, or a zeroed item when item
 * is NULL. The returned pointer is good until the next push; NULL means out of memory,
 * and nothing has changed. */
void *vel_vec_push(struct vel_vec *vec, const void *item);

/* The same before item i, which moves up with those behind it; i may be n. */
void *vel_vec_insert(struct vel_vec *vec, size_t i, const void *item);

void *vel_vec_at(const struct vel_vec *vec, size_t i);

/* Remove item i; those behind it move up. */
void vel_vec_remove(struct vel_vec *vec, size_t i);

/* Is it in an array of int64_t? */
bool vel_vec_has_number(const struct vel_vec *vec, int64_t number);

void vel_vec_sort(struct vel_vec *vec, int (*compare)(const void *, const void *));

/* In a sorted array: the first place whose item is not below *key, which is where to
 * insert it; n when all are. *ret_is_there tells whether that item equals *key. compare
 * is called with the key first. */
size_t vel_vec_place(const struct vel_vec *vec, const void *key,
                     int (*compare)(const void *, const void *), bool *ret_is_there);

#endif
