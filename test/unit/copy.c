/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc.h"
#include "base/path.h"
#include "tap/manual_clock.h"
#include "tap/rng.h"
#include "tap/fs_fault.h"
#include "tap/files.h"
#include "tap/sweep.h"
#include "tap/tap.h"
#include "xfer/copy.h"
#include "xfer/temp.h"

enum { SIZE = 100003, CHUNK = 8192 };

static char bytes[SIZE];
static char from[1200], to[1200];
static struct vel_err err;

static struct vel_xfer_file file_of(size_t size)
{
    return (struct vel_xfer_file){.from = from,
                                  .to = to,
                                  .size = size,
                                  .crc = vel_crc32c(0, bytes, size),
                                  .has_crc = true};
}

static void put_source(size_t size)
{
    snprintf(from, sizeof from, "%s", tap_path("source"));
    snprintf(to, sizeof to, "%s", tap_path("x/y/.copy.h5v-1.tmp"));
    unlink(from);
    unlink(to);
    tap_put_bytes(from, bytes, size);
}

static bool is_copy(const char *path, size_t size)
{
    size_t len;
    char *got = tap_get_file(path, &len);
    bool same = got && len == size && memcmp(got, bytes, len) == 0;

    free(got);
    return same;
}

static bool failed(int rc, enum vel_status want, const char *part)
{
    bool is = rc == want && strstr(err.text, part) && access(to, F_OK) != 0;

    if (!is)
        note("%d: %s", rc, err.text);
    return is;
}

static void sizes(bool has_crc)
{
    const size_t tried[] = {0, 1, 4095, 4096, CHUNK - 1, CHUNK, CHUNK + 1, SIZE};
    const struct vel_copy_how how = {.fs = vel_fs_posix(), .chunk = CHUNK};
    bool all = true;

    for (size_t i = 0; i < sizeof tried / sizeof tried[0]; i++) {
        struct vel_xfer_copied copied;
        put_source(tried[i]);
        struct vel_xfer_file file = file_of(tried[i]);
        file.has_crc = has_crc;
        all &= vel_copy_file(&how, &file, &copied, &err) == 0 &&
               is_copy(to, tried[i]) && copied.has_crc == has_crc &&
               (!has_crc || copied.crc == file.crc);
    }
    ok(all, "files of any size are copied %s checksum", has_crc ? "with" : "without");
}

static void metadata(void)
{
    struct vel_copy_how how = {.fs = vel_fs_posix(), .keeps_metadata = true};
    const struct timespec times[2] = {{1000000000, 1}, {1100000000, 2}};
    struct vel_xfer_copied copied;
    struct stat st;

    put_source(SIZE);
    chmod(from, 0440);
    utimensat(AT_FDCWD, from, times, 0);
    struct vel_xfer_file file = file_of(SIZE);
    ok(vel_copy_file(&how, &file, &copied, &err) == 0 && stat(to, &st) == 0 &&
           (st.st_mode & 0777) == 0440 && st.st_mtim.tv_sec == 1100000000 &&
           st.st_mtim.tv_nsec == 2 && copied.mode == 0440 &&
           copied.mtime.tv_sec == 1100000000,
       "mode and time go with the file, also without leave to write");
    how.keeps_metadata = false;
    umask(027);
    ok(vel_copy_file(&how, &file, &copied, &err) == 0 && stat(to, &st) == 0 &&
           (st.st_mode & 0777) == 0640 && st.st_mtim.tv_sec != 1100000000,
       "without them the copy is a new file like any other");
    umask(022);
}

static void refusals(void)
{
    const struct vel_copy_how how = {.fs = vel_fs_posix(), .chunk = CHUNK};
    struct vel_xfer_copied copied = {.crc = 5};

    put_source(SIZE);
    struct vel_xfer_file file = file_of(SIZE);
    file.crc++;
    ok(failed(vel_copy_file(&how, &file, &copied, &err), VEL_ECORRUPT, "checksum is") &&
           strstr(err.text, from),
       "another checksum is a corrupt file, which is named");
    file = file_of(SIZE);
    file.size++;
    ok(failed(vel_copy_file(&how, &file, &copied, &err), VEL_ECORRUPT,
              "has 100003 bytes, not the recorded 100004"),
       "so is another size");
    unlink(from);
    ok(failed(vel_copy_file(&how, &file, &copied, &err), VEL_ENOENT, "source"),
       "a missing file is told");
    mkfifo(from, 0600);
    ok(failed(vel_copy_file(&how, &file, &copied, &err), VEL_EINVAL, "no regular file"),
       "a FIFO is refused at once");
    unlink(from);
    put_source(SIZE);
    file = file_of(SIZE);
    snprintf(to, sizeof to, "%s", tap_path("source/below"));
    ok(failed(vel_copy_file(&how, &file, &copied, &err), VEL_EINVAL,
              "cannot make directory"),
       "a file in the way of a directory is told");
    ok(copied.crc == 5, "a failure tells no checksum");
}

