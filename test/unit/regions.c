/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "api/regions.h"
#include "tap/rng.h"
#include "tap/tap.h"

static char memory[64];

/* "id:bytes id:bytes " of a list, "-" when there is none of that name */
static const char *shown(const struct vel_regions *regions, const char *name)
{
    static char text[4][256];
    static int turn;
    char *to = text[turn++ % 4];
    const struct vel_region_list *list = vel_regions_list(regions, name);

    if (!list)
        return "-";
    to[0] = '\0';
    for (size_t i = 0; i < list->items.n; i++) {
        const struct vel_region *region = vel_vec_at(&list->items, i);
        size_t len = strlen(to);

        snprintf(to + len, 256 - len, "%d:%zu ", region->id, vel_region_bytes(region));
    }
    return to;
}

/* Refused with VEL_EINVAL and this sentence? */
static bool is_refused(struct vel_regions *regions, const char *name, void *ptr,
                       size_t count, size_t size, const char *sentence)
{
    struct vel_err err = {0};
    int rc = vel_regions_protect(regions, name, 9, ptr, count, size, &err);

    if (rc == VEL_EINVAL && strcmp(err.text, sentence) == 0)
        return true;
    note("%d: %s", rc, err.text);
    return false;
}

static void one_list(struct vel_regions *regions)
{
    struct vel_err err = {0};

    is_str(shown(regions, NULL), "", "at first nothing is protected");
    for (int i = 0; i < 3; i++)
        vel_regions_protect(regions, NULL, (const int[]){7, -1, 3}[i], memory, 4, 8,
                            &err);
    is_str(shown(regions, NULL), "-1:32 3:32 7:32 ", "regions are sorted by id");
    vel_regions_protect(regions, NULL, 3, memory + 1, 3, 5, &err);
    is_str(shown(regions, NULL), "-1:32 3:15 7:32 ", "an id used again is replaced");
    ok(vel_region_find(vel_regions_list(regions, NULL), 3)->ptr == memory + 1,
       "with its memory");
    ok(!vel_region_find(vel_regions_list(regions, NULL), 4),
       "an id that is not there is not found");
    is_int(vel_regions_protect(regions, NULL, -1, NULL, 0, 0, &err), 0,
           "a count of 0 is taken");
    is_str(shown(regions, NULL), "3:15 7:32 ", "and takes the region out");
    is_int(vel_regions_protect(regions, NULL, -1, NULL, 0, 8, &err), 0,
           "also one that is not there");
    is_int(vel_regions_unprotect(regions, NULL, 7, &err), 0, "unprotect does the same");
    is_str(shown(regions, NULL), "3:15 ", "to the region that is named");
    is_int(vel_regions_unprotect(regions, NULL, 7, &err), VEL_ENOENT,
           "but refuses one that is not there");
    is_str(err.text, "there is no protected region 7", "with its id");
}

static void bad_ones(struct vel_regions *regions)
{
    const char *before = shown(regions, NULL);

    ok(is_refused(regions, NULL, NULL, 1, 1, "region 9 is at NULL"),
       "memory at NULL is refused");
    ok(is_refused(regions, NULL, memory, 1, 0, "region 9 has elements of 0 bytes"),
       "so are elements of no size");
    ok(is_refused(regions, NULL, memory, SIZE_MAX / 4, 8,
                  "region 9: 4611686018427387903 elements of 8 bytes are more than "
                  "memory can have"),
       "so is an overflow");
    ok(is_refused(regions, NULL, memory, (size_t)-5, 1,
                  "region 9: 18446744073709551611 elements of 1 bytes are more than "
                  "memory can have"),
       "so is a count that was negative");
    ok(is_refused(regions, "a/b", memory, 1, 1,
                  "the name of a region, \"a/b\", has a slash: use another letter"),
       "so is a name that is no part of a file name");
    is_str(shown(regions, NULL), before, "and nothing has changed");
    is_int((long long)vel_regions_lists(regions), 1, "nor is there another name");
}

static void names(struct vel_regions *regions)
{
    struct vel_err err = {0};

    vel_regions_protect(regions, "mesh", 3, memory, 1, 1, &err);
    vel_regions_protect(regions, "field", 3, memory, 2, 1, &err);
    vel_regions_protect(regions, "field", 1, memory, 3, 1, &err);
    is_str(shown(regions, "field"), "1:3 3:2 ", "a name has ids of its own");
    is_str(shown(regions, NULL), "3:15 ", "which are not those without a name");
    is_int((long long)vel_regions_lists(regions), 3, "names are counted");
    ok(!vel_regions_at(regions, 0)->name &&
           strcmp(vel_regions_at(regions, 1)->name, "mesh") == 0 &&
           strcmp(vel_regions_at(regions, 2)->name, "field") == 0,
       "and listed as they came, behind the one without");
    is_int(vel_regions_unprotect(regions, "mesh", 1, &err), VEL_ENOENT,
           "an id of another name is not there");
    is_str(err.text, "\"mesh\" has no protected region 1", "and the sentence says so");
    is_int(vel_regions_unprotect(regions, "sea", 1, &err), VEL_ENOENT,
           "nor is any of a name that was never used");
    is_int(vel_regions_unprotect(regions, "a\n", 1, &err), VEL_EINVAL,
           "or cannot be used");
    vel_regions_protect(regions, "mesh", 3, NULL, 0, 1, &err);
    is_str(shown(regions, "mesh"), "-", "a name without regions is none");
    vel_regions_protect(regions, "ice", 0, NULL, 0, 1, &err);
    is_str(shown(regions, "ice"), "-", "nor is one that never had any");
    vel_regions_clear(regions, "field");
    is_str(shown(regions, "field"), "-", "a name is cleared");
    is_str(shown(regions, NULL), "3:15 ", "without the others");
    vel_regions_clear(regions, "field");
    vel_regions_clear(regions, NULL);
    is_str(shown(regions, NULL), "", "and so are those without a name");
    is_int((long long)vel_regions_lists(regions), 1, "which is the last there is");
}

/* against a plain array of what should be there */
static void many(struct vel_regions *regions)
{
    enum { IDS = 40, STEPS = 4000 };
    size_t want[IDS] = {0};
    struct vel_rng rng;
    int wrong = 0;

    vel_rng_init(&rng, 11);
    for (int step = 0; step < STEPS; step++) {
        int id = (int)vel_rng_below(&rng, IDS);
        size_t count = vel_rng_below(&rng, 4);

        wrong += vel_regions_protect(regions, NULL, id - 7, memory, count, 3, NULL) < 0;
        want[id] = count * 3;
    }
    const struct vel_region_list *list = vel_regions_list(regions, NULL);
    size_t n = 0;
    for (int id = 0; id < IDS; id++) {
        const struct vel_region *region = vel_region_find(list, id - 7);

        wrong += (region ? vel_region_bytes(region) : 0) != want[id];
        n += want[id] != 0;
    }
    ok(wrong == 0 && n == list->items.n, "seed 11: %d changes leave what they say",
       STEPS);
}

int main(void)
{
    struct vel_regions *regions = vel_regions_create();

    if (!regions)
        bail_out("out of memory");
    one_list(regions);
    bad_ones(regions);
    names(regions);
    many(regions);
    vel_regions_destroy(regions);
    vel_regions_destroy(NULL);
    return done_testing();
}
