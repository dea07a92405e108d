/* SPDX-License-Identifier: BSD-3-Clause */
/* What do the calls of veloc.h cost beyond the bytes that they move? One process, its
 * cache in memory:
 *
 *   calls     VELOC_Checkpoint against pwrite(2) of the same bytes into a file in the
 *             same memory, VELOC_Restart against pread(2) of them
 *   cpu       time on cores, of all threads, of a checkpoint until it is on the prefix:
 *             with MODE=ASYNC against MODE=SYNC
 *
 * Wanted: VELOC_Checkpoint at most 1.1 x, VELOC_Restart at most 1.2 x as long, ASYNC
 * at most 1.5 x the time on cores. BENCH_MIB is 256 unless it is set. */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "bench/bench.h"
#include "sys/fs.h"
#include "tap/rng.h"
#include "veloc.h"

enum { MIB_WANTED = 256, CHUNK = 1 << 20 };

struct work {
    char dir[200], plain[300], conf[300];
    uint8_t *bytes;
    size_t size;
    int version;
    double on_cores; /* seconds of what was done last */
};

static void must(int rc)
{
    if (rc != VELOC_SUCCESS)
        bench_die("%s", VELOC_Error());
}

static double cores_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double on_cores(void *arg)
{
    return ((struct work *)arg)->on_cores;
}

static void begin(struct work *w, const char *settings)
{
    FILE *file = fopen(w->conf, "w");

    if (!file)
        bench_die("%s cannot be made", w->conf);
    fprintf(file,
            "PREFIX=%s/prefix\nCACHE_BASE=%s/cache\nCNTL_BASE=%s\nCOPY_TYPE=SINGLE\n"
            "LOG_LEVEL=WARN\n%s",
            w->dir, w->dir, w->dir, settings);
    fclose(file);
    must(VELOC_Init_single(0, w->conf));
    must(VELOC_Mem_protect(0, w->bytes, w->size, 1));
}

/* --- calls --- */

static int move_plain(struct work *w, bool writes)
{
    int fd = open(w->plain, writes ? O_WRONLY | O_CREAT | O_EXCL : O_RDONLY, 0600);
    ssize_t n = CHUNK;

    for (size_t at = 0; fd >= 0 && n == CHUNK && at < w->size; at += CHUNK)
        n = writes ? pwrite(fd, w->bytes + at, CHUNK, (off_t)at)
                   : pread(fd, w->bytes + at, CHUNK, (off_t)at);
    return fd < 0 || close(fd) < 0 || n != CHUNK ? -1 : 0;
}

static int write_plain(void *arg)
{
    return move_plain(arg, true);
}

static int read_plain(void *arg)
{
    return move_plain(arg, false);
}

static int remove_plain(void *arg)
{
    unlink(((struct work *)arg)->plain);
    return 0;
}

static int checkpoint(void *arg)
{
    struct work *w = arg;

    must(VELOC_Checkpoint("calls", ++w->version));
    return 0;
}

/* What was begun is done. */
static int wait_for_it(void *arg)
{
    (void)arg;
    must(VELOC_Checkpoint_wait());
    return 0;
}

static int restart(void *arg)
{
    struct work *w = arg;

    must(VELOC_Restart("calls", w->version));
    return 0;
}

static int show(struct work *w, const char *name, const struct bench_side *a,
                const struct bench_side *b, double target)
{
    char params[64];
    const struct bench bench = {name, params, w->size, *a, *b, target};

    snprintf(params, sizeof params, "1 rank x %zu MiB ram", w->size >> 20);
    return bench_run(&bench, w);
}

static int calls(struct work *w)
{
    const struct bench_side writes = {"pwrite", write_plain, remove_plain},
                            saves = {"VELOC_Checkpoint", checkpoint, wait_for_it},
                            reads = {"pread", read_plain, NULL},
                            restores = {"VELOC_Restart", restart, NULL};
    int missed;

    begin(w, "FLUSH=0\n");
    missed = show(w, "checkpoint call", &writes, &saves, 1 / 1.1);
    missed |= show(w, "restart call", &reads, &restores, 1 / 1.2);
    must(VELOC_Finalize(0));
    return missed;
}

/* --- cpu --- */

/* A session that saves once, until that is on the prefix. */
static int save_once(struct work *w, const char *settings)
{
    double begun;

    begin(w, settings);
    begun = cores_now();
    checkpoint(w);
    wait_for_it(w);
    w->on_cores = cores_now() - begun;
    must(VELOC_Finalize(1));
    return 0;
}

static int save_sync(void *arg)
{
    return save_once(arg, "MODE=SYNC\nFLUSH=1\n");
}

static int save_async(void *arg)
{
    return save_once(arg, "MODE=ASYNC\nFLUSH=1\n");
}

static int cpu(struct work *w)
{
    char params[64];
    const struct bench bench = {.name = "time on cores until it is on the prefix",
                                .params = params,
                                .bytes = w->size,
                                .a = {"SYNC", save_sync, NULL},
                                .b = {"ASYNC", save_async, NULL},
                                .target = 1 / 1.5};

    snprintf(params, sizeof params, "1 rank x %zu MiB ram", w->size >> 20);
    return bench_run_part(&bench, on_cores, w);
}

/* --- */

int main(void)
{
    static struct work w;
    const char *text = getenv("BENCH_MIB");
    struct vel_rng rng;
    int missed;

    snprintf(w.dir, sizeof w.dir, "%.120s/h5veloc-bench.%d", bench_ram_dir(), getpid());
    snprintf(w.plain, sizeof w.plain, "%s/plain", w.dir);
    snprintf(w.conf, sizeof w.conf, "%s/conf", w.dir);
    w.size = (text ? strtoull(text, NULL, 10) : MIB_WANTED) << 20;
    w.bytes = malloc(w.size);
    if (!w.bytes || w.size == 0 ||
        vel_fs_make_dirs(vel_fs_posix(), w.dir, 0700, NULL) < 0)
        bench_die("no memory");
    vel_rng_init(&rng, 1);
    vel_rng_fill(&rng, w.bytes, w.size);
    missed = bench_is_wanted("calls") && calls(&w);
    missed |= bench_is_wanted("cpu") && cpu(&w);
    free(w.bytes);
    vel_fs_remove_tree(vel_fs_posix(), w.dir, NULL);
    return missed;
}
