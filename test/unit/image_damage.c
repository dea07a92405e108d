/* SPDX-License-Identifier: BSD-3-Clause */
/* Images as hostile input: damaged anywhere, cut anywhere, of another version, and the
 * one that must be readable for ever (test/data/image). */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/image.h"
#include "api/image_format.h"
#include "base/crc.h"
#include "tap/files.h"
#include "tap/tap.h"

/* the memory of the sample */
static const unsigned char text[] = "protected";
static const double numbers[] = {1.0, -2.5, 1e300};
enum { TEXT = -1, NUMBERS = 7 };

struct back {
    char text[32];
    double numbers[3];
};

static unsigned char *bytes; /* of the sample, which has no gaps */
static size_t len;
static const char *path;

static void protect(struct vel_regions *regions, struct back *back)
{
    memset(back, 0, sizeof *back);
    vel_regions_protect(regions, NULL, TEXT, back->text, sizeof back->text, 1, NULL);
    vel_regions_protect(regions, NULL, NUMBERS, back->numbers, 3, sizeof(double), NULL);
}

/* Open and read all of `path`. */
static int load(struct back *back, struct vel_err *err)
{
    struct vel_regions *regions = vel_regions_create();
    struct vel_image *image = NULL;
    struct vel_selection all;

    protect(regions, back);
    vel_selection_init(&all, VEL_SELECT_ALL, NULL, 0, NULL);
    *err = (struct vel_err){0};
    int rc = vel_image_open(vel_fs_posix(), path, &image, err);
    if (rc == 0)
        rc = vel_image_read(image, vel_regions_list(regions, NULL), &all, err);
    vel_image_close(image);
    vel_selection_fini(&all);
    vel_regions_destroy(regions);
    return rc;
}

static void read_sample(void)
{
    const char *source = getenv("top_srcdir");
    char name[1200];

    snprintf(name, sizeof name, "%s/test/data/image/v1.hex", source ? source : ".");
    bytes = (unsigned char *)tap_get_file(name, &len);
    if (!bytes)
        bail_out("cannot read %s", name);
    len = tap_decode_hex(bytes, len, len);
    path = tap_path("image");
}

static void for_ever(void)
{
    struct vel_err err = {0};
    struct back back;

    tap_put_bytes(path, bytes, len);
    is_int(load(&back, &err), 0, "the sample of version 1 is read");
    is_str(back.text, (const char *)text, "with its text");
    ok(memcmp(back.numbers, numbers, sizeof numbers) == 0, "and its numbers");
}

/* What is written today is the sample, byte for byte. */
static void as_ever(void)
{
    struct vel_regions *regions = vel_regions_create();
    struct vel_image_writer *writer = NULL;
    struct vel_selection all;
    struct vel_err err = {0};
    unsigned char copy[sizeof text];
    double more[3];
    size_t n = 0;

    memcpy(copy, text, sizeof text);
    memcpy(more, numbers, sizeof more);
    vel_selection_init(&all, VEL_SELECT_ALL, NULL, 0, NULL);
    vel_regions_protect(regions, NULL, TEXT, copy, sizeof copy, 1, NULL);
    vel_regions_protect(regions, NULL, NUMBERS, more, 3, sizeof(double), NULL);
    if (vel_image_create(vel_fs_posix(), path, true, &writer, &err) < 0 ||
        vel_image_append(writer, vel_regions_list(regions, NULL), &all, &err) < 0 ||
        vel_image_commit(writer, &err) < 0)
        bail_out("%s", err.text);
    vel_image_destroy(writer);
    char *now = tap_get_file(path, &n);
    ok(n == len && memcmp(now, bytes, len) == 0, "what is written is the sample again");
    free(now);
    vel_selection_fini(&all);
    vel_regions_destroy(regions);
}

/* the bytes between two regions mean nothing: the text ends at 64 + 10 */
static bool is_gap(size_t at)
{
    return at >= 64 + sizeof text && at < 80;
}

