/* SPDX-License-Identifier: BSD-3-Clause */
/* Where regions lie in an image: the kernel copies a page at once where memory and file
 * have the same place in it. */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/image.h"
#include "tap/rng.h"
#include "tap/files.h"
#include "tap/tap.h"

enum { N = 4, PAGE = 4096 };

static const size_t sizes[N] = {100, PAGE, 3 * PAGE + 5, 700001},
                    at[N] = {1, 16, PAGE - 1, 2000};

static void save(const char *path, const struct vel_region_list *list)
{
    struct vel_image_writer *writer = NULL;
    struct vel_selection all;
    struct vel_err err = {0};

    if (vel_selection_init(&all, VEL_SELECT_ALL, NULL, 0, &err) < 0 ||
        vel_image_create(vel_fs_posix(), path, true, &writer, &err) < 0 ||
        vel_image_append(writer, list, &all, &err) < 0 ||
        vel_image_commit(writer, &err) < 0)
        bail_out("%s", err.text);
    vel_selection_fini(&all);
    vel_image_destroy(writer);
}

int main(void)
{
    struct vel_regions *regions = vel_regions_create();
    const char *path = tap_path("image");
    unsigned char *pages[N];
    struct vel_rng rng;
    size_t len;

    vel_rng_init(&rng, 1);
    for (int i = 0; i < N; i++) {
        pages[i] = aligned_alloc(PAGE, (at[i] + sizes[i] + PAGE) / PAGE * PAGE);
        if (!regions || !pages[i] ||
            vel_regions_protect(regions, NULL, i, pages[i] + at[i], sizes[i], 1, NULL) <
                0)
            bail_out("cannot protect memory");
        vel_rng_fill(&rng, pages[i] + at[i], sizes[i]);
    }
    save(path, vel_regions_list(regions, NULL));
    char *file = tap_get_file(path, &len);
    for (int i = 0; file && i < N; i++) {
        const char *there = memmem(file, len, pages[i] + at[i], sizes[i]);

        ok(there, "region %d is there as it is", i);
        if (sizes[i] >= PAGE)
            is_int((there - file) % PAGE, (int64_t)at[i],
                   "and has its place in a page");
        else
            ok(there - file < PAGE, "and takes no page of its own");
        free(pages[i]);
    }
    free(file);
    vel_regions_destroy(regions);
    return done_testing();
}
