/* SPDX-License-Identifier: BSD-3-Clause */
/* How fast are a checksum and a copy of a file in memory, measured against memcpy?
 * Everything that protects or moves a checkpoint is built from these. */
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

enum { SIZE = 256 << 20, CHUNK = 1 << 20 };

struct work {
    unsigned char *from, *to;
    char path_from[256], path_to[256];
    int fd_from, fd_to;
    volatile uint32_t crc;
};

static int do_memcpy(void *arg)
{
    struct work *w = arg;

    memcpy(w->to, w->from, SIZE);
    return 0;
}

static int do_crc(void *arg)
{
    struct work *w = arg;

    w->crc = vel_crc32c(0, w->from, SIZE);
    return 0;
}

/* what a copy with a check costs when both are done while a chunk is in the processor's
 * cache */
static int do_copy_and_crc(void *arg)
{
    struct work *w = arg;
    uint32_t crc = 0;

    for (size_t at = 0; at < SIZE; at += CHUNK) {
        crc = vel_crc32c(crc, w->from + at, CHUNK);
        memcpy(w->to + at, w->from + at, CHUNK);
    }
    w->crc = crc;
    return 0;
}

static int do_file_copy(void *arg)
{
    struct work *w = arg;
    struct vel_fs *fs = vel_fs_posix();

    for (off_t at = 0; at < SIZE;) {
        ssize_t n =
            fs->ops->copy(fs, w->fd_from, at, w->fd_to, at, (size_t)(SIZE - at));

        if (n <= 0)
            return -1;
        at += n;
    }
    return 0;
}

static int do_read_write(void *arg)
{
    struct work *w = arg;
    struct vel_fs *fs = vel_fs_posix();

    for (off_t at = 0; at < SIZE; at += CHUNK)
        if (vel_fs_read_at(fs, w->fd_from, w->to, CHUNK, at, w->path_from, NULL) < 0 ||
            vel_fs_write_at(fs, w->fd_to, w->to, CHUNK, at, w->path_to, NULL) < 0)
            return -1;
    return 0;
}

static void open_files(struct work *w)
{
    struct vel_fs *fs = vel_fs_posix();
    struct vel_err err = {0};
    const char *dir = bench_ram_dir();

    snprintf(w->path_from, sizeof w->path_from, "%s/h5veloc-bench.%d.from", dir,
             getpid());
    snprintf(w->path_to, sizeof w->path_to, "%s/h5veloc-bench.%d.to", dir, getpid());
    if (vel_fs_open(fs, w->path_from, O_RDWR | O_CREAT | O_TRUNC, 0600, &w->fd_from,
                    &err) < 0 ||
        vel_fs_open(fs, w->path_to, O_RDWR | O_CREAT | O_TRUNC, 0600, &w->fd_to, &err) <
            0 ||
        vel_fs_write_at(fs, w->fd_from, w->from, SIZE, 0, w->path_from, &err) < 0)
        bench_die("%s", err.text);
    vel_fs_unlink(fs, w->path_from, NULL); /* the descriptors keep them */
    vel_fs_unlink(fs, w->path_to, NULL);
}

int main(void)
{
    struct work w = {.from = malloc(SIZE), .to = malloc(SIZE)};
    struct vel_rng rng;
    int missed = 0;

    if (!w.from || !w.to)
        bench_die("out of memory");
    vel_rng_init(&rng, 1);
    vel_rng_fill(&rng, w.from, SIZE);
    memset(w.to, 1, SIZE);
    open_files(&w);
    const struct bench_side yardstick = {"memcpy", do_memcpy, NULL};
    const struct bench benches[] = {
        {"crc32c", "256MiB", SIZE, yardstick, {"crc32c", do_crc, NULL}, 0},
        {"copy+crc",
         "256MiB chunk=1MiB",
         SIZE,
         yardstick,
         {"memcpy+crc32c", do_copy_and_crc, NULL},
         0},
        {"file read+write",
         "256MiB chunk=1MiB ram",
         SIZE,
         yardstick,
         {"read+write", do_read_write, NULL},
         0},
        {"file copy",
         "256MiB ram",
         SIZE,
         {"read+write", do_read_write, NULL},
         {"copy_file_range", do_file_copy, NULL},
         0},
    };

    for (size_t i = 0; i < sizeof benches / sizeof benches[0]; i++)
        missed |= bench_run(&benches[i], &w);
    free(w.from);
    free(w.to);
    return missed;
}
