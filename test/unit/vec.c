/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/vec.h"
#include "tap/tap.h"

struct item {
    int key;
    char pad[9]; /* so that the size is none that comes up by chance */
};

static int key_at(const struct vel_vec *vec, size_t i)
{
    return ((const struct item *)vel_vec_at(vec, i))->key;
}

static int compare(const void *a, const void *b)
{
    const struct item *x = a, *y = b;

    return (x->key > y->key) - (x->key < y->key);
}

int main(void)
{
    struct vel_vec vec;
    bool is_same = true, is_sorted = true;

    vel_vec_init(&vec, sizeof(struct item));
    vel_vec_sort(&vec, compare);
    ok(vec.n == 0 && !vec.items, "an empty array takes no memory");
    for (int i = 0; i < 1000; i++) {
        const struct item item = {.key = i * 7919 % 1000};
        struct item *pushed = vel_vec_push(&vec, &item);
        is_same &=
            pushed && pushed->key == item.key && pushed == vel_vec_at(&vec, vec.n - 1);
    }
    for (int i = 0; i < 1000; i++)
        is_same &= key_at(&vec, (size_t)i) == i * 7919 % 1000;
    ok(is_same && vec.n == 1000, "items stay as they were pushed");
    vel_vec_sort(&vec, compare);
    for (int i = 0; i < 1000; i++)
        is_sorted &= key_at(&vec, (size_t)i) == i;
    ok(is_sorted, "they are sorted");
    vel_vec_remove(&vec, 0);
    vel_vec_remove(&vec, 500);
    vel_vec_remove(&vec, vec.n - 1);
    ok(vec.n == 997 && key_at(&vec, 0) == 1 && key_at(&vec, 499) == 500 &&
           key_at(&vec, 500) == 502 && key_at(&vec, 996) == 998,
       "those behind a removed item move up");
    bool is_there;
    ok(vel_vec_place(&vec, &(struct item){.key = 501}, compare, &is_there) == 500 &&
           !is_there &&
           vel_vec_place(&vec, &(struct item){.key = 1}, compare, &is_there) == 0 &&
           is_there &&
           vel_vec_place(&vec, &(struct item){.key = 5000}, compare, &is_there) ==
               vec.n &&
           !is_there,
       "the place of a key in a sorted array is found");
    struct item *zeroed = vel_vec_push(&vec, NULL);
    ok(zeroed && zeroed->key == 0 && zeroed->pad[8] == 0,
       "an item pushed from nowhere is zeroed");
    const struct item between = {.key = -7};
    struct item *inserted = vel_vec_insert(&vec, 500, &between);
    ok(inserted && inserted == vel_vec_at(&vec, 500) && vec.n == 999 &&
           key_at(&vec, 499) == 500 && key_at(&vec, 500) == -7 &&
           key_at(&vec, 501) == 502 && key_at(&vec, 997) == 998,
       "those behind an inserted item make room for it");
    vel_vec_fini(&vec);
    ok(vec.n == 0 && vec.item_size == sizeof(struct item), "after its end it is empty");
    ok(vel_vec_push(&vec, NULL) != NULL, "and may be used again");
    vel_vec_fini(&vec);
    vel_vec_init(&vec, sizeof(int64_t));
    vel_vec_push(&vec, &(int64_t){7});
    vel_vec_push(&vec, &(int64_t){INT64_MIN});
    ok(vel_vec_has_number(&vec, INT64_MIN) && !vel_vec_has_number(&vec, 0),
       "a number is found among others");
    vel_vec_fini(&vec);
    vel_vec_init(&vec, SIZE_MAX / 4);
    ok(!vel_vec_push(&vec, NULL) && vec.n == 0,
       "items that are too large for the memory change nothing");
    vel_vec_fini(&vec);
    return done_testing();
}
