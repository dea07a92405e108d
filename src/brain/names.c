/* SPDX-License-Identifier: BSD-3-Clause */
/* 24 bytes a name: its hash stands for it, in arrays that are sorted by it. */
#include "config.h"

#include <string.h>

#include "base/siphash.h"
#include "brain/names.h"

struct vel_named {
    uint8_t hash[VEL_SIPHASH_LEN];
    int64_t number;
};

static int compare(const void *a, const void *b)
{
    const struct vel_named *left = a, *right = b;

    return memcmp(left->hash, right->hash, sizeof left->hash);
}

void vel_names_init(struct vel_names *names, size_t most)
{
    vel_vec_init(&names->newer, sizeof(struct vel_named));
    vel_vec_init(&names->older, sizeof(struct vel_named));
    names->most = most;
}

void vel_names_fini(struct vel_names *names)
{
    vel_vec_fini(&names->newer);
    vel_vec_fini(&names->older);
}

int64_t *vel_names_number(struct vel_names *names, const char *name)
{
    static const uint8_t no_secret[VEL_SIPHASH_KEY];
    struct vel_named named = {.number = 0}, *inserted;
    bool is_there, was_there;
    size_t at, before;

    vel_siphash(no_secret, name, strlen(name), named.hash);
    at = vel_vec_place(&names->newer, &named, compare, &is_there);
    if (is_there)
        return &((struct vel_named *)vel_vec_at(&names->newer, at))->number;
    if (names->newer.n >= names->most) {
        struct vel_vec oldest = names->older;

        names->older = names->newer;
        names->newer = oldest;
        names->newer.n = 0;
        at = 0;
    }
    before = vel_vec_place(&names->older, &named, compare, &was_there);
    if (was_there)
        named = *(struct vel_named *)vel_vec_at(&names->older, before);
    inserted = vel_vec_insert(&names->newer, at, &named);
    return inserted ? &inserted->number : NULL;
}
