/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/image.h"
#include "base/crc.h"
#include "tap/rng.h"
#include "tap/files.h"
#include "tap/sweep.h"
#include "tap/tap.h"

enum { N = 5, BIG = 700001 };

/* the memory of a program: regions 0 .. N-1 of these sizes, as bytes */
static const size_t sizes[N] = {8, 4096, BIG, 1, 4095};
static const int ids[N] = {42, -7, 0, 2147483647, -2147483647 - 1};

struct program {
    unsigned char *memory[N];
    struct vel_regions *regions;
};

static void fill(const struct program *p, uint64_t seed)
{
    struct vel_rng rng;

    vel_rng_init(&rng, seed);
    for (int i = 0; i < N; i++)
        vel_rng_fill(&rng, p->memory[i], sizes[i]);
}

static void program_init(struct program *p, uint64_t seed)
{
    p->regions = vel_regions_create();
    for (int i = 0; i < N; i++) {
        p->memory[i] = malloc(sizes[i] + 1); /* one more, which nobody shall touch */
        if (!p->regions || !p->memory[i] ||
            vel_regions_protect(p->regions, NULL, ids[i], p->memory[i], sizes[i], 1,
                                NULL) < 0)
            bail_out("cannot protect memory");
        p->memory[i][sizes[i]] = 0xa5;
    }
    fill(p, seed);
}

static void program_fini(struct program *p)
{
    for (int i = 0; i < N; i++)
        free(p->memory[i]);
    vel_regions_destroy(p->regions);
}

static const struct vel_region_list *list_of(const struct program *p)
{
    return vel_regions_list(p->regions, NULL);
}

/* Has region i what fill(seed) makes? */
static bool has(const struct program *p, int i, uint64_t seed)
{
    struct program want;

    program_init(&want, seed);
    bool is_same = memcmp(p->memory[i], want.memory[i], sizes[i] + 1) == 0;
    program_fini(&want);
    return is_same;
}

static bool has_all(const struct program *p, uint64_t seed)
{
    bool is_same = true;

    for (int i = 0; i < N; i++)
        is_same &= has(p, i, seed);
    return is_same;
}

static int append(struct vel_image_writer *writer, const struct program *p, int mode,
                  const int *some, int n, struct vel_err *err)
{
    struct vel_selection selection;
    int rc = vel_selection_init(&selection, mode, some, n, err);

    if (rc < 0)
        return rc;
    rc = vel_image_append(writer, list_of(p), &selection, err);
    vel_selection_fini(&selection);
    return rc;
}

static int save(struct vel_fs *fs, const char *path, const struct program *p,
                bool has_crc, struct vel_err *err)
{
    struct vel_image_writer *writer = NULL;
    int rc = vel_image_create(fs, path, has_crc, &writer, err);

    if (rc == 0)
        rc = append(writer, p, VEL_SELECT_ALL, NULL, 0, err);
    if (rc == 0)
        rc = vel_image_commit(writer, err);
    vel_image_destroy(writer);
    return rc;
}

static int load(const char *path, const struct vel_region_list *list, int mode,
                const int *some, int n, struct vel_err *err)
{
    struct vel_selection selection;
    struct vel_image *image = NULL;
    int rc = vel_image_open(vel_fs_posix(), path, &image, err);

    if (rc < 0)
        return rc;
    rc = vel_selection_init(&selection, mode, some, n, err);
    if (rc == 0) {
        rc = vel_image_read(image, list, &selection, err);
        vel_selection_fini(&selection);
    }
    vel_image_close(image);
    return rc;
}

static int load_all(const char *path, const struct program *p, struct vel_err *err)
{
    return load(path, list_of(p), VEL_SELECT_ALL, NULL, 0, err);
}

