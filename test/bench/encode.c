/* SPDX-License-Identifier: BSD-3-Clause */
/* What does protecting files cost, measured against the work that cannot be avoided?
 * The same ranks, in the same run, on files in memory:
 *
 *   memory       a copy in memory, and a message, of as many bytes
 *   unavoidable  read the files once, send and receive the same bytes, one encoding of
 *                the same tiles, the checksum of what is read and written, write the
 *                parity
 *   apply        vel_red_apply: the above, with plan, lists, agreement, headers and
 *                renames
 *   rebuild one  vel_red_recover of one lost member, against apply
 *   arithmetic   the time in the erasure code while apply runs, against as many calls
 *                of it on tiles of that size and nothing else, which come from memory,
 *                as tiles of a file do
 *
 * Wanted: apply at most 1.6 x unavoidable, rebuild at most 1.3 x apply, arithmetic at
 * most 1.25 x that of the plain calls.
 *
 * A partner copy is hardly more than what is unavoidable: of its time 62 % is pwrite(2)
 * (to give a new file its pages is more than half of that: writing over a file is 2.4
 * times as fast), 23 % pread(2), 6 % messages, 6 % both checksums (8 ranks x 128 MiB,
 * tmpfs with small pages, Linux 6.18, 2 cores of an EPYC). What was tried instead: to
 * receive into a mapping of the new file, which writes at half the speed of pwrite(2),
 * since every page is zeroed and faulted in first; to give the file its pages before,
 * by fallocate(2), slower by a tenth; to send from a mapping of the source, which costs
 * a fifth more core time than pread(2); tiles of 64 KiB to 1 MiB, which change little
 * from 256 KiB on. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "config.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/crc.h"
#include "tap/rng.h"
#include "bench/bench.h"
#include "code/gf.h"
#include "code/matrix.h"
#include "comm/mpi.h"
#include "red/set.h"
#include "sys/fs.h"
#include "sys/pages.h"

enum {
    TILE = 256 << 10,
    SOURCES_MOST = 8,
    ROWS_MOST = 4,
    MIB_WANTED = 256,
    COPIES = 3,  /* of the files: themselves, what protects them, room to rebuild */
    TILES = 256, /* more than a processor's cache holds */
};

/* What the erasure code has cost this rank, in time of its core: others use it too. */
struct arithmetic {
    double seconds;
    uint64_t calls;
};

static struct arithmetic arithmetic;

struct work {
    struct vel_comm *comm;
    struct vel_red_set set;
    char dir[256];
    char file[300];
    char parity[300];
    uint64_t size;
    uint8_t *tiles;
    uint8_t *in[SOURCES_MOST]; /* of a stripe, among the tiles; so are the next two */
    uint8_t *out[ROWS_MOST];
    uint8_t *spare;
    struct vel_gf_coder *coder;
    uint64_t calls; /* of the erasure code in the last apply */
    volatile uint32_t crc;
};

static double core_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Stands in front of the function of that name in the library, for the library's own
 * calls too: so that nothing needs to be measured when this program does not run. */
void vel_gf_coder_run(const struct vel_gf_coder *coder, size_t len,
                      const uint8_t *const *in, uint8_t *const *out)
{
    static void (*real)(const struct vel_gf_coder *, size_t, const uint8_t *const *,
                        uint8_t *const *);

    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "vel_gf_coder_run");
    if (!real)
        bench_die("the erasure code is not in a shared library");
    double begin = core_now();
    real(coder, len, in, out);
    arithmetic.seconds += core_now() - begin;
    arithmetic.calls++;
}

