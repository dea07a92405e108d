/* SPDX-License-Identifier: BSD-3-Clause */
/* How long until a launch knows what it can restore? Ranks are processes without MPI,
 * connected by sockets, since they sleep while they wait, one on each virtual node; all
 * begin at once.
 *
 *   view     the leaders of 64 nodes, whose caches have the datasets of an earlier
 *            launch, decide what can be restored: the time in open of the background,
 *            against one second
 *   restart  the whole begin of a session of 4 ranks, after the launch before it was
 *            killed behind its last checkpoint, which is restored: with leaders,
 *            against the same without (MODE=SYNC)
 *
 * Wanted: a view within a second. */
#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/bench.h"
#include "engine/session.h"
#include "process/attend.h"
#include "tap/sockjob.h"

enum { NODES = 64, FEW = 4, DATASETS = 3, PER_SECOND = 1000000000 };

/* What all processes of all launches know. */
struct world {
    char dir[256];
    int nodes;
    const char *mode;
    bool is_victim; /* killed behind its last checkpoint */
    int datasets;   /* that it makes */
    double *shared; /* rank 0's seconds, of the view and of the whole begin */
};

enum { VIEW, BEGIN };

/* --- a rank --- */

static double view_seconds;
static int (*open_it)(struct vel_background *background,
                      const struct vel_background_of *of, char ret[VEL_LAUNCH_ROOM],
                      struct vel_err *err);

static int timed_open(struct vel_background *background,
                      const struct vel_background_of *of, char ret[VEL_LAUNCH_ROOM],
                      struct vel_err *err)
{
    double begun = bench_now();
    int rc = open_it(background, of, ret, err);

    view_seconds = bench_now() - begun;
    return rc;
}

static struct vel_background *timed_background(void)
{
    static struct vel_background_ops ops;
    struct vel_background *background = vel_attend();

    ops = *background->ops;
    open_it = ops.open;
    ops.open = timed_open;
    background->ops = &ops;
    return background;
}

static int configure(const struct world *w, struct vel_conf **ret, struct vel_err *err)
{
    char prefix[300], cache[300], nodes[16];
    const char *const settings[][2] = {{"PREFIX", prefix},    {"CACHE_BASE", cache},
                                       {"CNTL_BASE", w->dir}, {"VIRTUAL_NODES", nodes},
                                       {"MODE", w->mode},     {"COPY_TYPE", "XOR"},
                                       {"FLUSH", "0"}};
    int rc = vel_conf_create(ret, err);

    snprintf(prefix, sizeof prefix, "%s/prefix", w->dir);
    snprintf(cache, sizeof cache, "%s/cache", w->dir);
    snprintf(nodes, sizeof nodes, "%d", w->nodes);
    for (size_t i = 0; rc == 0 && i < sizeof settings / sizeof *settings; i++)
        rc = vel_conf_set_by_program(*ret, settings[i][0], settings[i][1], err);
    return rc;
}

static int begin(const struct world *w, struct vel_comm *comm,
                 struct vel_session **ret_session, struct vel_err *err)
{
    struct vel_session_setup setup = {.fs = vel_fs_posix(),
                                      .clock = vel_clock_system(),
                                      .background = timed_background()};
    int rc = configure(w, &setup.conf, err);
    double begun;

    if (rc == 0)
        rc = vel_comm_split(comm, 0, comm->rank, &setup.world, err);
    if (rc == 0)
        rc = vel_comm_barrier(comm, err);
    begun = bench_now();
    if (rc == 0)
        rc = vel_session_open(&setup, ret_session, err);
    if (rc == 0 && comm->rank == 0) {
        w->shared[VIEW] = view_seconds;
        w->shared[BEGIN] = bench_now() - begun;
    }
    return rc;
}

/* One small file of each rank. */
static int save(struct vel_session *s, int rank, int64_t version, struct vel_err *err)
{
    char name[64], *path = NULL;
    int rc = vel_session_start(s, "bench", version, VEL_USE_CHECKPOINT, err);

    if (rc < 0)
        return rc;
    snprintf(name, sizeof name, "%s/bench.%d.%d", vel_session_prefix(s), (int)version,
             rank);
    rc = vel_session_route(s, name, &path, err);
    if (rc == 0)
        rc = vel_fs_replace(vel_fs_posix(), path, name, sizeof name, 0600, err);
    free(path);
    return vel_session_complete(s, rc == 0, err);
}

