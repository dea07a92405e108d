/* SPDX-License-Identifier: BSD-3-Clause */
/* What does a flush cost against cp? A file is copied with its checksum, synced and
 * published by us, and copied by a loop of reads and writes and synced; in memory, and
 * to the disk below TMPDIR. Also the question that decided how we copy: is a copy
 * inside the kernel that is read back for its checksum faster? */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/crc.h"
#include "tap/rng.h"
#include "bench/bench.h"
#include "sys/fs.h"
#include "xfer/copy.h"

enum { SIZE = 128 << 20, CHUNK = 1 << 20 };

struct work {
    char dir[200], from[256], to[256], temporary[256];
    char *buffer;
    struct vel_xfer_file file;
    struct vel_copy_how how;
};

static int forget(void *arg)
{
    struct work *w = arg;

    return vel_fs_unlink(vel_fs_posix(), w->to, NULL);
}

/* as cp does it, with a sync like ours */
static int do_cp(void *arg)
{
    struct work *w = arg;
    struct vel_fs *fs = vel_fs_posix();
    int from = -1, to = -1;
    int rc = vel_fs_open(fs, w->from, O_RDONLY, 0, &from, NULL);

    if (rc == 0)
        rc = vel_fs_open(fs, w->to, O_WRONLY | O_CREAT | O_EXCL, 0600, &to, NULL);
    for (off_t at = 0; at < SIZE && rc == 0; at += CHUNK) {
        rc = vel_fs_read_at(fs, from, w->buffer, CHUNK, at, w->from, NULL);
        if (rc == 0)
            rc = vel_fs_write_at(fs, to, w->buffer, CHUNK, at, w->to, NULL);
    }
    if (rc == 0)
        rc = vel_fs_sync(fs, to, w->to, NULL);
    vel_fs_close(fs, from, w->from, NULL);
    vel_fs_close(fs, to, w->to, NULL);
    return rc;
}

static int flush(struct work *w, bool has_crc)
{
    struct vel_xfer_file file = w->file;
    struct vel_xfer_copied copied;

    file.has_crc = has_crc;
    int rc = vel_copy_file(&w->how, &file, &copied, NULL);
    return rc < 0 ? rc : vel_copy_publish(w->how.fs, w->temporary, w->to, NULL);
}

static int do_flush(void *arg)
{
    return flush(arg, true);
}

static int do_plain(void *arg)
{
    return flush(arg, false);
}

/* the way not taken */
static int do_read_back(void *arg)
{
    struct work *w = arg;
    struct vel_xfer_file file = w->file;
    struct vel_xfer_copied copied;

    file.has_crc = false;
    int rc = vel_copy_file(&w->how, &file, &copied, NULL);
    if (rc == 0)
        rc = vel_copy_check(&w->how, &w->file, &copied, NULL);
    return rc < 0 ? rc : vel_copy_publish(w->how.fs, w->temporary, w->to, NULL);
}

static void open_work(struct work *w, const char *dir)
{
    struct vel_rng rng;
    struct vel_err err = {0};
    int fd = -1;

    memset(w, 0, sizeof *w);
    snprintf(w->dir, sizeof w->dir, "%.100s/h5veloc-bench.XXXXXX", dir);
    w->buffer = malloc(SIZE);
    if (!w->buffer || !mkdtemp(w->dir))
        bench_die("no memory or no directory below %s", dir);
    snprintf(w->from, sizeof w->from, "%s/from", w->dir);
    snprintf(w->to, sizeof w->to, "%s/to", w->dir);
    snprintf(w->temporary, sizeof w->temporary, "%s/.to.h5v-1.tmp", w->dir);
    vel_rng_init(&rng, 1);
    vel_rng_fill(&rng, w->buffer, SIZE);
    w->file = (struct vel_xfer_file){.from = w->from,
                                     .to = w->temporary,
                                     .size = SIZE,
                                     .crc = vel_crc32c(0, w->buffer, SIZE),
                                     .has_crc = true};
    w->how = (struct vel_copy_how){
        .fs = vel_fs_posix(), .chunk = CHUNK, .keeps_metadata = true};
    if (vel_fs_open(w->how.fs, w->from, O_WRONLY | O_CREAT, 0600, &fd, &err) < 0 ||
        vel_fs_write_at(w->how.fs, fd, w->buffer, SIZE, 0, w->from, &err) < 0 ||
        vel_fs_sync(w->how.fs, fd, w->from, &err) < 0 ||
        vel_fs_close(w->how.fs, fd, w->from, &err) < 0)
        bench_die("%s", err.text);
}

static void close_work(struct work *w)
{
    vel_fs_remove_tree(vel_fs_posix(), w->dir, NULL);
    free(w->buffer);
}

static int run(const char *dir, const char *params, double target)
{
    const struct bench_side cp = {"read+write", do_cp, forget};
    const struct bench_side with_crc = {"copy+crc", do_flush, forget};
    const struct bench benches[] = {
        {"flush", params, SIZE, cp, with_crc, target},
        {"flush without crc", params, SIZE, cp, {"copy", do_plain, forget}, 0},
        {"flush, read back",
         params,
         SIZE,
         with_crc,
         {"copy, then crc", do_read_back, forget},
         0},
    };
    struct work w;
    int missed = 0;

    open_work(&w, dir);
    for (size_t i = 0; i < sizeof benches / sizeof benches[0]; i++)
        missed |= bench_run(&benches[i], &w);
    close_work(&w);
    return missed;
}

int main(void)
{
    const char *disk = getenv("TMPDIR");

    return run(bench_ram_dir(), "128MiB chunk=1MiB ram", 0.8) |
           run(disk ? disk : "/tmp", "128MiB chunk=1MiB disk", 0.9);
}