/* What stands at the temporary name is never written through. */
static void leftovers(void)
{
    const struct vel_copy_how how = {.fs = vel_fs_posix()};
    struct vel_xfer_copied copied;
    char other[1200];

    put_source(SIZE);
    struct vel_xfer_file file = file_of(SIZE);
    snprintf(other, sizeof other, "%s", tap_path("other"));
    tap_put_file(other, "not ours");
    if (symlink(other, to) < 0)
        bail_out("cannot link %s", to);
    ok(vel_copy_file(&how, &file, &copied, &err) == 0 && is_copy(to, SIZE) &&
           tap_file_is(other, "not ours"),
       "a link at the temporary name is replaced, not followed");
    unlink(to);
    if (link(other, to) < 0)
        bail_out("cannot link %s", to);
    ok(vel_copy_file(&how, &file, &copied, &err) == 0 && is_copy(to, SIZE) &&
           tap_file_is(other, "not ours"),
       "so is a file with other names");
}

/* --- holes --- */

static void holes(bool has_crc)
{
    const struct vel_copy_how how = {.fs = vel_fs_posix(), .chunk = 1 << 16};
    const off_t size = 64 << 20;
    struct vel_xfer_copied copied;
    struct stat st;
    char got[3] = "";

    put_source(0);
    int fd = open(from, O_RDWR);
    if (fd < 0 || ftruncate(fd, size) < 0 || pwrite(fd, "ab", 2, 5 << 20) != 2 ||
        pwrite(fd, "z", 1, (5 << 20) + 70000) != 1 || fstat(fd, &st) < 0)
        bail_out("cannot make a file with holes");
    close(fd);
    if (st.st_blocks * 512 >= size) {
        skip(1, "this file system has no holes");
        return;
    }
    struct vel_xfer_file file = {.from = from, .to = to, .size = (uint64_t)size};
    struct vel_copy_how sum = how;
    sum.wants_crc = has_crc;
    int rc = vel_copy_file(&sum, &file, &copied, &err);
    fd = open(to, O_RDONLY);
    bool is_same = fd >= 0 && pread(fd, got, 2, 5 << 20) == 2 &&
                   strcmp(got, "ab") == 0 &&
                   pread(fd, got, 1, (5 << 20) + 70000) == 1 && got[0] == 'z';
    ok(rc == 0 && is_same && fstat(fd, &st) == 0 && st.st_size == size &&
           st.st_blocks * 512 < 1 << 20,
       "holes stay holes, %s checksum", has_crc ? "with" : "without");
    close(fd);
}

/* --- whoever watches --- */

struct guard {
    int steps_left;
    uint64_t moved;
    const char *change; /* a file to write to in the middle */
};

static bool step(void *arg, uint64_t n)
{
    struct guard *guard = arg;

    guard->moved += n;
    if (guard->change && guard->moved > SIZE / 2) {
        tap_put_file(guard->change, "changed");
        guard->change = NULL;
    }
    return guard->steps_left < 0 || guard->steps_left-- > 0;
}