static int member(struct vel_comm *comm, void *arg)
{
    const struct world *w = arg;
    struct vel_session *s = NULL;
    struct vel_err err = {0};
    int64_t newest = 0;
    int rc = begin(w, comm, &s, &err);

    if (rc == 0)
        vel_session_restart_test(s, "bench", 0, &newest, NULL);
    for (int i = 1; rc == 0 && i <= w->datasets; i++)
        rc = save(s, comm->rank, newest + i, &err);
    if (rc == 0)
        rc = vel_session_wait(s, &err);
    if (rc == 0)
        rc = vel_comm_barrier(comm, &err);
    if (w->is_victim)
        kill(getpid(), SIGKILL);
    if (rc < 0)
        fprintf(stderr, "bench: rank %d: %s\n", comm->rank, err.text);
    vel_session_close(s, rc == 0 ? "it is over" : NULL, NULL);
    return rc < 0;
}

/* --- the launches --- */

static struct world make_world(int nodes)
{
    struct world w = {.nodes = nodes, .mode = "ASYNC"};
    char path[300];

    snprintf(w.dir, sizeof w.dir, "%.100s/h5veloc-bench.XXXXXX", bench_ram_dir());
    w.shared = mmap(NULL, 2 * sizeof *w.shared, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (w.shared == MAP_FAILED || !mkdtemp(w.dir))
        bench_die("no directory below %s", bench_ram_dir());
    snprintf(path, sizeof path, "%s/cache", w.dir);
    if (vel_fs_make_dirs(vel_fs_posix(), path, 0700, NULL) < 0)
        bench_die("%s cannot be made", path);
    return w;
}

static void launch(struct world *w, const char *mode, int datasets, bool is_victim)
{
    int failed;

    w->mode = mode;
    w->datasets = datasets;
    w->is_victim = is_victim;
    failed = sockjob_run(w->nodes, "unix", member, w);
    if (failed != (is_victim ? w->nodes : 0))
        bench_die("%d ranks of %d have failed", failed, w->nodes);
}

/* Before each: a launch that is killed. */
static int kill_async(void *arg)
{
    launch(arg, "ASYNC", 1, true);
    return 0;
}

static int kill_sync(void *arg)
{
    launch(arg, "SYNC", 1, true);
    return 0;
}

static int restart_async(void *arg)
{
    launch(arg, "ASYNC", 0, false);
    return 0;
}

static int restart_sync(void *arg)
{
    launch(arg, "SYNC", 0, false);
    return 0;
}

static double begin_seconds(void *arg)
{
    return ((struct world *)arg)->shared[BEGIN];
}

static int one_second(void *arg)
{
    ((struct world *)arg)->shared[VIEW] = 1;
    return 0;
}

static double seconds_of_view(void *arg)
{
    return ((struct world *)arg)->shared[VIEW];
}

static int view(void)
{
    struct world w = make_world(NODES);
    char params[64];
    int missed;

    launch(&w, "ASYNC", DATASETS, false);
    snprintf(params, sizeof params, "%d nodes, %d datasets", NODES, DATASETS);
    const struct bench bench = {"view of a launch",
                                params,
                                PER_SECOND,
                                {"1 s", one_second, NULL},
                                {"view", restart_async, NULL},
                                1};
    missed = bench_run_part(&bench, seconds_of_view, &w);
    vel_fs_remove_tree(vel_fs_posix(), w.dir, NULL);
    return missed;
}

static int restart(void)
{
    struct world w = make_world(FEW);
    char params[64];
    int missed;

    snprintf(params, sizeof params, "%d ranks on %d nodes", FEW, FEW);
    const struct bench bench = {"begin after a kill",
                                params,
                                PER_SECOND,
                                {"sync", restart_sync, kill_sync},
                                {"async", restart_async, kill_async},
                                0};
    missed = bench_run_part(&bench, begin_seconds, &w);
    vel_fs_remove_tree(vel_fs_posix(), w.dir, NULL);
    return missed;
}

int main(void)
{
    return restart() | view();
}
