/* SPDX-License-Identifier: BSD-3-Clause */
/* Sessions with the leaders of their nodes, in processes without MPI: what the threads
 * of a process do with each other, and what is left when processes are killed. No two
 * nodes have the same time of day. */
#include "config.h"

#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "process/attend.h"
#include "tap/files.h"
#include "tap/seslab.h"
#include "tap/sockjob.h"
#include "tap/tap.h"

enum { RANKS = 4, SAVES = 3 };

/* Every node has its own time of day: this one's is some seconds ahead. */
static int64_t seconds_ahead;

static uint64_t monotonic(struct vel_clock *clock)
{
    (void)clock;
    return vel_clock_monotonic(vel_clock_system());
}

static int64_t wall(struct vel_clock *clock)
{
    (void)clock;
    return vel_clock_wall(vel_clock_system()) + seconds_ahead * (int64_t)VEL_CLOCK_S;
}

static void do_sleep(struct vel_clock *clock, uint64_t ns)
{
    (void)clock;
    vel_clock_sleep(vel_clock_system(), ns);
}

static const struct vel_clock_ops clock_ops = {monotonic, wall, do_sleep, NULL};
static struct vel_clock node_clock = {&clock_ops};

struct play {
    struct seslab lab;
    int64_t newest;  /* that is to be restored first; 0: nothing is there */
    int64_t saves;   /* versions to be made */
    int victim;      /* a rank that is killed with its leader; -1: none */
    bool kills_late; /* when the last one is complete, else while it is written */
};

static bool is_killed(const struct play *p, const struct vel_comm *comm,
                      int64_t version, bool is_late)
{
    return comm->rank == p->victim && version == p->newest + p->saves &&
           p->kills_late == is_late;
}

static int save(const struct play *p, struct vel_session *s, struct vel_comm *comm,
                int64_t version, struct vel_err *err)
{
    int rc = seslab_begin(&p->lab, s, version, err);

    if (rc == 0 && is_killed(p, comm, version, false))
        kill(getpid(), SIGKILL);
    return rc == 0 ? seslab_write(&p->lab, s, version, err) : rc;
}

static int restore(const struct play *p, struct vel_session *s, struct vel_err *err)
{
    int64_t newest = 0;
    int rc = seslab_newest(s, &newest, err);

    if (rc == 0 && newest != p->newest)
        return vel_fail(err, VEL_ENOENT, "version %d is the newest, not %d",
                        (int)newest, (int)p->newest);
    return rc == 0 && newest ? seslab_restart(&p->lab, s, newest, err) : rc;
}

static int member(struct vel_comm *comm, void *arg)
{
    const struct play *p = arg;
    struct vel_session *s = NULL;
    struct vel_err err = {0};
    bool is_finished = false;
    int rc;

    seconds_ahead = comm->rank;
    rc = seslab_open_with(&p->lab, comm, vel_fs_posix(), vel_attend(), &s, &err);
    if (rc == 0)
        rc = restore(p, s, &err);
    for (int64_t i = 1; rc == 0 && i <= p->saves; i++) {
        rc = save(p, s, comm, p->newest + i, &err);
        if (rc == 0)
            rc = vel_session_finished(s, &is_finished, &err);
        if (rc == 0 && is_killed(p, comm, p->newest + i, true))
            kill(getpid(), SIGKILL);
    }
    if (rc == 0)
        rc = vel_session_wait(s, &err);
    if (rc < 0)
        fprintf(stderr, "# rank %d: %s\n", comm->rank, err.text);
    if (vel_session_close(s, rc == 0 ? "it is over" : NULL, &err) < 0)
        rc = -1;
    return rc < 0;
}

static void begin(struct play *p)
{
    memset(p, 0, sizeof *p);
    seslab_init(&p->lab, 3);
    p->lab.clock = &node_clock;
    seslab_set(&p->lab, "MODE", "ASYNC");
    seslab_set(&p->lab, "CNTL_BASE", tap_path("cntl"));
    seslab_set(&p->lab, "VIRTUAL_NODES", "4");
    seslab_set(&p->lab, "COPY_TYPE", "XOR");
    seslab_set(&p->lab, "FLUSH", "2");
    seslab_set(&p->lab, "PEER_TIMEOUT", "5");
    seslab_set(&p->lab, "FLUSH_STALL", "30");
    tap_fresh_dir(tap_path("cntl"));
    p->victim = -1;
    p->saves = SAVES;
}

static void lose(const struct play *p, int node)
{
    struct vel_err err = {0};

    if (vel_fs_remove_tree(vel_fs_posix(), seslab_node(&p->lab, node), &err) < 0)
        bail_out("%s", err.text);
}

static void in_good_order(void)
{
    struct play p;

    begin(&p);
    is_int(sockjob_run(RANKS, "unix", member, &p), 0, "checkpoints are made");
    ok(seslab_is_flushed(&p.lab, 2), "one is flushed");
    lose(&p, 2);
    p.newest = SAVES;
    is_int(sockjob_run(RANKS, "unix", member, &p), 0,
           "the next launch has the newest, though a node was lost, and goes on");
    p.newest = 2 * SAVES;
    p.saves = 0;
    is_int(sockjob_run(RANKS, "unix", member, &p), 0, "and the one after it");
}

/* Whoever starts the program again takes another launch when its rank has one. */
static bool is_named(const struct play *p, int rank)
{
    char pattern[600], want[32], text[1024];
    glob_t found;
    bool is = false;

    snprintf(pattern, sizeof pattern, "%s/.veloc/launch.*/node.*.v%d", p->lab.prefix,
             rank);
    snprintf(want, sizeof want, "\"ranks\":\"%d\"", rank);
    if (glob(pattern, 0, NULL, &found) != 0)
        return false;
    for (size_t i = 0; i < found.gl_pathc && !is; i++) {
        FILE *file = fopen(found.gl_pathv[i], "r");
        size_t len = file ? fread(text, 1, sizeof text - 1, file) : 0;

        text[len] = '\0';
        is = strstr(text, want) != NULL;
        if (file)
            fclose(file);
    }
    globfree(&found);
    return is;
}

static void killed(bool is_late)
{
    struct play p;

    begin(&p);
    sockjob_run(RANKS, "unix", member, &p);
    p.newest = SAVES;
    p.saves = 2;
    p.victim = 1;
    p.kills_late = is_late;
    ok(sockjob_run(RANKS, "unix", member, &p) > 0, "a rank is killed %s",
       is_late ? "behind a checkpoint" : "in one");
    ok(is_named(&p, p.victim), "its node's record names it");
    p.newest += is_late ? 2 : 1;
    p.victim = -1;
    is_int(sockjob_run(RANKS, "unix", member, &p), 0,
           "the next launch has what was complete, and goes on");
}

int main(void)
{
    in_good_order();
    killed(false);
    killed(true);
    return done_testing();
}