static void watching(bool has_crc)
{
    struct guard guard = {.steps_left = -1};
    const struct vel_watch watch = {step, &guard};
    struct vel_throttle throttle;
    struct vel_manual_clock clock;
    struct vel_xfer_copied copied;
    struct vel_copy_how how = {
        .fs = vel_fs_posix(), .chunk = CHUNK, .watch = &watch, .throttle = &throttle};

    vel_manual_clock_init(&clock, VEL_CLOCK_S, 0);
    vel_throttle_init(&throttle, &clock.clock, 10000);
    put_source(SIZE);
    struct vel_xfer_file file = file_of(SIZE);
    file.has_crc = has_crc;
    uint64_t begin = vel_clock_monotonic(&clock.clock);
    int rc = vel_copy_file(&how, &file, &copied, &err);
    double s = (double)(vel_clock_monotonic(&clock.clock) - begin) / VEL_CLOCK_S;
    ok(rc == 0 && s > 9 && s < 11, "100 kB at 10 kB/s last 10 s (%.1f s)", s);
    is_int((long long)guard.moved, SIZE, "every byte is told");
    guard = (struct guard){.steps_left = 20};
    ok(failed(vel_copy_file(&how, &file, &copied, &err), VEL_ECANCEL, "cancelled") &&
           guard.moved > 0,
       "a throttled copy can be stopped, and leaves nothing");
    vel_throttle_set_rate(&throttle, 0);
    guard = (struct guard){.steps_left = 5};
    ok(failed(vel_copy_file(&how, &file, &copied, &err), VEL_ECANCEL, "cancelled"),
       "so can one without a limit");
    vel_throttle_fini(&throttle);
    vel_manual_clock_fini(&clock);
}

static void changing(void)
{
    struct guard guard = {.steps_left = -1, .change = from};
    const struct vel_watch watch = {step, &guard};
    const struct vel_copy_how how = {
        .fs = vel_fs_posix(), .chunk = CHUNK, .watch = &watch};
    struct vel_xfer_copied copied;

    put_source(SIZE);
    struct vel_xfer_file file = file_of(SIZE);
    int rc = vel_copy_file(&how, &file, &copied, &err);
    ok(failed(rc, VEL_ECORRUPT, "too early"), "a file that shrinks meanwhile is told");
}

/* same size, other time */
static bool touch_step(void *arg, uint64_t n)
{
    const struct timespec times[2] = {{1, 1}, {1, 1}};

    (void)n;
    utimensat(AT_FDCWD, arg, times, 0);
    return true;
}

static void touching(void)
{
    const struct vel_watch watch = {touch_step, from};
    const struct vel_copy_how how = {.fs = vel_fs_posix(), .watch = &watch};
    struct vel_xfer_copied copied;

    put_source(SIZE);
    struct vel_xfer_file file = file_of(SIZE);
    file.has_crc = false;
    ok(failed(vel_copy_file(&how, &file, &copied, &err), VEL_EBUSY, "was changed"),
       "a file that is written to meanwhile is told");
}

/* --- somebody else's copy --- */

static void checking(void)
{
    struct vel_copy_how how = {.fs = vel_fs_posix(), .keeps_metadata = true};
    struct vel_xfer_copied copied;
    struct stat st;

    put_source(SIZE);
    chmod(from, 0604);
    struct vel_xfer_file file = file_of(SIZE);
    tap_put_bytes(to, bytes, SIZE);
    ok(vel_copy_check(&how, &file, &copied, &err) == 0 && copied.crc == file.crc &&
           stat(to, &st) == 0 && (st.st_mode & 0777) == 0604,
       "a good copy is found good and gets its mode");
    tap_put_bytes(to, bytes, SIZE - 1);
    is_int(vel_copy_check(&how, &file, &copied, &err), VEL_ECORRUPT,
           "a short one is not");
    bytes[77]++;
    tap_put_bytes(to, bytes, SIZE);
    bytes[77]--;
    ok(vel_copy_check(&how, &file, &copied, &err) == VEL_ECORRUPT &&
           strstr(err.text, to),
       "nor is one with another byte, and it is the copy that is named");
    file.has_crc = false;
    is_int(vel_copy_check(&how, &file, &copied, &err), 0,
           "without a checksum nobody can know");
    unlink(to);
    if (symlink(from, to) < 0)
        bail_out("cannot link");
    ok(vel_copy_check(&how, &file, &copied, &err) < 0, "a link is no copy");
    unlink(to);
}

/* --- faults --- */

struct flush {
    bool has_crc;
};

static void dest_of(const char *dir, char path[1200])
{
    snprintf(path, 1200, "%s/sub/file", dir);
}

static void prepare(const char *dir, void *arg)
{
    char path[1200];

    (void)arg;
    snprintf(path, sizeof path, "%s/sub", dir);
    mkdir(path, 0700);
    dest_of(dir, path);
    tap_put_file(path, "the old file");
}

