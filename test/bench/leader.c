/* SPDX-License-Identifier: BSD-3-Clause */
/* What does a program pay for checkpoints that are encoded and flushed beside it? Two
 * ranks on two virtual nodes, by the calls of veloc.h, MODE=ASYNC:
 *
 *   blocking  a checkpoint, from its first call until it is complete, against writing
 *             the same bytes to files in the same memory and their checksum. Of
 *             protected memory, and of files that the program writes. The background
 *             has nothing else to do, and begins with it
 *   loss      a program that computes on one core while the checkpoint is encoded and
 *             flushed to the disk below TMPDIR, against the same alone; and how much of
 *             that is not for want of the core
 *   flush     from a complete checkpoint, which has no redundancy, until it is on that
 *             disk, against cp of the same files, synced as ours are, at the same
 *             priority
 *
 * Wanted: blocking at most 1.10 x write and checksum, loss less than 5 %, flush at
 * least 0.9 x cp. BENCH_MIB is 512 unless it is set; BENCH_PART=loss is that alone. */
#define _GNU_SOURCE /* syscall */
#include "config.h"

#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/crc.h"
#include "tap/rng.h"
#include "bench/bench.h"
#include "jobs/work.h"
#include "sys/fs.h"
#include "veloc.h"

enum { MIB_WANTED = 512, CHUNK = 1 << 20, SIDE = 48, PAUSE_MS = 10 };

struct work {
    int rank;
    char ram[200], disk[200]; /* the same on both ranks */
    char plain[300];          /* this rank's */
    uint8_t *bytes;
    size_t size;
    int version, flushed; /* the last ones */
    bool has_files;       /* not of memory */
    double seconds;       /* of what was done last */
    uint64_t units;       /* of computing, in it */
    double on_core;       /* seconds that the computing thread had a core */
    volatile uint32_t crc;
    double a[SIDE][SIDE], b[SIDE][SIDE], c[SIDE][SIDE];
};