static void whole(bool has_crc)
{
    const char *path = tap_path(has_crc ? "with" : "without");
    struct vel_err err = {0};
    struct program p;
    uint64_t bytes = 0;

    program_init(&p, 1);
    ok(save(vel_fs_posix(), path, &p, has_crc, &err) == 0,
       "memory is written %s checksums", has_crc ? "with" : "without");
    fill(&p, 2);
    ok(load_all(path, &p, &err) == 0 && has_all(&p, 1), "and comes back");
    struct vel_image *image = NULL;
    if (vel_image_open(vel_fs_posix(), path, &image, &err) < 0)
        bail_out("%s", err.text);
    ok(vel_image_size_of(image, 0, &bytes, &err) == 0 && bytes == BIG,
       "the size of a region is known before it is read");
    is_int(vel_image_size_of(image, 1, &bytes, &err), VEL_ENOENT,
           "that of a region which was not saved is none");
    ok(strstr(err.text, " has no region 1") && bytes == BIG, "with a sentence");
    vel_image_close(image);
    program_fini(&p);
}

static void selected(void)
{
    const char *path = tap_path("selected");
    const int two[] = {42, 0}, unknown[] = {0, 5};
    struct vel_image_writer *writer = NULL;
    struct vel_err err = {0};
    struct program p;

    program_init(&p, 1);
    if (vel_image_create(vel_fs_posix(), path, true, &writer, &err) < 0)
        bail_out("%s", err.text);
    is_int(append(writer, &p, VEL_SELECT_SOME, unknown, 2, &err), VEL_ENOENT,
           "an id that is not protected is refused");
    ok(strstr(err.text, "the selection names region 5, which is not protected"),
       "with a sentence");
    ok(append(writer, &p, VEL_SELECT_SOME, two, 2, &err) == 0,
       "and others are still taken: some regions");
    fill(&p, 2);
    ok(append(writer, &p, VEL_SELECT_REST, two, 2, &err) == 0 &&
           vel_image_commit(writer, &err) == 0,
       "and the rest, later");
    vel_image_destroy(writer);
    fill(&p, 3);
    ok(load(path, list_of(&p), VEL_SELECT_SOME, two, 1, &err) == 0 && has(&p, 0, 1) &&
           has(&p, 1, 3) && has(&p, 2, 3) && has(&p, 3, 3) && has(&p, 4, 3),
       "one region comes back alone");
    ok(load(path, list_of(&p), VEL_SELECT_REST, two, 2, &err) == 0 && has(&p, 1, 2) &&
           has(&p, 2, 3) && has(&p, 3, 2) && has(&p, 4, 2),
       "and the rest as it was when it was written");
    is_int(load(path, list_of(&p), VEL_SELECT_SOME, unknown, 2, &err), VEL_ENOENT,
           "an id that was not saved is refused");
    ok(strstr(err.text, " has no region 5, which the selection names"),
       "with a sentence");
    is_int(load(path, list_of(&p), VEL_SELECT_REST, unknown, 2, &err), VEL_ENOENT,
           "also to leave it out, as long as nobody knows it");
    ok(has(&p, 2, 3), "and no memory has changed");
    vel_regions_protect(p.regions, NULL, 5, p.memory[3], 1, 1, NULL);
    ok(load(path, list_of(&p), VEL_SELECT_REST, unknown, 2, &err) == 0 && has(&p, 2, 3),
       "a region that is protected and was not saved may be left out");
    ok(load_all(path, &p, &err) == 0 && has(&p, 2, 1),
       "and is not missed when all are read");
    program_fini(&p);
}