static int flush(struct vel_fs *fs, const char *dir, void *arg, struct vel_err *ret_err)
{
    const struct flush *flush = arg;
    const struct vel_copy_how how = {.fs = fs, .chunk = 4096, .keeps_metadata = true};
    struct vel_xfer_copied copied;
    char dest[1200], *temporary = NULL;

    dest_of(dir, dest);
    if (vel_xfer_temp_name(dest, 3, &temporary, ret_err) < 0)
        bail_out("no name");
    struct vel_xfer_file file = {.from = from,
                                 .to = temporary,
                                 .size = 9000,
                                 .crc = vel_crc32c(0, bytes, 9000),
                                 .has_crc = flush->has_crc};
    int rc = vel_copy_file(&how, &file, &copied, ret_err);
    if (rc == 0)
        rc = vel_copy_publish(fs, temporary, dest, ret_err);
    if (rc < 0) /* as its callers do after a rename that failed */
        vel_fs_unlink(fs, temporary, NULL);
    free(temporary);
    return rc;
}

static enum sweep_state check(const char *dir, void *arg)
{
    char dest[1200];

    (void)arg;
    dest_of(dir, dest);
    return tap_file_is(dest, "the old file") ? SWEEP_OLD
           : is_copy(dest, 9000)             ? SWEEP_NEW
                                             : SWEEP_BROKEN;
}

static bool is_temporary(const char *name)
{
    return vel_xfer_temp_parse(name, NULL);
}

static void faults(bool has_crc)
{
    struct flush arg = {has_crc};
    const struct sweep sweep = {
        .name = has_crc ? "copy with checksum and publish" : "copy and publish",
        .prepare = prepare,
        .action = flush,
        .check = check,
        .arg = &arg,
        .is_temporary = is_temporary,
    };

    put_source(9000);
    sweep_run(&sweep);
}

/* The kernel does not copy between these files; a disk that is full says so with its
 * path. */
static void fallbacks(void)
{
    struct vel_fs_fault *fault;
    struct vel_xfer_copied copied;
    const int says[] = {EXDEV, EOPNOTSUPP, EINVAL};
    bool all = true;

    put_source(SIZE);
    struct vel_xfer_file file = file_of(SIZE);
    file.has_crc = false;
    if (vel_fs_fault_create(vel_fs_posix(), NULL, &fault, NULL) < 0)
        bail_out("no twin");
    const struct vel_copy_how how = {.fs = vel_fs_fault_fs(fault), .chunk = CHUNK};
    for (size_t i = 0; i < 3; i++)
        for (uint64_t at = 1; at <= 2; at++) {
            const struct vel_fs_fault_plan plan = {.mode = VEL_FS_FAULT_LASTING,
                                                   .kinds = VEL_FS_KIND_COPY,
                                                   .at = at,
                                                   .errnum = says[i],
                                                   .most_at_once = 5000};
            vel_fs_fault_arm(fault, &plan);
            all &= vel_copy_file(&how, &file, &copied, &err) == 0 &&
                   is_copy(to, SIZE) && vel_fs_fault_fired(fault);
            unlink(to);
        }
    ok(all, "what the kernel does not copy goes through memory, from where it stopped");
    const struct vel_fs_fault_plan full = {.mode = VEL_FS_FAULT_LASTING,
                                           .kinds = VEL_FS_KIND_COPY,
                                           .at = 2,
                                           .errnum = ENOSPC,
                                           .most_at_once = 5000};
    vel_fs_fault_arm(fault, &full);
    ok(failed(vel_copy_file(&how, &file, &copied, &err), VEL_ENOSPC, to),
       "a full disk is told with the path, and nothing is left on it");
    note("%s", err.text);
    vel_fs_fault_destroy(fault);
}

static void publishing(void)
{
    char dest[1200];

    put_source(SIZE);
    snprintf(dest, sizeof dest, "%s", tap_path("published"));
    is_int(vel_copy_publish(vel_fs_posix(), to, dest, &err), VEL_ENOENT,
           "without a temporary nothing is published");
    ok(strstr(err.text, "publishing") && strstr(err.text, dest), "which is told");
}

int main(void)
{
    struct vel_rng rng;

    vel_rng_init(&rng, 1);
    vel_rng_fill(&rng, bytes, sizeof bytes);
    sizes(true);
    sizes(false);
    metadata();
    refusals();
    leftovers();
    holes(true);
    holes(false);
    watching(true);
    watching(false);
    changing();
    touching();
    checking();
    fallbacks();
    publishing();
    faults(true);
    faults(false);
    return done_testing();
}
