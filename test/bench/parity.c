/* SPDX-License-Identifier: BSD-3-Clause */
/* What does encoding by difference (ENCODE_DELTA) save when 1 % of the files has
 * changed since the version before, and what does it cost when all of it has? Against
 * the same set encoded whole: four members on this machine, over TCP as leaders do it,
 * in memory. Rows "core" count the time of all members' cores, which the program wants
 * back; the others the time that passes.
 *
 * A member's file has BENCH_MIB MiB (64). */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tap/rng.h"
#include "bench/bench.h"
#include "red/set.h"
#include "tap/sockjob.h"

enum { MEMBERS = 4, CHUNK = 1 << 20 };

struct work {
    size_t mib;
    struct vel_comm *comm;
    struct vel_red_set set;
    char dir[2][300]; /* of the older version, and of this one */
    char *older[2];
    int percent;
    double seconds, core;
    struct vel_red_saved saved;
};

static void check(int rc, const struct vel_err *err)
{
    if (rc < 0)
        bench_die("%s", err->text);
}

static double core_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The file of a version: of the newer one `percent` differ, in many places. */
static void make_file(struct work *w, int version)
{
    static uint8_t chunk[CHUNK];
    struct vel_fs *fs = vel_fs_posix();
    struct vel_err err = {0};
    struct vel_rng rng;
    char path[320];
    int fd;

    vel_rng_init(&rng, (uint64_t)w->comm->rank + 1);
    snprintf(path, sizeof path, "%s/file", w->dir[version]);
    check(vel_fs_make_dirs(fs, w->dir[version], 0700, &err), &err);
    check(vel_fs_open(fs, path, O_RDWR | O_CREAT | O_TRUNC, 0600, &fd, &err), &err);
    for (size_t i = 0; i < w->mib; i++) {
        vel_rng_fill(&rng, chunk, CHUNK);
        if (version == 1 && (int)(i * 37 % 100) < w->percent)
            for (size_t at = 0; at < CHUNK; at += 512)
                chunk[at] ^= 1;
        check(vel_fs_write_at(fs, fd, chunk, CHUNK, (off_t)(i * CHUNK), path, &err),
              &err);
    }
    check(vel_fs_close(fs, fd, path, &err), &err);
}

static void apply(struct work *w, int version)
{
    char file[] = "file", *names[] = {file};
    struct vel_err err = {0};

    w->set.dir = w->dir[version];
    check(vel_red_apply(&w->set, names, 1, "", 0, NULL, &err), &err);
}

static int no_parity(void *arg)
{
    struct work *w = arg;

    w->set.dir = w->dir[1];
    return vel_red_unapply(&w->set, NULL);
}

static int timed(struct work *w)
{
    struct vel_err err = {0};
    double begun, core;
    int64_t all;

    check(vel_comm_barrier(w->comm, &err), &err);
    begun = bench_now();
    core = core_now();
    apply(w, 1);
    w->seconds = bench_now() - begun;
    all = (int64_t)((core_now() - core) * 1e9);
    check(vel_comm_allreduce(w->comm, VEL_COMM_SUM, &all, 1, &err), &err);
    w->core = (double)all * 1e-9;
    return 0;
}

static int whole(void *arg)
{
    struct work *w = arg;

    w->set.older = NULL;
    return timed(w);
}

static int difference(void *arg)
{
    struct work *w = arg;

    w->set.older = w->older;
    timed(w);
    if ((w->saved.compared == 0) != (w->percent == 100))
        bench_die("nothing was compared, or all that differs");
    return 0;
}

static double seconds_of(void *arg)
{
    return ((struct work *)arg)->seconds;
}

static double core_of(void *arg)
{
    return ((struct work *)arg)->core;
}

static void compare(struct work *w, enum vel_scheme scheme, size_t m)
{
    static const int percents[] = {1, 10, 100};
    char name[64], params[80];

    w->set.scheme = scheme;
    w->set.m = m;
    w->set.older = NULL;
    make_file(w, 0);
    apply(w, 0);
    for (size_t i = 0; i < sizeof percents / sizeof *percents; i++) {
        struct bench bench = {name,
                              params,
                              MEMBERS * w->mib << 20,
                              {"whole", whole, no_parity},
                              {"difference", difference, no_parity},
                              0};

        w->percent = percents[i];
        make_file(w, 1);
        snprintf(params, sizeof params, "%d x %zuMiB m=%zu changed=%d%%", MEMBERS,
                 w->mib, m, w->percent);
        snprintf(name, sizeof name, "parity %s", vel_scheme_name(scheme));
        bench_run_part(&bench, seconds_of, w);
        snprintf(name, sizeof name, "parity %s core", vel_scheme_name(scheme));
        bench_run_part(&bench, core_of, w);
        no_parity(w);
    }
    w->set.dir = w->dir[0];
    vel_red_unapply(&w->set, NULL);
}

static int member(struct vel_comm *comm, void *arg)
{
    struct work w = *(struct work *)arg;

    if (comm->rank != 0 && !freopen("/dev/null", "w", stdout))
        bench_die("cannot be quiet");
    w.comm = comm;
    w.older[0] = w.dir[0];
    w.set = (struct vel_red_set){.comm = comm,
                                 .sets = 1,
                                 .rank = (uint32_t)comm->rank,
                                 .fs = vel_fs_posix(),
                                 .label = "bench",
                                 .saved = &w.saved};
    for (int v = 0; v < 2; v++)
        snprintf(w.dir[v] + strlen(w.dir[v]), sizeof w.dir[v] - strlen(w.dir[v]),
                 "/v%d/m%d", v, comm->rank);
    compare(&w, VEL_XOR, 1);
    compare(&w, VEL_RS, 2);
    compare(&w, VEL_PARTNER, 1);
    fflush(stdout);
    return 0;
}

int main(void)
{
    const char *text = getenv("BENCH_MIB");
    struct work w = {.mib = text ? (size_t)strtoul(text, NULL, 10) : 64};
    char dir[250];
    int failed;

    snprintf(dir, sizeof dir, "%.200s/h5veloc-parity.XXXXXX", bench_ram_dir());
    if (w.mib == 0 || !mkdtemp(dir))
        bench_die("no directory below %s", bench_ram_dir());
    for (int v = 0; v < 2; v++)
        snprintf(w.dir[v], sizeof w.dir[v], "%s", dir);
    failed = sockjob_run(MEMBERS, "tcp", member, &w);
    vel_fs_remove_tree(vel_fs_posix(), dir, NULL);
    return failed != 0;
}
