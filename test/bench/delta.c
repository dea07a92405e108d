/* SPDX-License-Identifier: BSD-3-Clause */
/* What does a delta flush of a file save of which 1 % has changed, and what does it
 * cost when all of it has? Against a whole copy of the same file, as FLUSH_DELTA=OFF
 * makes it: from memory to the disk below DELTA_DIR, or else TMPDIR. Where blocks are
 * not shared (the rows say which) the file is patched in place.
 *
 * The file has BENCH_MIB MiB (256). */
#include "config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/crc.h"
#include "tap/rng.h"
#include "bench/bench.h"
#include "jobs/delta.h"
#include "meta/entry.h"
#include "meta/paths.h"
#include "tap/indexlab.h"

enum { CHUNK = 1 << 20, PAGE = 4096 };

struct side {
    char from[256], dest[256], temporary[256];
    uint32_t crc;
};

struct work {
    char cache[200], prefix[200], dir[220]; /* dir: PREFIX/.veloc */
    size_t size;
    size_t changed; /* bytes of each version that are new, in one place */
    char *bytes;
    struct vel_rng rng;
    struct side whole, delta;
    int64_t id;
    double seconds;
    bool is_patch;
};

static void check(int rc, const struct vel_err *err)
{
    if (rc < 0)
        bench_die("%s", err->text);
}

/* The next version of a side's file, in the cache. */
static void make_version(struct work *w, struct side *s)
{
    struct vel_fs *fs = vel_fs_posix();
    struct vel_err err = {0};
    size_t at = (size_t)vel_rng_below(&w->rng, w->size - w->changed + 1) / PAGE * PAGE;
    int fd;

    vel_rng_fill(&w->rng, w->bytes + at, w->changed);
    check(vel_fs_open(fs, s->from, O_RDWR | O_CREAT, 0600, &fd, &err), &err);
    check(vel_fs_write_at(fs, fd, w->bytes + at, w->changed, (off_t)at, s->from, &err),
          &err);
    /* the other side's version has other bytes elsewhere: read back what this one is */
    s->crc = 0;
    for (size_t i = 0; i < w->size; i += CHUNK) {
        static char buffer[CHUNK];
        size_t len = w->size - i < CHUNK ? w->size - i : CHUNK;

        check(vel_fs_read_at(fs, fd, buffer, len, (off_t)i, s->from, &err), &err);
        s->crc = vel_crc32c(s->crc, buffer, len);
    }
    check(vel_fs_close(fs, fd, s->from, &err), &err);
}

static int next_whole(void *arg)
{
    struct work *w = arg;

    make_version(w, &w->whole);
    return 0;
}

static int next_delta(void *arg)
{
    struct work *w = arg;
    struct vel_err err = {0};
    char *dir = vel_dataset_dir(w->dir, ++w->id);

    make_version(w, &w->delta);
    check(vel_fs_make_dirs(vel_fs_posix(), dir, 0700, &err), &err);
    free(dir);
    return 0;
}

static struct vel_xfer_file file_of(const struct work *w, const struct side *s)
{
    return (struct vel_xfer_file){.from = s->from,
                                  .to = s->temporary,
                                  .size = w->size,
                                  .crc = s->crc,
                                  .has_crc = true};
}

static const struct vel_copy_how *how(void)
{
    static struct vel_copy_how how;

    how = (struct vel_copy_how){
        .fs = vel_fs_posix(), .chunk = CHUNK, .keeps_metadata = true};
    return &how;
}

static int do_whole(void *arg)
{
    struct work *w = arg;
    const struct vel_xfer_file file = file_of(w, &w->whole);
    struct vel_xfer_copied copied;
    struct vel_err err = {0};
    double begun = bench_now();

    check(vel_copy_file(how(), &file, &copied, &err), &err);
    check(vel_copy_publish(vel_fs_posix(), w->whole.temporary, w->whole.dest, &err),
          &err);
    w->seconds = bench_now() - begun;
    return 0;
}

/* As jobs/flushing does it. */
static void publish(struct work *w, struct vel_listed *listed,
                    const struct vel_xfer_copied *copied)
{
    struct vel_err err = {0};
    struct vel_patch patch = {.fs = vel_fs_posix(),
                              .path = w->delta.temporary,
                              .dest = w->delta.dest,
                              .work = "",
                              .file = listed,
                              .keeps_mode = true,
                              .is_alone = true};

    listed->mtime_s = copied->mtime.tv_sec;
    listed->mtime_ns = (uint32_t)copied->mtime.tv_nsec;
    listed->mode = copied->mode;
    check(listed->is_patch ? vel_patch_apply(&patch, &err)
                           : vel_copy_publish(vel_fs_posix(), w->delta.temporary,
                                              w->delta.dest, &err),
          &err);
}

