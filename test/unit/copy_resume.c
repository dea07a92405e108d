/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies that go on where they were interrupted, and how fast they are while their
 * limits change. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc.h"
#include "tap/manual_clock.h"
#include "tap/rng.h"
#include "tap/files.h"
#include "tap/tap.h"
#include "xfer/copy.h"

enum { SIZE = 200000, EVERY = 16384, CHUNK = 4096 };

static char bytes[SIZE];
static char from[1200], to[1200];
static struct vel_err err;

struct lab {
    struct vel_manual_clock clock;
    struct vel_throttle throttle;
    struct vel_copy_resume resume; /* at and crc are as noted last */
    uint64_t until;                /* the copy is stopped behind so many bytes */
    uint64_t moved;
    uint64_t rate_at, rate; /* another rate behind so many bytes */
    uint64_t apart;         /* ns between notes */
    int notes;
    bool is_synced; /* every note is of bytes that are there */
};

static bool step(void *arg, uint64_t n)
{
    struct lab *lab = arg;

    lab->moved += n;
    if (lab->rate && lab->moved >= lab->rate_at)
        vel_throttle_set_rate(&lab->throttle, lab->rate);
    return lab->moved < lab->until;
}

static int note_it(void *arg, uint64_t at, uint32_t crc, struct vel_err *ret_err)
{
    struct lab *lab = arg;
    struct stat st;

    lab->is_synced &= stat(to, &st) == 0 && (uint64_t)st.st_size == at;
    lab->resume.at = at;
    lab->resume.crc = crc;
    lab->notes++;
    return lab->until == at ? vel_fail(ret_err, VEL_ESTATE, "enough") : 0;
}

static int copy(struct lab *lab, bool has_crc)
{
    const struct vel_watch watch = {step, lab};
    const struct vel_copy_how how = {.fs = vel_fs_posix(),
                                     .chunk = CHUNK,
                                     .throttle = &lab->throttle,
                                     .watch = &watch,
                                     .clock = &lab->clock.clock};
    const struct vel_xfer_file file = {.from = from,
                                       .to = to,
                                       .size = SIZE,
                                       .crc = vel_crc32c(0, bytes, SIZE),
                                       .has_crc = has_crc};
    struct vel_copy_resume resume = lab->resume;
    struct vel_xfer_copied copied;
    int rc;

    lab->moved = 0;
    lab->notes = 0;
    lab->is_synced = true;
    resume.every = EVERY;
    resume.apart = lab->apart;
    resume.note = note_it;
    resume.arg = lab;
    rc = vel_copy_resume(&how, &file, &resume, &copied, &err);
    if (rc == 0)
        lab->resume = resume;
    return rc;
}

static void lab_open(struct lab *lab, uint64_t rate)
{
    *lab = (struct lab){.until = UINT64_MAX};
    vel_manual_clock_init(&lab->clock, 5 * VEL_CLOCK_S, 0);
    vel_throttle_init(&lab->throttle, &lab->clock.clock, rate);
    unlink(to);
}

static void lab_close(struct lab *lab)
{
    vel_throttle_fini(&lab->throttle);
    vel_manual_clock_fini(&lab->clock);
}

static bool is_copy(void)
{
    size_t len;
    char *is = tap_get_file(to, &len);
    bool same = is && len == SIZE && memcmp(is, bytes, SIZE) == 0;

    free(is);
    return same;
}

static void going_on(bool has_crc)
{
    const char *with = has_crc ? "with a checksum" : "without a checksum";
    struct lab lab;

    lab_open(&lab, 0);
    lab.until = 100000;
    ok(copy(&lab, has_crc) == VEL_ECANCEL && lab.resume.at == 98304 && lab.notes == 6 &&
           lab.is_synced,
       "a copy is stopped, and what it noted is there, %s", with);
    ok(vel_fs_exists(vel_fs_posix(), to), "it is kept");
    lab.until = UINT64_MAX;
    ok(copy(&lab, has_crc) == 0 && is_copy() && lab.resume.at == 98304 &&
           lab.moved == SIZE - 98304,
       "only the rest is copied");
    lab.resume.at = 0;
    lab.until = 65536;
    ok(copy(&lab, has_crc) < 0, "stopped where a note is taken");
    lab.until = UINT64_MAX;
    ok(truncate(to, 40000) == 0 && copy(&lab, has_crc) == 0 && is_copy() &&
           lab.resume.at == 0,
       "one that is shorter than noted is begun anew");
    lab.resume.at = SIZE + 1;
    ok(copy(&lab, has_crc) == 0 && is_copy() && lab.resume.at == 0,
       "so is one that is noted to be longer than its source");
    unlink(to);
    if (symlink(from, to) != 0)
        bail_out("no link");
    lab.resume.at = 16384;
    ok(copy(&lab, has_crc) == 0 && is_copy() && lab.resume.at == 0 &&
           tap_file_is(from, "") == false,
       "a link is not followed");
    lab_close(&lab);
}