/* an id that is written twice: smaller, as large, larger than before */
static void again(void)
{
    const char *path = tap_path("again");
    const size_t counts[] = {5000, 4000, 4999, 5001, 100000, 3};
    unsigned char memory[100000], first[16] = "fifteen letters";
    struct vel_regions *regions = vel_regions_create();
    struct vel_image_writer *writer = NULL;
    struct vel_selection all;
    struct vel_err err = {0};
    int wrong = 0;

    vel_selection_init(&all, VEL_SELECT_ALL, NULL, 0, NULL);
    for (size_t last = 0; last < 6; last++) {
        if (vel_image_create(vel_fs_posix(), path, true, &writer, &err) < 0)
            bail_out("%s", err.text);
        vel_regions_protect(regions, NULL, 1, first, sizeof first, 1, NULL);
        for (size_t i = 0; i <= last; i++) {
            memset(memory, (int)i + 1, sizeof memory);
            vel_regions_protect(regions, NULL, 0, memory, counts[i], 1, NULL);
            wrong += vel_image_append(writer, vel_regions_list(regions, NULL), &all,
                                      &err) < 0;
        }
        wrong += vel_image_commit(writer, &err) < 0;
        vel_image_destroy(writer);
        memset(memory, 0, sizeof memory);
        memset(first, 0, sizeof first);
        wrong += load(path, vel_regions_list(regions, NULL), VEL_SELECT_ALL, NULL, 0,
                      &err) < 0;
        wrong += strcmp((char *)first, "fifteen letters") != 0;
        for (size_t i = 0; i < sizeof memory; i++)
            wrong += memory[i] != (i < counts[last] ? last + 1 : 0);
    }
    ok(wrong == 0, "of a region that is written again the last bytes and size count");
    vel_selection_fini(&all);
    vel_regions_destroy(regions);
}

static void sizes_change(void)
{
    const char *path = tap_path("sizes");
    unsigned char memory[20] = "0123456789", larger[20];
    struct vel_regions *regions = vel_regions_create();
    struct vel_err err = {0};
    struct program p;

    program_init(&p, 1);
    vel_regions_clear(p.regions, NULL);
    vel_regions_protect(p.regions, NULL, 3, memory, 5, 2, NULL);
    if (save(vel_fs_posix(), path, &p, true, &err) < 0)
        bail_out("%s", err.text);
    memset(larger, 'x', sizeof larger);
    vel_regions_protect(regions, NULL, 3, larger, 3, 4, NULL);
    ok(load(path, vel_regions_list(regions, NULL), VEL_SELECT_ALL, NULL, 0, &err) ==
               0 &&
           memcmp(larger, "0123456789xx", 12) == 0,
       "a region may be larger than what was saved, in other elements");
    vel_regions_protect(regions, NULL, 3, larger, 9, 1, NULL);
    memset(larger, 'x', sizeof larger);
    is_int(load(path, vel_regions_list(regions, NULL), VEL_SELECT_ALL, NULL, 0, &err),
           VEL_EINVAL, "but not smaller");
    ok(strstr(err.text, " has 10 bytes of region 3, and only 9 are protected") &&
           larger[0] == 'x',
       "which a sentence tells before memory changes");
    vel_regions_clear(regions, NULL);
    is_int(load(path, vel_regions_list(regions, NULL), VEL_SELECT_ALL, NULL, 0, &err),
           VEL_ENOENT, "a saved region that is not protected is refused");
    ok(strstr(err.text, " has a region 3 of 10 bytes, which is not protected"),
       "with a sentence");
    ok(load(path, vel_regions_list(regions, NULL), VEL_SELECT_SOME, NULL, 0, &err) == 0,
       "unless nobody asks for it");
    vel_regions_destroy(regions);
    program_fini(&p);
}

static void empty(void)
{
    const char *path = tap_path("empty");
    struct vel_image_writer *writer = NULL;
    struct vel_err err = {0};
    struct program p;

    program_init(&p, 1);
    ok(vel_image_create(vel_fs_posix(), path, true, &writer, &err) == 0 &&
           append(writer, &p, VEL_SELECT_SOME, NULL, 0, &err) == 0 &&
           vel_image_commit(writer, &err) == 0,
       "a process may have nothing to save");
    vel_image_destroy(writer);
    ok(load_all(path, &p, &err) == 0 && has_all(&p, 1), "and nothing to read");
    program_fini(&p);
}