static int do_delta(void *arg)
{
    struct work *w = arg;
    const struct vel_xfer_file file = file_of(w, &w->delta);
    char name[] = "file", dataset[] = "bench";
    struct vel_listed listed = {
        .name = name, .size = w->size, .crc = w->delta.crc, .container = -1};
    struct vel_entry entry = {.dataset = {.id = w->id,
                                          .name = dataset,
                                          .use = VEL_USE_OUTPUT,
                                          .ranks = 1,
                                          .nodes = 1},
                              .place = VEL_ON_PREFIX,
                              .lists = 1};
    struct vel_copy_resume resume = {.every = UINT64_MAX};
    struct vel_xfer_copied copied;
    struct vel_delta *delta;
    struct vel_err err = {0};
    double begun = bench_now();

    check(vel_delta_open(indexlab_keep(vel_fs_posix(), w->dir), w->id, 0, &delta, &err),
          &err);
    check(vel_delta_copy(delta, how(), &file, w->delta.dest, true, &resume, &listed,
                         &copied, &err),
          &err);
    check(vel_delta_save(delta, &err), &err);
    publish(w, &listed, &copied);
    w->seconds = bench_now() - begun;
    w->is_patch = listed.is_patch;
    if (w->id > 1 && vel_delta_counts(delta).compared == 0 && w->changed < w->size / 2)
        bench_die("nothing was compared");
    vel_delta_close(delta);
    check(indexlab_save(vel_fs_posix(), w->dir, &entry, &err), &err);
    return 0;
}

static double seconds_of(void *arg)
{
    return ((struct work *)arg)->seconds;
}

static void open_side(struct work *w, struct side *s, const char *name)
{
    struct vel_err err = {0};
    int fd;

    snprintf(s->from, sizeof s->from, "%s/%s", w->cache, name);
    snprintf(s->dest, sizeof s->dest, "%s/%s", w->prefix, name);
    snprintf(s->temporary, sizeof s->temporary, "%s/.%s.tmp", w->prefix, name);
    check(vel_fs_open(vel_fs_posix(), s->from, O_RDWR | O_CREAT, 0600, &fd, &err),
          &err);
    check(vel_fs_write_at(vel_fs_posix(), fd, w->bytes, w->size, 0, s->from, &err),
          &err);
    check(vel_fs_close(vel_fs_posix(), fd, s->from, &err), &err);
}

static void open_work(struct work *w, const char *to, size_t mib)
{
    struct vel_err err = {0};
    char index[300];

    memset(w, 0, sizeof *w);
    w->size = mib << 20;
    w->bytes = malloc(w->size);
    snprintf(w->cache, sizeof w->cache, "%.100s/h5veloc-delta.XXXXXX", bench_ram_dir());
    snprintf(w->prefix, sizeof w->prefix, "%.100s/h5veloc-delta.XXXXXX", to);
    if (!w->bytes || !mkdtemp(w->cache) || !mkdtemp(w->prefix))
        bench_die("no memory or no directory below %s", to);
    vel_rng_init(&w->rng, 1);
    vel_rng_fill(&w->rng, w->bytes, w->size);
    snprintf(w->dir, sizeof w->dir, "%s/.veloc", w->prefix);
    snprintf(index, sizeof index, "%s/index", w->dir);
    check(vel_fs_make_dirs(vel_fs_posix(), index, 0700, &err), &err);
    open_side(w, &w->whole, "whole");
    open_side(w, &w->delta, "delta");
}

static void close_work(struct work *w)
{
    vel_fs_remove_tree(vel_fs_posix(), w->prefix, NULL);
    vel_fs_remove_tree(vel_fs_posix(), w->cache, NULL);
    free(w->bytes);
}

static int run(const char *to, size_t mib, int percent)
{
    struct work w;
    char params[80];
    int missed;

    open_work(&w, to, mib);
    w.changed = w.size / 100;
    for (int i = 0; i < 2; i++) { /* the first version, and how the second one goes */
        next_delta(&w);
        do_delta(&w);
    }
    w.changed = percent == 100 ? w.size : w.size / 100 * (size_t)percent;
    snprintf(params, sizeof params, "%zuMiB changed=%d%% %s", mib, percent,
             w.is_patch ? "in place" : "clone");
    const struct bench bench = {"delta flush",
                                params,
                                w.size,
                                {"whole", do_whole, next_whole},
                                {"delta", do_delta, next_delta},
                                0};
    missed = bench_run_part(&bench, seconds_of, &w);
    close_work(&w);
    return missed;
}

int main(void)
{
    const char *to = getenv("DELTA_DIR"), *text = getenv("BENCH_MIB");
    size_t mib = text ? (size_t)strtoul(text, NULL, 10) : 256;

    if (!to)
        to = getenv("TMPDIR");
    if (!to)
        to = "/tmp";
    return run(to, mib, 1) | run(to, mib, 10) | run(to, mib, 100);
}