static void not_believed(void)
{
    struct lab lab;

    lab_open(&lab, 0);
    lab.until = 100000;
    copy(&lab, true);
    lab.until = UINT64_MAX;
    lab.resume.crc ^= 1;
    ok(copy(&lab, true) == VEL_ECORRUPT && !vel_fs_exists(vel_fs_posix(), to),
       "a note that is wrong ends in a checksum that is wrong, and nothing stands");
    lab_close(&lab);
}

/* Seconds for the whole file. */
static double lasts(struct lab *lab)
{
    uint64_t begin = vel_clock_monotonic(&lab->clock.clock);

    if (copy(lab, true) < 0)
        return -1;
    return (double)(vel_clock_monotonic(&lab->clock.clock) - begin) / VEL_CLOCK_S;
}

static void rates(void)
{
    struct lab lab;
    double is;

    lab_open(&lab, 20000);
    is = lasts(&lab);
    ok(is > 9.0 && is < 11.0, "a rate holds within a tenth: %.2f s for 10", is);
    lab_close(&lab);
    lab_open(&lab, 20000);
    lab.rate_at = SIZE / 2;
    lab.rate = 100000;
    is = lasts(&lab);
    ok(is > 5.4 && is < 6.6, "another from the middle on, too: %.2f s for 5 + 1", is);
    lab_close(&lab);
    lab_open(&lab, 100000);
    lab.rate_at = SIZE / 2;
    lab.rate = 10000;
    is = lasts(&lab);
    ok(is > 9.9 && is < 12.1, "a lower one: %.2f s for 1 + 10", is);
    lab_close(&lab);
}

/* Each note waits for the disk: one that is fast is not to wait more often for it. */
static void notes_apart(void)
{
    struct lab lab;

    lab_open(&lab, 20000);
    lab.apart = 2 * VEL_CLOCK_S;
    ok(copy(&lab, true) == 0 && lab.notes == 4 && lab.is_synced,
       "in 10 s notes that are 2 s apart are four, not twelve");
    lab_close(&lab);
}

/* --- on the way to the disk --- */

enum { LARGE = 20 << 20 };

static uint64_t hastened, synced_after; /* bytes from the start */

static void see_hasten(struct vel_fs *fs, int fd, off_t at, off_t len)
{
    (void)fs, (void)fd;
    if ((uint64_t)at == hastened)
        hastened += (uint64_t)len;
}

static int see_sync(struct vel_fs *fs, int fd)
{
    synced_after = hastened;
    return vel_fs_posix()->ops->fsync(fs, fd);
}

static int copy_large(double percent)
{
    struct vel_fs_ops ops = *vel_fs_posix()->ops;
    struct vel_fs fs = {.ops = &ops};
    struct vel_throttle throttle;
    const struct vel_copy_how how = {.fs = &fs, .throttle = &throttle};
    const struct vel_xfer_file file = {.from = from, .to = to, .size = LARGE};
    struct vel_xfer_copied copied;
    int rc;

    ops.hasten = see_hasten;
    ops.fsync = see_sync;
    hastened = synced_after = 0;
    vel_throttle_init(&throttle, vel_clock_system(), 0);
    vel_throttle_set_percent(&throttle, percent);
    rc = vel_copy_file(&how, &file, &copied, &err);
    vel_throttle_fini(&throttle);
    return rc;
}

static void hastening(void)
{
    char *large = malloc(LARGE);

    if (!large)
        bail_out("no memory");
    memset(large, 1, LARGE);
    tap_put_bytes(from, large, LARGE);
    free(large);
    ok(copy_large(0) == 0 && synced_after >= LARGE * 3 / 4,
       "most of a copy is on its way to the disk when that is waited for");
    ok(copy_large(50) == 0 && synced_after == 0,
       "but not where a share of the disk's time is measured");
}

int main(void)
{
    struct vel_rng rng;

    vel_rng_init(&rng, 1);
    vel_rng_fill(&rng, bytes, sizeof bytes);
    snprintf(from, sizeof from, "%s", tap_path("from"));
    snprintf(to, sizeof to, "%s", tap_path("to"));
    memset(bytes + 94208, 0, 8192); /* zeros up to behind a note */
    tap_put_bytes(from, bytes, SIZE);
    going_on(true);
    going_on(false);
    if (truncate(from, 94208) != 0 || truncate(from, SIZE) != 0)
        bail_out("no hole");
    FILE *f = fopen(from, "r+");
    if (!f || fseek(f, 102400, SEEK_SET) != 0 ||
        fwrite(bytes + 102400, 1, SIZE - 102400, f) != SIZE - 102400 || fclose(f) != 0)
        bail_out("no file with a hole");
    going_on(true);
    not_believed();
    rates();
    notes_apart();
    hastening();
    return done_testing();
}