/* a table whose region ends at the last byte, whatever its size */
static void every_size(void)
{
    const char *path = tap_path("size");
    unsigned char memory[40], back[40];
    struct vel_regions *regions = vel_regions_create();
    struct vel_err err = {0};
    struct program p = {.regions = regions};
    int wrong = 0;

    for (size_t n = 1; n <= sizeof memory; n++) {
        memset(memory, (int)n, sizeof memory);
        memset(back, 0, sizeof back);
        vel_regions_protect(regions, NULL, 0, memory, n, 1, NULL);
        wrong += save(vel_fs_posix(), path, &p, true, &err) < 0;
        vel_regions_protect(regions, NULL, 0, back, n, 1, NULL);
        wrong += load_all(path, &p, &err) < 0 || memcmp(memory, back, n) != 0;
    }
    ok(wrong == 0, "regions of 1 to %zu bytes come back", sizeof memory);
    vel_regions_destroy(regions);
}

static void given_up(void)
{
    const char *path = tap_path("given-up"), *other = tap_path("other-name");
    struct vel_image_writer *writer = NULL;
    struct vel_err err = {0};
    struct program p;

    program_init(&p, 1);
    tap_put_file(path, "what was there");
    if (link(path, other) < 0)
        bail_out("cannot link %s", path);
    if (vel_image_create(vel_fs_posix(), path, true, &writer, &err) < 0)
        bail_out("%s", err.text);
    append(writer, &p, VEL_SELECT_ALL, NULL, 0, &err);
    struct vel_image *image = NULL;
    is_int(vel_image_open(vel_fs_posix(), path, &image, &err), VEL_ECORRUPT,
           "an image that is being written is none yet");
    ok(strstr(err.text, "a checkpoint image that was never finished"),
       "and is told as such");
    vel_image_destroy(writer);
    ok(access(path, F_OK) < 0, "one that is given up leaves no file");
    ok(tap_file_is(other, "what was there"),
       "and another name of an older file keeps what it had");
    program_fini(&p);
}

/* memory that is not there fails as a write, not as a crash */
static void bad_pointer(bool has_crc)
{
    const char *path = tap_path("bad-pointer");
    struct vel_image_writer *writer = NULL;
    struct vel_err err = {0};
    struct program p;

    program_init(&p, 1);
    vel_regions_protect(p.regions, NULL, 0, (void *)8, BIG, 1, NULL);
    if (vel_image_create(vel_fs_posix(), path, has_crc, &writer, &err) < 0)
        bail_out("%s", err.text);
    ok(append(writer, &p, VEL_SELECT_ALL, NULL, 0, &err) < 0 &&
           strstr(err.text, strerror(EFAULT)),
       "memory that is not there is an error");
    is_int(vel_image_commit(writer, &err), VEL_ESTATE, "after which there is no image");
    vel_image_destroy(writer);
    ok(access(path, F_OK) < 0, "and no file");
    program_fini(&p);
}

/* Two steps and a replaced region, where an older image stands that has another name,
 * too. */
static const char old_name[] = "a-0-1.dat", kept_name[] = "kept";

static void sweep_prepare(const char *dir, void *arg)
{
    char path[1200], kept[1200];
    struct program p;

    (void)arg;
    snprintf(path, sizeof path, "%s/%s", dir, old_name);
    snprintf(kept, sizeof kept, "%s/%s", dir, kept_name);
    program_init(&p, 1);
    if (save(vel_fs_posix(), path, &p, true, NULL) < 0 || link(path, kept) < 0)
        bail_out("cannot prepare %s", path);
    program_fini(&p);
}

static int sweep_action(struct vel_fs *fs, const char *dir, void *arg,
                        struct vel_err *err)
{
    struct vel_image_writer *writer = NULL;
    char path[1200];
    struct program p;

