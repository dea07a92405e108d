/* SPDX-License-Identifier: BSD-3-Clause */
/* What does a checkpoint cost beyond its bytes? Ranks on virtual nodes, four on each,
 * begin and complete empty checkpoints in memory: protected by XOR, entered in the
 * index, told in the log of events. The yardstick is ten barriers of the same ranks in
 * the same run; the time in fsync, which is the disk's and not ours, is left out.
 *
 * The ranks are processes connected by sockets, since they sleep while they wait: MPI
 * polls, and 64 ranks that poll leave nothing of a few cores to the one that works.
 *
 * Wanted: not longer than ten barriers. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "engine/session.h"
#include "tap/sockjob.h"

enum {
    RANKS = 64,
    BARRIERS = 10,
    ROUNDS = 10,
    RANKS_OF_NODE = 4,
    PER_SECOND = 1000000000, /* instead of bytes: the row has calls per second */
};

/* The files of the system, with the time that syncing them takes. */
struct timed_fs {
    struct vel_fs fs;
    struct vel_fs_ops ops;
    double seconds;
};

struct work {
    struct vel_comm *comm;
    struct vel_session *session;
    struct timed_fs files;
    char dir[256];
    int64_t version;
    double seconds; /* of what was done last */
};

static int timed_sync(struct vel_fs *fs, int fd)
{
    struct timed_fs *files = (struct timed_fs *)fs;
    double begin = bench_now();
    int rc = vel_fs_posix()->ops->fsync(vel_fs_posix(), fd);

    files->seconds += bench_now() - begin;
    return rc;
}

/* All begin together; how long until all have come to the end, on the clock of this
 * one. */
static int barriers(void *arg)
{
    struct work *w = arg;
    int rc = vel_comm_barrier(w->comm, NULL);
    double begin = bench_now();

    for (int i = 0; rc == 0 && i < BARRIERS * ROUNDS; i++)
        rc = vel_comm_barrier(w->comm, NULL);
    w->seconds = (bench_now() - begin) / ROUNDS;
    return rc;
}

static int checkpoints(void *arg)
{
    struct work *w = arg;
    struct vel_err err = {0};
    int64_t syncing; /* ns of the slowest */
    double begin;
    int rc = vel_comm_barrier(w->comm, &err);

    w->files.seconds = 0;
    begin = bench_now();
    for (int i = 0; rc == 0 && i < ROUNDS; i++) {
        rc = vel_session_start(w->session, "empty", ++w->version, VEL_USE_CHECKPOINT,
                               &err);
        if (rc == 0)
            rc = vel_session_complete(w->session, true, &err);
    }
    if (rc == 0)
        rc = vel_comm_barrier(w->comm, &err);
    w->seconds = (bench_now() - begin) / ROUNDS;
    syncing = (int64_t)(w->files.seconds / ROUNDS * 1e9);
    if (rc == 0)
        rc = vel_comm_allreduce(w->comm, VEL_COMM_MAX, &syncing, 1, &err);
    if (rc < 0)
        bench_die("%s", err.text);
    w->seconds -= (double)syncing * 1e-9;
    return 0;
}

static double seconds(void *arg)
{
    return ((struct work *)arg)->seconds;
}

static void begin(struct work *w)
{
    const char *const settings[][2] = {
        {"CACHE_BASE", "cache"}, {"PREFIX", "prefix"}, {"FLUSH", "0"}};
    struct vel_session_setup setup = {.clock = vel_clock_system()};
    struct vel_err err = {0};
    char text[300];
    int rc = vel_conf_create(&setup.conf, &err);

    w->files.ops = *vel_fs_posix()->ops;
    w->files.ops.fsync = timed_sync;
    w->files.fs.ops = &w->files.ops;
    setup.fs = &w->files.fs;
    for (size_t i = 0; rc == 0 && i < sizeof settings / sizeof *settings; i++) {
        const char *value = settings[i][1];

        snprintf(text, sizeof text, "%s/%s", w->dir, value);
        rc = vel_conf_set_by_program(setup.conf, settings[i][0],
                                     *value == '0' ? value : text, &err);
    }
    snprintf(text, sizeof text, "%d", RANKS / RANKS_OF_NODE);
    if (rc == 0)
        rc = vel_conf_set_by_program(setup.conf, "VIRTUAL_NODES", text, &err);
    if (rc == 0)
        rc = vel_comm_split(w->comm, 0, w->comm->rank, &setup.world, &err);
    if (rc == 0)
        rc = vel_session_open(&setup, &w->session, &err);
    if (rc < 0)
        bench_die("%s", err.text);
}

static int member(struct vel_comm *comm, void *arg)
{
    struct work w = {.comm = comm};
    char params[64];
    int missed;

    snprintf(w.dir, sizeof w.dir, "%s", (const char *)arg);
    if (comm->rank != 0 && !freopen("/dev/null", "w", stdout))
        bench_die("cannot be quiet");
    begin(&w);
    snprintf(params, sizeof params, "%d ranks on %d nodes", RANKS,
             RANKS / RANKS_OF_NODE);
    const struct bench bench = {"empty checkpoint",
                                params,
                                PER_SECOND,
                                {"10 barriers", barriers, NULL},
                                {"start+complete", checkpoints, NULL},
                                1};
    missed = bench_run_part(&bench, seconds, &w);
    vel_session_close(w.session, NULL, NULL);
    return comm->rank == 0 ? missed : 0;
}

int main(void)
{
    char dir[200];
    int missed;

    snprintf(dir, sizeof dir, "%.100s/h5veloc-bench.XXXXXX", bench_ram_dir());
    if (!mkdtemp(dir))
        bench_die("no directory below %s", bench_ram_dir());
    missed = sockjob_run(RANKS, "tcp", member, dir);
    vel_fs_remove_tree(vel_fs_posix(), dir, NULL);
    return missed != 0;
}
