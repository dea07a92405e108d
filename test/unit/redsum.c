/* SPDX-License-Identifier: BSD-3-Clause */
/* Checksums that come from who wrote the files: taken where nothing else is to be read,
 * and believed by nobody later; and redundancy files that go while somebody looks. */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc.h"
#include "base/log.h"
#include "comm/comm.h"
#include "red/header.h"
#include "red/redfile.h"
#include "red/set.h"
#include "tap/fs_fault.h"
#include "tap/files.h"
#include "tap/tap.h"

static char first[] = "first", second[] = "second";
static const char text[] = "what a program has written";

static void write_at(const char *dir, const char *name, const char *bytes)
{
    char path[1200];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    tap_put_file(path, bytes);
}

/* As of long ago: a clock may stand for some milliseconds. */
static void begin(const char *dir)
{
    const struct timespec times[] = {{.tv_sec = 1}, {.tv_sec = 1}};
    char *names[] = {first, second};
    char path[1200];

    tap_fresh_dir(dir);
    for (size_t i = 0; i < 2; i++) {
        write_at(dir, names[i], text);
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        if (utimensat(AT_FDCWD, path, times, 0) < 0)
            bail_out("%s", path);
    }
}

/* Protect both files, the first with this sum; *ret_reads counts reads of files. */
static int apply(const struct vel_red_set *like, const struct vel_red_sum *sum,
                 unsigned *ret_reads, struct vel_err *err)
{
    const struct vel_fs_fault_plan reads = {.kinds = VEL_FS_KIND_READ};
    char *names[] = {first, second};
    struct vel_red_set set = *like;
    struct vel_red_sum copy = *sum;
    struct vel_map *sums = vel_map_create();
    struct vel_fs_fault *fault = NULL;
    int rc;

    if (!sums || vel_map_set(sums, first, &copy, NULL) < 0 ||
        vel_fs_fault_create(vel_fs_posix(), NULL, &fault, err) < 0)
        bail_out("no memory");
    vel_fs_fault_arm(fault, &reads);
    set.sums = sums;
    set.fs = vel_fs_fault_fs(fault);
    rc = vel_red_apply(&set, names, 2, "", 0, NULL, err);
    *ret_reads = (unsigned)vel_fs_fault_count(fault);
    vel_fs_fault_destroy(fault);
    vel_map_destroy(sums, NULL);
    return rc;
}

/* The same without sums: the times count. */
static int apply_dated(const struct vel_red_set *like, unsigned *ret_reads,
                       struct vel_err *err)
{
    const struct vel_red_sum none = {0};
    struct vel_red_set set = *like;

    set.is_dated = true;
    return apply(&set, &none, ret_reads, err);
}

static int recover(const struct vel_red_set *set, struct vel_err *err)
{
    struct vel_red_report report;
    int rc = vel_red_recover(set, &report, err);

    if (rc == 0)
        vel_red_report_fini(&report);
    return rc;
}

static void dated(const struct vel_red_set *set, unsigned some)
{
    const uint8_t id[VEL_ENCODING_ID] = {1};
    struct vel_red_set again = *set;
    struct vel_err err = {0};
    char other[sizeof text];
    unsigned reads;

    memcpy(other, text, sizeof text);
    other[0] ^= 1;
    again.id = id;
    begin(set->dir);
    ok(apply_dated(set, &reads, &err) == 0 && recover(set, &err) == 0,
       "files may be protected by their times, until somebody reads them");
    ok(reads < some, "and are not read for it: %u reads, not %u", reads, some);
    ok(vel_red_apply_again(&again, 0, "", 0, NULL, &err) == 0 &&
           vel_red_drop_older(&again, &err) == 0,
       "who protects them again takes their checksums");
    write_at(set->dir, first, text);
    ok(recover(set, &err) == 0, "then times do not matter any more");
    write_at(set->dir, second, other);
    ok(recover(set, &err) < 0 && strstr(err.text, second), "but bytes do: %s",
       err.text);
    begin(set->dir);
    if (apply_dated(set, &reads, &err) < 0)
        bail_out("%s", err.text);
    write_at(set->dir, first, other);
    ok(vel_red_apply_again(&again, 0, "", 0, NULL, &err) < 0 && strstr(err.text, first),
       "what was written to meanwhile is not protected: %s", err.text);
    ok(recover(set, &err) < 0 && strstr(err.text, first), "nor restored: %s", err.text);
}

/* A file system on which somebody removes a redundancy file just before it is read. */
static int open_too_late(struct vel_fs *fs, const char *path, int flags, mode_t mode)
{
    (void)fs;
    if (strstr(path, VEL_RED_SUFFIX))
        unlink(path);
    return vel_fs_posix()->ops->open(vel_fs_posix(), path, flags, mode);
}

static void count(void *lines, enum vel_log_level level, const char *line, size_t len)
{
    (void)level, (void)line, (void)len;
    ++*(int *)lines;
}

static void goes_while_looked_at(const struct vel_red_set *set)
{
    struct vel_fs_ops ops = *vel_fs_posix()->ops;
    struct vel_fs fs = {.ops = &ops};
    int lines = 0, rc;
    const struct vel_log_sink sink = {
        .write = count, .arg = &lines, .level = VEL_LOG_WARN, .is_speaker = true};
    struct vel_vec found;

    ops.open = open_too_late;
    vel_log_open(&sink);
    rc = vel_redfile_scan(&fs, set->dir, set->label, 0, &found, NULL);
    vel_log_open(NULL);
    ok(rc == 0 && found.n == 0 && lines == 0,
       "a redundancy file that is removed while somebody looks is not there, and not "
       "lost");
    vel_redfiles_fini(&found);
}

int main(void)
{
    const struct vel_red_sum right = {strlen(text), vel_crc32c(0, text, strlen(text))};
    const struct vel_red_sum wrong = {right.size, right.crc + 1};
    const struct vel_red_sum other = {right.size + 1, right.crc + 1};
    const char *dir = tap_path("part");
    struct vel_red_set set = {.scheme = VEL_SINGLE,
                              .sets = 1,
                              .fs = vel_fs_posix(),
                              .dir = dir,
                              .label = "part"};
    struct vel_err err = {0};
    unsigned reads = 0, all = 0;

    if (vel_comm_self(&set.comm, &err) < 0)
        bail_out("%s", err.text);
    begin(dir);
    ok(apply(&set, &other, &all, &err) == 0 && recover(&set, &err) == 0,
       "the sum of a file of another size is not taken");
    begin(dir);
    ok(apply(&set, &right, &reads, &err) == 0 && recover(&set, &err) == 0,
       "a file is protected with the sum that its writer gives");
    ok(reads < all, "and not read for it: %u reads, not %u", reads, all);
    begin(dir);
    ok(apply(&set, &wrong, &reads, &err) == 0, "also with a wrong one");
    ok(recover(&set, &err) < 0 && strstr(err.text, first) && !strstr(err.text, second),
       "which is found before the file is believed: %s", err.text);
    dated(&set, reads);
    begin(dir);
    ok(apply(&set, &right, &reads, &err) == 0, "files are protected");
    goes_while_looked_at(&set);
    vel_comm_destroy(set.comm);
    return done_testing();
}