    (void)arg;
    snprintf(path, sizeof path, "%s/%s", dir, old_name);
    program_init(&p, 3);
    int rc = vel_image_create(fs, path, true, &writer, err);
    if (rc == 0)
        rc = append(writer, &p, VEL_SELECT_SOME, ids, 2, err);
    fill(&p, 2);
    if (rc == 0)
        rc = append(writer, &p, VEL_SELECT_ALL, NULL, 0, err);
    if (rc == 0)
        rc = vel_image_commit(writer, err);
    vel_image_destroy(writer);
    program_fini(&p);
    return rc;
}

/* the seed whose memory an image has; 0: it is none */
static uint64_t seed_of(const char *path)
{
    struct program p;
    uint64_t seed = 0;

    program_init(&p, 9);
    if (load_all(path, &p, NULL) == 0)
        seed = has_all(&p, 1) ? 1 : has_all(&p, 2) ? 2 : 3;
    program_fini(&p);
    return seed;
}

static enum sweep_state sweep_check(const char *dir, void *arg)
{
    char path[1200], kept[1200];

    (void)arg;
    snprintf(path, sizeof path, "%s/%s", dir, old_name);
    snprintf(kept, sizeof kept, "%s/%s", dir, kept_name);
    uint64_t seed = seed_of(path), kept_seed = seed_of(kept);
    /* the older one was not synced either: a loss of power may take it, no more */
    if (seed == 3 || kept_seed > 1) {
        note("seed %" PRIu64 ", and of the other name %" PRIu64, seed, kept_seed);
        return SWEEP_BROKEN;
    }
    return seed == 2 ? SWEEP_NEW : SWEEP_OLD;
}

/* --- the checksum of the whole --- */

/* Write an image in two steps, region 2 in both, the second time of `bytes` bytes. */
static bool sum_of(bool has_crc, bool is_written_twice, size_t bytes)
{
    const char *path = tap_path("summed");
    const int twice[] = {ids[2]};
    struct vel_image_writer *writer = NULL;
    struct vel_err err = {0};
    struct program p;
    uint64_t size = 0;
    uint32_t crc = 0;
    size_t len = 0;
    char *file;
    bool is_known;

    program_init(&p, 5);
    int rc = vel_image_create(vel_fs_posix(), path, has_crc, &writer, &err);
    if (rc == 0)
        rc = append(writer, &p, VEL_SELECT_ALL, NULL, 0, &err);
    if (rc == 0 && is_written_twice) {
        fill(&p, 6);
        rc = vel_regions_protect(p.regions, NULL, ids[2], p.memory[2], bytes, 1, &err);
        if (rc == 0)
            rc = append(writer, &p, VEL_SELECT_SOME, twice, 1, &err);
    }
    if (rc == 0)
        rc = vel_image_commit(writer, &err);
    if (rc < 0)
        bail_out("%s", err.text);
    file = tap_get_file(path, &len);
    is_known = vel_image_sum(writer, &size, &crc);
    if (is_known && (!file || size != len || crc != vel_crc32c(0, file, len)))
        bail_out("%s has another checksum than its writer says", path);
    free(file);
    vel_image_destroy(writer);
    program_fini(&p);
    return is_known;
}

static void test_sum(void)
{
    ok(sum_of(true, false, 0), "the checksum of an image is known without reading it");
    ok(sum_of(true, true, BIG), "also when a region was written once more");
    ok(!sum_of(true, true, BIG - 5), "but not when it is smaller now");
    ok(!sum_of(false, false, 0), "nor without checksums");
}

int main(void)
{
    test_sum();
    const struct sweep sweep = {"an image", sweep_prepare, sweep_action, sweep_check,
                                .is_lazy = true};

    whole(true);
    whole(false);
    selected();
    again();
    sizes_change();
    empty();
    every_size();
    given_up();
    bad_pointer(true);
    bad_pointer(false);
    sweep_run(&sweep);
    return done_testing();
}
