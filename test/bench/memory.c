/* SPDX-License-Identifier: BSD-3-Clause */
/* How fast does protected memory become a checkpoint image, and memory again, measured
 * against write(2) and read(2) of the same bytes? */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/image.h"
#include "tap/rng.h"
#include "bench/bench.h"

enum { SIZE = 256 << 20, SMALL = 1000 * 8 };

struct work {
    char *memory;
    char path_plain[256], path_image[256];
    const struct vel_region_list *list;
    struct vel_selection all;
    size_t step; /* bytes of a region */
    bool has_crc;
};

static int do_write(void *arg)
{
    const struct work *w = arg;
    int fd = open(w->path_plain, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    for (size_t at = 0; fd >= 0 && at < SIZE; at += w->step) {
        size_t n = SIZE - at < w->step ? SIZE - at : w->step;

        if (write(fd, w->memory + at, n) != (ssize_t)n)
            return -1;
    }
    return fd < 0 ? -1 : close(fd);
}

static int remove_plain(void *arg)
{
    const struct work *w = arg;

    unlink(w->path_plain);
    return 0;
}

static int do_image(void *arg)
{
    const struct work *w = arg;
    struct vel_image_writer *writer = NULL;
    struct vel_err err = {0};
    int rc = vel_image_create(vel_fs_posix(), w->path_image, w->has_crc, &writer, &err);

    if (rc == 0)
        rc = vel_image_append(writer, w->list, &w->all, &err);
    if (rc == 0)
        rc = vel_image_commit(writer, &err);
    vel_image_destroy(writer);
    return rc;
}

static int remove_image(void *arg)
{
    const struct work *w = arg;

    unlink(w->path_image);
    return 0;
}

static int do_read(void *arg)
{
    const struct work *w = arg;
    int fd = open(w->path_plain, O_RDONLY | O_CLOEXEC);

    for (size_t at = 0; fd >= 0 && at < SIZE; at += w->step) {
        size_t n = SIZE - at < w->step ? SIZE - at : w->step;

        if (read(fd, w->memory + at, n) != (ssize_t)n)
            return -1;
    }
    return fd < 0 ? -1 : close(fd);
}

static int do_recover(void *arg)
{
    const struct work *w = arg;
    struct vel_image *image = NULL;
    int rc = vel_image_open(vel_fs_posix(), w->path_image, &image, NULL);

    if (rc == 0)
        rc = vel_image_read(image, w->list, &w->all, NULL);
    vel_image_close(image);
    return rc;
}

/* The memory in regions of `step` bytes, written and read in both ways. */
static int compare(struct work *w, const char *params, size_t step, bool has_crc,
                   double target)
{
    struct vel_regions *regions = vel_regions_create();
    int id = 0, missed;

    w->step = step;
    w->has_crc = has_crc;
    for (size_t at = 0; at < SIZE; at += step)
        if (!regions ||
            vel_regions_protect(regions, NULL, id++, w->memory + at,
                                SIZE - at < step ? SIZE - at : step, 1, NULL) < 0)
            bench_die("cannot protect memory");
    w->list = vel_regions_list(regions, NULL);
    const struct bench save = {
        "memory checkpoint",
        params,
        SIZE,
        {"write", do_write, remove_plain},
        {has_crc ? "image+crc" : "image", do_image, remove_image},
        target};
    const struct bench recover = {
        "memory recovery",           params, SIZE, {"read", do_read, NULL},
        {"image", do_recover, NULL}, 0};
    missed = bench_run(&save, w);
    missed |= bench_run(&recover, w);
    vel_regions_destroy(regions);
    return missed;
}

int main(void)
{
    struct work w = {.memory = malloc(SIZE)};
    const char *dir = bench_ram_dir();
    struct vel_rng rng;
    int missed;

    if (!w.memory || vel_selection_init(&w.all, VEL_SELECT_ALL, NULL, 0, NULL) < 0)
        bench_die("out of memory");
    vel_rng_init(&rng, 1);
    vel_rng_fill(&rng, w.memory, SIZE);
    snprintf(w.path_plain, sizeof w.path_plain, "%s/h5veloc-bench.%d.plain", dir,
             getpid());
    snprintf(w.path_image, sizeof w.path_image, "%s/h5veloc-bench.%d.image", dir,
             getpid());
    missed = compare(&w, "256MiB regions=1 crc ram", SIZE, true, 0.8);
    missed |= compare(&w, "256MiB regions=1 ram", SIZE, false, 0.95);
    missed |= compare(&w, "256MiB regions=16 crc ram", SIZE / 16, true, 0.8);
    missed |= compare(&w, "256MiB regions=33555 crc ram", SMALL, true, 0);
    unlink(w.path_plain);
    unlink(w.path_image);
    free(w.memory);
    return missed;
}