static int all(int rc)
{
    int worst;

    MPI_Allreduce(&rc, &worst, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return worst;
}

static void must(int rc)
{
    if (rc != VELOC_SUCCESS)
        bench_die("%s", VELOC_Error());
}

/* The next step of both ranks begins now. */
static double begin_together(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    return bench_now();
}

static double seconds(void *arg)
{
    return ((struct work *)arg)->seconds;
}

/* --- sessions --- */

/* The caches are in memory; the prefix is, too, unless it is to be on the disk. */
static void begin(struct work *w, bool is_on_disk, const char *settings)
{
    char path[300], prefix[300], cache[300];
    FILE *file;

    snprintf(path, sizeof path, "%s/job.conf", w->ram);
    snprintf(prefix, sizeof prefix, "%s/prefix", is_on_disk ? w->disk : w->ram);
    snprintf(cache, sizeof cache, "%s/cache", w->ram);
    if (w->rank == 0) {
        if (vel_fs_make_dirs(vel_fs_posix(), prefix, 0700, NULL) < 0 ||
            vel_fs_make_dirs(vel_fs_posix(), cache, 0700, NULL) < 0 ||
            !(file = fopen(path, "w")))
            bench_die("%s cannot be made", path);
        fprintf(file,
                "PREFIX=%s\nCACHE_BASE=%s\nCNTL_BASE=%s\nVIRTUAL_NODES=2\nMODE=ASYNC\n"
                "LOG_LEVEL=WARN\n%s",
                prefix, cache, w->ram, settings);
        fclose(file);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    must(VELOC_Init(MPI_COMM_WORLD, path));
    must(VELOC_Mem_protect(0, w->bytes, w->size, 1));
}

static void end(struct work *w)
{
    char path[300];

    must(VELOC_Finalize(1));
    if (w->rank == 0)
        for (int i = 0; i < 3; i++) {
            snprintf(path, sizeof path, "%s/%s", i == 2 ? w->disk : w->ram,
                     i == 1 ? "cache" : "prefix");
            vel_fs_remove_tree(vel_fs_posix(), path, NULL);
        }
    MPI_Barrier(MPI_COMM_WORLD);
}

static int save_file(struct work *w)
{
    char name[64], path[VELOC_MAX_NAME];
    int fd;

    snprintf(name, sizeof name, "file.%d.%d", w->version, w->rank);
    must(VELOC_Checkpoint_begin("bench", w->version));
    must(VELOC_Route_file(name, path));
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    for (size_t at = 0; fd >= 0 && at < w->size; at += CHUNK)
        if (write(fd, w->bytes + at, CHUNK) != CHUNK)
            bench_die("%s: cannot be written", path);
    if (fd < 0 || close(fd) < 0)
        bench_die("%s: cannot be opened", path);
    return VELOC_Checkpoint_end(1);
}

static void save(struct work *w)
{
    w->version++;
    must(w->has_files ? save_file(w) : VELOC_Checkpoint("bench", w->version));
}

/* What was begun is done, and older ones are gone. */
static int settle(void *arg)
{
    struct work *w = arg;

    must(VELOC_Checkpoint_wait());
    unlink(w->plain);
    return all(0);
}

/* --- blocking --- */

/* By who has not written it. */
static int write_plain(void *arg)
{
    struct work *w = arg;
    double begun = begin_together();
    int fd = open(w->plain, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    uint32_t crc = 0;

    for (size_t at = 0; fd >= 0 && at < w->size; at += CHUNK) {
        if (write(fd, w->bytes + at, CHUNK) != CHUNK)
            return all(-1);
        crc = vel_crc32c(crc, w->bytes + at, CHUNK);
    }
    w->crc = crc;
    int rc = all(fd < 0 ? -1 : close(fd));
    w->seconds = bench_now() - begun;
    return rc;
}

static int checkpoint(void *arg)
{
    struct work *w = arg;
    double begun = begin_together();

    save(w);
    MPI_Barrier(MPI_COMM_WORLD);
    w->seconds = bench_now() - begun;
    return 0;
}

static int show_part(struct work *w, double (*part)(void *arg), const char *what,
                     const char *where, const struct bench_side *a,
                     const struct bench_side *b, double target)
{
    char params[64];
    struct bench bench = {.name = what,
                          .params = params,
                          .bytes = 2 * w->size,
                          .a = *a,
                          .b = *b,
                          .target = target};

    snprintf(params, sizeof params, "2 ranks x %zu MiB %s", w->size >> 20, where);
    return bench_run_part(&bench, part, w);
}

static int show(struct work *w, const char *what, const char *where,
                const struct bench_side *a, const struct bench_side *b, double target)
{
    return show_part(w, seconds, what, where, a, b, target);
}

static int blocking(struct work *w)
{
    const struct bench_side plain = {"write+crc", write_plain, settle};
    const struct bench_side memory = {"memory", checkpoint, settle};
    const struct bench_side files = {"files", checkpoint, settle};
    int missed = 0;

    begin(w, false, "FLUSH=0\n");
    missed |= show(w, "async checkpoint", "ram", &plain, &memory, 1 / 1.1);
    w->has_files = true;
    missed |= show(w, "async checkpoint", "ram", &plain, &files, 1 / 1.1);
    w->has_files = false;
    end(w);
    return missed;
}

/* --- loss --- */

static void compute(struct work *w)
{
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++)
            for (int k = 0; k < SIDE; k++)
                w->c[i][j] += w->a[i][k] * w->b[k][j];
    w->units++;
}

static void pause_shortly(void)
{
    const struct timespec pause = {0, PAUSE_MS * 1000000};

    nanosleep(&pause, NULL);
}

/* The second rank leaves its core to others until the first has told it. */
static void sleep_until_told(void)
{
    int is_told = 0;

    for (;;) {
        MPI_Iprobe(0, 1, MPI_COMM_WORLD, &is_told, MPI_STATUS_IGNORE);
        if (is_told)
            break;
        pause_shortly();
    }
    MPI_Recv(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static double core_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double seconds_on_core(void *arg)
{
    return ((struct work *)arg)->on_core;
}

static void compute_alone(struct work *w, uint64_t units)
{
    double begun = bench_now(), on_core = core_now();

    if (w->rank == 0) {
        for (w->units = 0; w->units < units;)
            compute(w);
        w->seconds = bench_now() - begun;
        w->on_core = core_now() - on_core;
        MPI_Send(NULL, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    } else {
        sleep_until_told();
    }
}

/* As much as while the background worked. */
static int compute_only(void *arg)
{
    struct work *w = arg;

    compute_alone(w, w->units ? w->units : 1);
    if (w->rank == 0) {
        w->seconds /= (double)w->units;
        w->on_core /= (double)w->units;
    }
    return 0;
}

static int compute_beside(void *arg)
{
    struct work *w = arg;
    double begun, asked, on_core;

    save(w);
    begun = asked = begin_together();
    on_core = core_now();
    if (w->rank == 0) {
        for (w->units = 0;; compute(w))
            if (w->units == 0 || bench_now() - asked > 0.02) {
                if (w->units && VELOC_Checkpoint_finished() != 0)
                    break;
                asked = bench_now();
            }
        w->seconds = (bench_now() - begun) / (double)w->units;
        w->on_core = (core_now() - on_core) / (double)w->units;
        MPI_Send(NULL, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    } else {
        sleep_until_told();
    }
    return 0;
}

static int loss(struct work *w)
{
    const struct bench_side alone = {"alone", compute_only, settle};
    const struct bench_side beside = {"beside", compute_beside, settle};
    int missed;

    begin(w, true, "FLUSH=1\n");
    w->units = 0;
    compute_beside(w);
    settle(w);
    missed = show(w, "compute", "encode+flush", &alone, &beside, 0.95);
    show_part(w, seconds_on_core, "compute, of its time on a core", "encode+flush",
              &alone, &beside, 0);
    end(w);
    return missed;
}

/* --- flush --- */

/* At the priority of those who flush. */
static void *copy_plain(void *arg)
{
    struct work *w = arg;
    char to[300];
    uint8_t *buffer = malloc(CHUNK);
    int in, out, rc = buffer ? 0 : -1;

    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), VEL_WORK_NICE);
    snprintf(to, sizeof to, "%s/plain.%d", w->disk, w->rank);
    in = open(w->plain, O_RDONLY | O_CLOEXEC);
    out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    for (size_t at = 0; rc == 0 && at < w->size; at += CHUNK)
        rc = read(in, buffer, CHUNK) == CHUNK && write(out, buffer, CHUNK) == CHUNK
                 ? 0
                 : -1;
    if (fsync(out) < 0 || rc < 0)
        bench_die("%s: cannot be written", to);
    close(in);
    close(out);
    free(buffer);
    return NULL;
}

static int do_cp(void *arg)
{
    struct work *w = arg;
    char to[300];
    pthread_t thread;
    double begun = begin_together();

    if (pthread_create(&thread, NULL, copy_plain, w) != 0 ||
        pthread_join(thread, NULL) != 0)
        bench_die("no thread");
    MPI_Barrier(MPI_COMM_WORLD);
    w->seconds = bench_now() - begun;
    snprintf(to, sizeof to, "%s/plain.%d", w->disk, w->rank);
    return all(unlink(to));
}

static int do_flush(void *arg)
{
    struct work *w = arg;

    save(w);
    double begun = begin_together();
    must(VELOC_Checkpoint_wait());
    w->seconds = bench_now() - begun;
    return all(0);
}

/* Nothing of the last one is on its way to the disk any more, or there: removing it
 * takes its time. */
static int quiet(void *arg)
{
    struct work *w = arg;

    must(VELOC_Checkpoint_wait());
    if (w->flushed < w->version) {
        w->flushed = w->version;
        must(VELOC_Delete("bench", w->version));
    }
    if (w->rank == 0)
        sync();
    return all(0);
}

static int flush(struct work *w)
{
    const struct bench_side cp = {"cp", do_cp, quiet};
    const struct bench_side ours = {"flush", do_flush, quiet};
    int missed;

    begin(w, true, "FLUSH=1\nCOPY_TYPE=SINGLE\n");
    unlink(w->plain);
    if (write_plain(w) < 0)
        bench_die("%s: cannot be written", w->plain);
    w->flushed = w->version;
    missed = show(w, "async flush", "disk", &cp, &ours, 0.9);
    end(w);
    return missed;
}

/* --- */

static void make_room(struct work *w)
{
    const char *text = getenv("BENCH_MIB"), *disk = getenv("TMPDIR");
    struct vel_rng rng;
    int job = (int)getpid();

    MPI_Comm_rank(MPI_COMM_WORLD, &w->rank);
    MPI_Bcast(&job, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(w->ram, sizeof w->ram, "%.120s/h5veloc-bench.%d", bench_ram_dir(), job);
    snprintf(w->disk, sizeof w->disk, "%.120s/h5veloc-bench.%d", disk ? disk : "/tmp",
             job);
    snprintf(w->plain, sizeof w->plain, "%s/plain.%d", w->ram, w->rank);
    w->size = (text ? strtoull(text, NULL, 10) : MIB_WANTED) << 20;
    w->bytes = malloc(w->size);
    if (!w->bytes || w->size == 0)
        bench_die("no memory");
    vel_rng_init(&rng, (uint64_t)w->rank);
    vel_rng_fill(&rng, w->bytes, w->size);
    memset(w->a, 1, sizeof w->a);
    memset(w->b, 1, sizeof w->b);
    if (vel_fs_make_dirs(vel_fs_posix(), w->ram, 0700, NULL) < 0 ||
        vel_fs_make_dirs(vel_fs_posix(), w->disk, 0700, NULL) < 0)
        bench_die("%s cannot be made", w->ram);
}

int main(int argc, char **argv)
{
    static struct work w;
    int missed, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2)
        bench_die("two ranks are wanted");
    make_room(&w);
    if (w.rank != 0 && !freopen("/dev/null", "w", stdout))
        bench_die("cannot be quiet");
    missed = bench_is_wanted("blocking") && blocking(&w);
    missed |= bench_is_wanted("loss") && loss(&w);
    missed |= bench_is_wanted("flush") && flush(&w);
    free(w.bytes);
    if (w.rank == 0) {
        vel_fs_remove_tree(vel_fs_posix(), w.ram, NULL);
        vel_fs_remove_tree(vel_fs_posix(), w.disk, NULL);
    }
    MPI_Finalize();
    return w.rank == 0 && missed;
}
