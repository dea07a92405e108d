/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of a store are read and written as fast as its throttle lets all jobs. */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "tap/manual_clock.h"
#include "tap/files.h"
#include "tap/tap.h"
#include "xfer/paced.h"

enum { BYTES = 3 << 20, RATE = 1 << 20 };

static struct vel_manual_clock hands;
static struct vel_throttle throttle, other;
static struct vel_paced_dir dirs[2];
static struct vel_watch watch;
static struct vel_paced paced;
static struct vel_fs *fs = &paced.twin.fs;
static bool goes_on;
static char *bytes;

static bool step(void *arg, uint64_t moved)
{
    (void)arg, (void)moved;
    return goes_on;
}

static double seconds_since(uint64_t begun)
{
    return (double)(hands.monotonic - begun) / (double)VEL_CLOCK_S;
}

static int open_file(struct vel_fs *of, const char *path, int flags)
{
    struct vel_err err = {0};
    int fd = -1;

    if (vel_fs_open(of, path, flags, 0600, &fd, &err) < 0)
        bail_out("%s", err.text);
    return fd;
}

/* At the rate, of which the bucket may have had a tenth of a second before. */
static void lasts(double seconds, double wanted, const char *what)
{
    ok(seconds >= wanted - 0.1 && seconds <= wanted + 0.1, "%s takes its time", what);
    note("%.2f s, and %.2f s at that rate", seconds, wanted);
}

static void reads_and_writes(void)
{
    const char *path = tap_path("store/deep/file"), *away = tap_path("else");
    uint64_t begun = hands.monotonic;
    int fd = open_file(fs, path, O_RDWR | O_CREAT);
    int to = open_file(fs, away, O_RDWR | O_CREAT);
    struct vel_err err = {0};

    is_int(vel_fs_write_at(fs, fd, bytes, BYTES, 0, path, &err), 0,
           "a file is written");
    lasts(seconds_since(begun), 3, "that");
    begun = hands.monotonic;
    is_int(vel_fs_read_at(fs, fd, bytes, BYTES, 0, path, &err), 0, "and read");
    lasts(seconds_since(begun), 3, "that");
    begun = hands.monotonic;
    is_int(vel_fs_copy_at(fs, fd, 0, path, to, 0, away, BYTES, &err), 0,
           "and copied to elsewhere");
    lasts(seconds_since(begun), 3, "that");
    begun = hands.monotonic;
    vel_fs_write_at(fs, to, bytes, BYTES, 0, away, &err);
    vel_fs_close(fs, fd, path, NULL);
    vel_fs_close(fs, to, away, NULL);
    fd = open_file(fs, away, O_RDONLY); /* has the number of the other one */
    is_int(vel_fs_read_at(fs, fd, bytes, BYTES, 0, away, &err), 0, "a file elsewhere");
    lasts(seconds_since(begun), 0, "no limit: that");
    vel_fs_close(fs, fd, away, NULL);
}

/* A store may be in a directory of another one. */
static void innermost(void)
{
    const char *path = tap_path("store/deep/inner/file");
    uint64_t begun = hands.monotonic;
    struct vel_err err = {0};
    int fd;

    tap_fresh_dir(tap_path("store/deep/inner"));
    fd = open_file(fs, path, O_RDWR | O_CREAT);
    vel_fs_write_at(fs, fd, bytes, BYTES, 0, path, &err);
    lasts(seconds_since(begun), 1.5, "twice as fast in a store within: that");
    vel_fs_close(fs, fd, path, NULL);
}

/* Two jobs have a twin each, and one store. */
static void together(void)
{
    const char *path = tap_path("store/deep/file");
    uint64_t begun = hands.monotonic;
    struct vel_err err = {0};
    struct vel_paced second;
    int fd[2];

    vel_paced_init(&second, vel_fs_posix(), dirs, 2, NULL);
    fd[0] = open_file(fs, path, O_RDONLY);
    fd[1] = open_file(&second.twin.fs, path, O_RDONLY);
    for (int i = 0; i < 3; i++) {
        vel_fs_read_at(fs, fd[0], bytes, RATE, 0, path, &err);
        vel_fs_read_at(&second.twin.fs, fd[1], bytes, RATE, 0, path, &err);
    }
    lasts(seconds_since(begun), 6, "what two jobs read");
    vel_fs_close(fs, fd[0], path, NULL);
    vel_fs_close(&second.twin.fs, fd[1], path, NULL);
    vel_paced_fini(&second);
}

static void stopped(void)
{
    const char *path = tap_path("store/deep/file");
    uint64_t begun = hands.monotonic;
    struct vel_err err = {0};
    int fd = open_file(fs, path, O_RDONLY);

    vel_throttle_set_rate(&throttle, 1);
    goes_on = false;
    is_int(vel_fs_read_at(fs, fd, bytes, BYTES, 0, path, &err), 0,
           "who is told to stop reads what it reads");
    ok(seconds_since(begun) <= 0.1, "and does not wait for a slow store");
    goes_on = true;
    vel_fs_close(fs, fd, path, NULL);
}

int main(void)
{
    vel_manual_clock_init(&hands, 5 * VEL_CLOCK_S, 0);
    vel_throttle_init(&throttle, &hands.clock, RATE);
    vel_throttle_init(&other, &hands.clock, 2 * RATE);
    tap_fresh_dir(tap_path("store"));
    tap_fresh_dir(tap_path("store/deep"));
    dirs[0] = (struct vel_paced_dir){strdup(tap_path("store")), &throttle};
    dirs[1] = (struct vel_paced_dir){strdup(tap_path("store/deep/inner")), &other};
    watch = (struct vel_watch){step, NULL};
    bytes = calloc(1, BYTES);
    if (!bytes || !dirs[0].dir || !dirs[1].dir)
        bail_out("out of memory");
    goes_on = true;
    vel_paced_init(&paced, vel_fs_posix(), dirs, 2, &watch);
    reads_and_writes();
    innermost();
    together();
    stopped();
    vel_paced_fini(&paced);
    vel_throttle_fini(&throttle);
    vel_throttle_fini(&other);
    vel_manual_clock_fini(&hands);
    free((char *)dirs[0].dir);
    free((char *)dirs[1].dir);
    free(bytes);
    return done_testing();
}