static void flipped(void)
{
    struct vel_err err;
    struct back back;
    int wrong = 0;

    for (size_t bit = 0; bit < len * 8; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        tap_put_bytes(path, bytes, len);
        int rc = load(&back, &err);
        bool is_well = is_gap(bit / 8) ? rc == 0
                                       : (rc == VEL_ECORRUPT || rc == VEL_EUNSUP) &&
                                             strstr(err.text, path);
        if (!is_well && wrong++ == 0)
            note("bit %zu: %d %s", bit, rc, err.text);
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    ok(wrong == 0, "every bit of %zu bytes that flips is found", len);
    bytes[66] ^= 1;
    tap_put_bytes(path, bytes, len);
    is_int(load(&back, &err), VEL_ECORRUPT, "damage in a region is found");
    ok(strstr(err.text, "the protected memory may be partly overwritten: do not use it"
                        ": ") &&
           strstr(err.text,
                  ": region -1 has another checksum than when it was written"),
       "and told with the region, and what it means");
    bytes[66] ^= 1;
}

static void cut(void)
{
    struct vel_err err;
    struct back back;
    int wrong = 0;

    for (size_t n = 0; n < len; n++) {
        tap_put_bytes(path, bytes, n);
        wrong += load(&back, &err) != VEL_ECORRUPT || !strstr(err.text, path);
    }
    ok(wrong == 0, "an image that is cut anywhere is none");
    unsigned char *more = calloc(1, len + 1);
    memcpy(more, bytes, len);
    tap_put_bytes(path, more, len + 1);
    ok(load(&back, &err) == VEL_ECORRUPT && strstr(err.text, " bytes where "),
       "neither is one that has grown");
    free(more);
}

static void put(size_t at, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        bytes[at + i] = (unsigned char)(value >> 8 * i);
}

/* The sample with one field changed and a checksum that is right: the status, and its
 * sentence in err. */
static int forged(size_t at, uint64_t value, size_t size, struct vel_err *err)
{
    unsigned char *before = malloc(len);
    struct back back;

    memcpy(before, bytes, len);
    put(at, value, size);
    put(12, 0, 4);
    put(12, vel_crc32c(vel_crc32c(0, bytes, 64), bytes + len - 64, 64), 4);
    tap_put_bytes(path, bytes, len);
    int rc = load(&back, err);
    memcpy(bytes, before, len);
    free(before);
    return rc;
}

static void forgeries(void)
{
    const size_t line = len - 64, next = len - 32; /* of the two regions */
    struct vel_err err;

    ok(forged(44, 0, 4, &err) == 0, "an image that is forged well is read");
    ok(forged(8, 2, 4, &err) == VEL_EUNSUP &&
           strstr(err.text, "version 2, and this h5veloc knows version 1"),
       "a newer version is told as such");
    is_int(forged(20, 3, 4, &err), VEL_EUNSUP, "so is a flag that nobody knows");
    is_int(forged(60, 1, 4, &err), VEL_EUNSUP, "so is a field");
    is_int(forged(20, 0, 4, &err), VEL_ECORRUPT,
           "checksums where there are none are an error");
    is_int(forged(16, 128, 4, &err), VEL_ECORRUPT, "so is another header");
    is_int(forged(24, len - 60, 8, &err), VEL_ECORRUPT,
           "so is a table elsewhere in the file");
    is_int(forged(24, UINT64_MAX - 63, 8, &err), VEL_ECORRUPT, "or outside of it");
    is_int(forged(40, 3, 4, &err), VEL_ECORRUPT, "so is another number of regions");
    is_int(forged(40, UINT32_MAX, 4, &err), VEL_ECORRUPT, "or one that no file has");
    is_int(forged(next, (uint64_t)-1, 4, &err), VEL_ECORRUPT,
           "so is an id that is twice");
    is_int(forged(next, (uint64_t)-2, 4, &err), VEL_ECORRUPT, "or out of order");
    is_int(forged(line + 8, 0, 8, &err), VEL_ECORRUPT, "so are elements of no size");
    is_int(forged(line + 16, 0, 8, &err), VEL_ECORRUPT, "or no elements");
    is_int(forged(next + 16, (uint64_t)1 << 61, 8, &err), VEL_ECORRUPT,
           "so is a size that overflows");
    is_int(forged(next + 16, (uint64_t)1 << 40, 8, &err), VEL_ECORRUPT,
           "or is more than the file");
    is_int(forged(next + 16, 4, 8, &err), VEL_ECORRUPT,
           "so is a region that reaches into the table");
    is_int(forged(line + 24, 63, 8, &err), VEL_ECORRUPT, "or begins in the header");
    is_int(forged(line + 24, UINT64_MAX, 8, &err), VEL_ECORRUPT, "or nowhere");
}

static void others(void)
{
    char none[200] = "this is a text, and long enough for a header and a table........";
    struct vel_err err;
    struct back back;

    tap_put_bytes(path, none, sizeof none);
    ok(load(&back, &err) == VEL_ECORRUPT &&
           strstr(err.text, "no checkpoint image of h5veloc"),
       "another file is no image");
    memset(none, 0, sizeof none);
    tap_put_bytes(path, none, sizeof none);
    ok(load(&back, &err) == VEL_ECORRUPT && strstr(err.text, "was never finished"),
       "neither is one that was never finished");
    unlink(path);
    mkdir(path, 0700);
    ok(load(&back, &err) == VEL_EINVAL && strstr(err.text, "is no regular file"),
       "or a directory");
    rmdir(path);
    if (mkfifo(path, 0600) < 0)
        bail_out("cannot make a pipe");
    is_int(load(&back, &err), VEL_EINVAL, "or a pipe, which nobody waits for");
    unlink(path);
    tap_put_bytes(tap_path("real"), bytes, len);
    if (symlink(tap_path("real"), path) < 0)
        bail_out("cannot make a link");
    ok(load(&back, &err) < 0, "a link is not followed");
}

static void not_there(void)
{
    struct vel_image_writer *writer = NULL;
    struct vel_image *image = NULL;
    struct vel_err err = {0};

    is_int(
        vel_image_create(vel_fs_posix(), tap_path("no/such/dir"), true, &writer, &err),
        VEL_ENOENT, "a directory that is not there is told");
    ok(!writer, "and gives nothing to write to");
    is_int(vel_image_open(vel_fs_posix(), tap_path("no-image"), &image, &err),
           VEL_ENOENT, "so is an image that is not there");
    vel_image_destroy(NULL);
    vel_image_close(NULL);
}

int main(void)
{
    read_sample();
    as_ever();
    for_ever();
    flipped();
    cut();
    forgeries();
    others();
    free(bytes);
    not_there();
    return done_testing();
}