static int all(int rc)
{
    int worst;

    MPI_Allreduce(&rc, &worst, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return worst;
}

static uint8_t *tile(const struct work *w, uint64_t i)
{
    return w->tiles + i % TILES * TILE;
}

/* bytes to the right, the same number from the left */
static void pass(struct work *w, uint8_t *bytes, uint8_t *into)
{
    int n = w->comm->size, me = w->comm->rank;

    MPI_Sendrecv(bytes, TILE, MPI_BYTE, (me + 1) % n, 0, into, TILE, MPI_BYTE,
                 (me + n - 1) % n, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static int copy(void *arg)
{
    struct work *w = arg;

    for (uint64_t i = 0; i * TILE < w->size; i++)
        memcpy(tile(w, 2 * i), tile(w, 2 * i + 1), TILE);
    return all(0);
}

static int message(void *arg)
{
    struct work *w = arg;

    for (uint64_t i = 0; i * TILE < w->size; i++)
        pass(w, tile(w, 2 * i), tile(w, 2 * i + 1));
    return all(0);
}

/* One stripe of tiles: d tiles are read, checked, passed on; m come out, m - 1 are
 * passed on, m are checked and written. A partner copy is d = m = 1 without arithmetic.
 * The last stripe may have tiles behind the end of the file. */
static int stripe(struct work *w, int from, int to, uint64_t i, size_t d, size_t m)
{
    struct vel_fs *fs = vel_fs_posix();
    bool copies = w->set.scheme == VEL_PARTNER;

    for (size_t s = 0; s < d && (i * d + s) * TILE < w->size; s++) {
        if (vel_fs_read_at(fs, from, w->spare, TILE, (off_t)((i * d + s) * TILE),
                           w->file, NULL) < 0)
            return -1;
        w->crc = vel_crc32c(w->crc, w->spare, TILE);
        pass(w, w->spare, w->in[s]);
    }
    if (!copies)
        vel_gf_coder_run(w->coder, TILE, (const uint8_t *const *)w->in, w->out);
    for (size_t p = 0; p < m; p++) {
        uint8_t *bytes = copies ? w->in[p] : w->out[p];

        if (p > 0) {
            pass(w, bytes, w->spare);
            bytes = w->spare;
        }
        w->crc = vel_crc32c(w->crc, bytes, TILE);
        if (vel_fs_write_at(fs, to, bytes, TILE, (off_t)((i * m + p) * TILE), w->parity,
                            NULL) < 0)
            return -1;
    }
    return 0;
}

static int unavoidable(void *arg)
{
    struct work *w = arg;
    struct vel_fs *fs = vel_fs_posix();
    size_t m = w->set.m,
           d = w->set.scheme == VEL_PARTNER ? 1 : (size_t)w->comm->size - m;
    int from, to, rc = 0;

    if (vel_fs_open(fs, w->file, O_RDONLY, 0, &from, NULL) < 0 ||
        vel_fs_open(fs, w->parity, O_RDWR | O_CREAT | O_EXCL, 0600, &to, NULL) < 0)
        bench_die("%s: cannot be opened", w->dir);
    for (uint64_t i = 0; rc == 0 && i * d * TILE < w->size; i++)
        rc = stripe(w, from, to, i, d, m);
    vel_fs_close(fs, from, w->file, NULL);
    vel_fs_close(fs, to, w->parity, NULL);
    return all(rc);
}

static int no_parity(void *arg)
{
    struct work *w = arg;

    vel_fs_unlink(vel_fs_posix(), w->parity, NULL);
    return all(vel_red_unapply(&w->set, NULL));
}

static int apply(void *arg)
{
    struct work *w = arg;
    char *names[] = {w->file + strlen(w->dir) + 1};
    struct vel_err err = {0};

    arithmetic = (struct arithmetic){0};
    int rc = vel_red_apply(&w->set, names, 1, "", 0, NULL, &err);
    if (rc < 0)
        bench_die("%s", err.text);
    w->calls = arithmetic.calls;
    return 0;
}

static int lose_one(void *arg)
{
    struct work *w = arg;

    if (no_parity(w) < 0 || apply(w) < 0)
        return -1;
    if (w->comm->rank == 1)
        vel_fs_remove_tree(vel_fs_posix(), w->dir, NULL);
    return all(0);
}

static int rebuild(void *arg)
{
    struct work *w = arg;
    struct vel_err err = {0};
    int rc = vel_red_recover(&w->set, NULL, &err);

    if (rc < 0)
        bench_die("%s", err.text);
    return all(0);
}

static void make_file(struct work *w)
{
    struct vel_fs *fs = vel_fs_posix();
    struct vel_err err = {0};
    struct vel_rng rng;
    int fd, job = (int)getpid();

    MPI_Bcast(&job, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(w->dir, sizeof w->dir, "%s/h5veloc-bench.%d/m%d", bench_ram_dir(), job,
             w->comm->rank);
    snprintf(w->file, sizeof w->file, "%s/checkpoint.h5", w->dir);
    snprintf(w->parity, sizeof w->parity, "%s/parity", w->dir);
    vel_rng_init(&rng, (uint64_t)w->comm->rank);
    if (vel_fs_make_dirs(fs, w->dir, 0700, &err) < 0 ||
        vel_fs_open(fs, w->file, O_RDWR | O_CREAT | O_TRUNC, 0600, &fd, &err) < 0)
        bench_die("%s", err.text);
    for (uint64_t at = 0; at < w->size; at += TILE) {
        vel_rng_fill(&rng, w->spare, TILE);
        if (vel_fs_write_at(fs, fd, w->spare, TILE, (off_t)at, w->file, &err) < 0)
            bench_die("%s", err.text);
    }
    vel_fs_close(fs, fd, w->file, NULL);
}

static int plain_arithmetic(void *arg)
{
    struct work *w = arg;
    const uint8_t *in[SOURCES_MOST];
    uint8_t *out[ROWS_MOST];
    uint64_t next = 0;

    arithmetic = (struct arithmetic){0};
    for (uint64_t i = 0; i < w->calls; i++) {
        for (size_t s = 0; s < (size_t)w->comm->size - w->set.m; s++)
            in[s] = tile(w, next++);
        for (size_t p = 0; p < w->set.m; p++)
            out[p] = tile(w, next++);
        vel_gf_coder_run(w->coder, TILE, in, out);
    }
    return all(0);
}

/* of all ranks, which take turns on the cores */
static double arithmetic_seconds(void *arg)
{
    double sum;

    (void)arg;
    MPI_Allreduce(&arithmetic.seconds, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

/* A row of the table. */
struct row {
    const char *what;
    struct bench_side a;
    struct bench_side b;
    double target;
    double (*seconds)(void *arg); /* NULL: the whole call counts */
};

static const struct row memory = {
    "memory", {"memcpy", copy, NULL}, {"message", message, NULL}, 0, NULL};

static const struct row rows[] = {
    {"memcpy", {"memcpy", copy, NULL}, {"apply", apply, no_parity}, 0, NULL},
    {"encode",
     {"unavoidable", unavoidable, no_parity},
     {"apply", apply, no_parity},
     1 / 1.6,
     NULL},
    {"rebuild",
     {"apply", apply, no_parity},
     {"rebuild one", rebuild, lose_one},
     1 / 1.3,
     NULL},
    /* the last one, since a partner copy has none; behind an apply, which counts the
     * plain calls */
    {"arithmetic",
     {"plain", plain_arithmetic, NULL},
     {"in apply", apply, no_parity},
     1 / 1.25,
     arithmetic_seconds},
};

static int show(struct work *w, const struct row *row, const char *of)
{
    char name[64], params[64];

    snprintf(name, sizeof name, "%s%s%s", row->what, *of ? " " : "", of);
    snprintf(params, sizeof params, "%d ranks x %llu MiB m=%zu", w->comm->size,
             (unsigned long long)(w->size >> 20), w->set.m);
    const struct bench bench = {name,   params, (uint64_t)w->comm->size * w->size,
                                row->a, row->b, row->target};
    return bench_run_part(&bench, row->seconds, w);
}

static int compare(struct work *w, enum vel_scheme scheme, size_t m)
{
    size_t n = (size_t)w->comm->size, d = n - m, most = sizeof rows / sizeof rows[0];
    uint8_t coefs[ROWS_MOST * SOURCES_MOST];
    int missed = 0;

    w->set.scheme = scheme;
    w->set.m = m;
    for (size_t p = 0; p < m; p++)
        for (size_t s = 0; s < d; s++)
            coefs[p * d + s] = vel_code_factor((struct vel_code){n, m}, p, s);
    if (vel_gf_coder_create(m, d, coefs, &w->coder, NULL) < 0)
        bench_die("out of memory");
    for (size_t i = 0; i < most - (scheme == VEL_PARTNER); i++)
        missed |= show(w, &rows[i], vel_scheme_name(scheme));
    no_parity(w);
    vel_gf_coder_destroy(w->coder);
    return missed;
}

/* Bytes of memory that files may take, as the system says. */
static uint64_t room(void)
{
    FILE *file = fopen("/proc/meminfo", "r");
    char line[128];
    unsigned long long kib = 0;
    uint64_t space = 0;

    while (file && kib == 0 && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %llu kB", &kib) != 1)
            kib = 0;
    if (file)
        fclose(file);
    vel_fs_space(vel_fs_posix(), bench_ram_dir(), &space, NULL);
    return kib && kib << 10 < space ? kib << 10 : space;
}

/* BENCH_MIB or 256 MiB for each rank, or the largest power of two that fits; rank 0
 * tells why. */
static uint64_t choose_size(const struct vel_comm *comm)
{
    const char *text = getenv("BENCH_MIB");
    uint64_t wanted = text ? strtoull(text, NULL, 10) : MIB_WANTED, mib = wanted;
    uint64_t each = room() / (uint64_t)comm->size, own = (uint64_t)TILES * TILE;
    uint64_t most = each > own ? (each - own) / COPIES >> 20 : 0;

    if (mib > most)
        for (mib = 1; mib * 2 <= most;)
            mib *= 2;
    if (comm->rank == 0 && mib != wanted)
        fprintf(stderr,
                "bench: %llu MiB for each of %d ranks, not %llu: %d times that is to "
                "fit into %s\n",
                (unsigned long long)mib, comm->size, (unsigned long long)wanted, COPIES,
                bench_ram_dir());
    MPI_Bcast(&mib, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    return mib << 20;
}

static void make_tiles(struct work *w)
{
    w->tiles = vel_pages_alloc((size_t)TILES * TILE);
    if (!w->tiles)
        bench_die("out of memory");
    memset(w->tiles, 1, (size_t)TILES * TILE);
    for (size_t i = 0; i < SOURCES_MOST; i++)
        w->in[i] = tile(w, i);
    for (size_t i = 0; i < ROWS_MOST; i++)
        w->out[i] = tile(w, SOURCES_MOST + i);
    w->spare = tile(w, SOURCES_MOST + ROWS_MOST);
}

static void remove_files(struct work *w)
{
    MPI_Barrier(MPI_COMM_WORLD);
    vel_fs_remove_tree(vel_fs_posix(), w->dir, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    *strrchr(w->dir, '/') = '\0'; /* what all had in common */
    if (w->comm->rank == 0)
        vel_fs_remove_tree(vel_fs_posix(), w->dir, NULL);
}

int main(int argc, char **argv)
{
    struct work w = {.size = 0};
    struct vel_err err = {0};
    int missed = 0;

    MPI_Init(&argc, &argv);
    if (vel_comm_mpi(MPI_COMM_WORLD, &w.comm, &err) < 0)
        bench_die("%s", err.text);
    if (w.comm->rank != 0 && !freopen("/dev/null", "w", stdout))
        bench_die("cannot be quiet");
    w.size = choose_size(w.comm);
    make_tiles(&w);
    make_file(&w);
    w.set = (struct vel_red_set){.comm = w.comm,
                                 .sets = 1,
                                 .rank = (uint32_t)w.comm->rank,
                                 .fs = vel_fs_posix(),
                                 .dir = w.dir,
                                 .label = "bench"};
    missed |= show(&w, &memory, "");
    missed |= compare(&w, VEL_XOR, 1);
    missed |= compare(&w, VEL_RS, 2);
    missed |= compare(&w, VEL_PARTNER, 1);
    remove_files(&w);
    vel_pages_free(w.tiles, (size_t)TILES * TILE);
    vel_comm_destroy(w.comm);
    MPI_Finalize();
    return missed;
}
