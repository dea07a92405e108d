/* SPDX-License-Identifier: BSD-3-Clause */
/* What does protecting files cost, measured against the work that cannot be avoided?
 * The same ranks, in the same run, on files in memory:
 *
 *   unavoidable  read the files once, send and receive the same bytes, one encoding of
 * the same tiles, the checksum of what is read and written, write the parity apply
 * vel_red_apply: the above, with plan, lists, agreement, headers and renames rebuild
 * vel_red_recover of one lost member, against apply
 *
 * Wanted: apply at most 1.6 x unavoidable, rebuild at most 1.3 x apply. */
#include "config.h"

#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/crc.h"
#include "base/rng.h"
#include "bench/bench.h"
#include "code/gf.h"
#include "code/matrix.h"
#include "comm/mpi.h"
#include "red/set.h"
#include "sys/fs.h"

enum { TILE = 256 << 10, SOURCES_MOST = 8, ROWS_MOST = 4 };

struct work {
    struct vel_comm *comm;
    struct vel_red_set set;
    char dir[256];
    char file[300];
    char parity[300];
    uint64_t size;
    uint8_t *in[SOURCES_MOST];
    uint8_t *out[ROWS_MOST];
    uint8_t *spare;
    struct vel_gf_coder *coder;
    volatile uint32_t crc;
};

static int all(struct work *w, int rc)
{
    int worst;

    (void)w;
    MPI_Allreduce(&rc, &worst, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return worst;
}

/* bytes to the right, the same number from the left */
static void pass(struct work *w, uint8_t *bytes, uint8_t *into)
{
    int n = w->comm->size, me = w->comm->rank;

    MPI_Sendrecv(bytes, TILE, MPI_BYTE, (me + 1) % n, 0, into, TILE, MPI_BYTE,
                 (me + n - 1) % n, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* One stripe of tiles: d tiles are read, checked, passed on; m come out, m - 1 are
 * passed on, m are checked and written. A partner copy is d = m = 1 without arithmetic.
 */
static int stripe(struct work *w, int from, int to, uint64_t i, size_t d, size_t m)
{
    struct vel_fs *fs = vel_fs_posix();
    bool copies = w->set.scheme == VEL_PARTNER;

    for (size_t s = 0; s < d; s++) {
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
    for (uint64_t i = 0; rc == 0 && i < w->size / TILE / d; i++)
        rc = stripe(w, from, to, i, d, m);
    vel_fs_close(fs, from, w->file, NULL);
    vel_fs_close(fs, to, w->parity, NULL);
    return all(w, rc);
}

static int no_parity(void *arg)
{
    struct work *w = arg;

    vel_fs_unlink(vel_fs_posix(), w->parity, NULL);
    return all(w, vel_red_unapply(&w->set, NULL));
}

static int apply(void *arg)
{
    struct work *w = arg;
    char *names[] = {w->file + strlen(w->dir) + 1};
    struct vel_err err = {0};
    int rc = vel_red_apply(&w->set, names, 1, "", 0, NULL, &err);

    if (rc < 0)
        bench_die("%s", err.text);
    return 0;
}

static int lose_one(void *arg)
{
    struct work *w = arg;

    if (no_parity(w) < 0 || apply(w) < 0)
        return -1;
    if (w->comm->rank == 1)
        vel_fs_remove_tree(vel_fs_posix(), w->dir, NULL);
    return all(w, 0);
}

static int rebuild(void *arg)
{
    struct work *w = arg;
    struct vel_err err = {0};
    int rc = vel_red_recover(&w->set, NULL, &err);

    if (rc < 0)
        bench_die("%s", err.text);
    return all(w, 0);
}

static void make_file(struct work *w)
{
    struct vel_fs *fs = vel_fs_posix();
    struct vel_err err = {0};
    struct vel_rng rng;
    int fd;

    snprintf(w->dir, sizeof w->dir, "%s/h5veloc-bench.%d/m%d", bench_ram_dir(),
             (int)getppid(), w->comm->rank);
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

static int compare(struct work *w, enum vel_scheme scheme, size_t m)
{
    size_t n = (size_t)w->comm->size, d = n - m;
    uint8_t coefs[ROWS_MOST * SOURCES_MOST];
    char name[64], params[64];
    int missed;

    w->set.scheme = scheme;
    w->set.m = m;
    for (size_t p = 0; p < m; p++)
        for (size_t s = 0; s < d; s++)
            coefs[p * d + s] = vel_code_factor((struct vel_code){n, m}, p, s);
    if (vel_gf_coder_create(m, d, coefs, &w->coder, NULL) < 0)
        bench_die("out of memory");
    snprintf(params, sizeof params, "%zu ranks x %llu MiB m=%zu", n,
             (unsigned long long)(w->size >> 20), m);
    snprintf(name, sizeof name, "encode %s", vel_scheme_name(scheme));
    const struct bench cost = {name,
                               params,
                               n * w->size,
                               {"unavoidable", unavoidable, no_parity},
                               {"apply", apply, no_parity},
                               1 / 1.6};
    missed = bench_run(&cost, w);
    snprintf(name, sizeof name, "rebuild %s", vel_scheme_name(scheme));
    const struct bench back = {name,
                               params,
                               n * w->size,
                               {"apply", apply, no_parity},
                               {"rebuild one", rebuild, lose_one},
                               1 / 1.3};
    missed |= bench_run(&back, w);
    no_parity(w);
    vel_gf_coder_destroy(w->coder);
    return missed;
}

int main(int argc, char **argv)
{
    struct work w = {.size = 0};
    struct vel_err err = {0};
    const char *mib = getenv("BENCH_MIB");
    int missed = 0;

    MPI_Init(&argc, &argv);
    if (vel_comm_mpi(MPI_COMM_WORLD, &w.comm, &err) < 0)
        bench_die("%s", err.text);
    if (w.comm->rank != 0 && !freopen("/dev/null", "w", stdout))
        bench_die("cannot be quiet");
    /* a multiple of the tiles of any stripe here */
    w.size = (mib ? strtoull(mib, NULL, 10) : 256) << 20;
    w.size -= w.size % ((uint64_t)TILE * 420);
    w.spare = aligned_alloc(64, TILE);
    for (size_t i = 0; i < SOURCES_MOST; i++)
        w.in[i] = aligned_alloc(64, TILE);
    for (size_t i = 0; i < ROWS_MOST; i++)
        w.out[i] = aligned_alloc(64, TILE);
    make_file(&w);
    w.set = (struct vel_red_set){.comm = w.comm,
                                 .sets = 1,
                                 .rank = (uint32_t)w.comm->rank,
                                 .fs = vel_fs_posix(),
                                 .dir = w.dir,
                                 .label = "bench"};
    missed |= compare(&w, VEL_XOR, 1);
    missed |= compare(&w, VEL_RS, 2);
    missed |= compare(&w, VEL_PARTNER, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    vel_fs_remove_tree(vel_fs_posix(), w.dir, NULL);
    vel_comm_destroy(w.comm);
    MPI_Finalize();
    return missed;
}
