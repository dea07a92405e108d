/* SPDX-License-Identifier: BSD-3-Clause */
/* Campaign: a job of 4 to 6 ranks on 4 virtual nodes is killed (SIGKILL) at a chosen
 * operation on files of a chosen rank: while it begins, while it writes, encodes or
 * flushes a checkpoint, or while it rebuilds what another kill and the loss of nodes
 * left. One rank dies (alone, or with all others, or its node loses power), perhaps
 * its node's cache goes as well, perhaps all caches do. Then the same ranks begin again
 * and must find one complete dataset: the newest that was reported, or a newer one, the
 * same on all ranks, with every byte; and the program goes on from there, with numbers
 * that nobody had before and nothing left behind, until everything but the prefix is
 * lost, from which the last one must come back.
 *
 * Everything follows from the seed but how far the other ranks have come when one dies.
 */
#include "config.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tap/rng.h"
#include "comm/comm.h"
#include "process/attend.h"
#include "tap/files.h"
#include "tap/seeds.h"
#include "tap/seslab.h"
#include "tap/sockjob.h"
#include "tap/tap.h"

enum { RANKS_MOST = 6, NODES = 4, VERSIONS = 3, LIMIT_MS = 60000 };

/* who dies with the victim, and what */
enum death { ALONE, ALL, POWER };

/* where the victim begins to count its operations, and which */
enum where {
    NOWHERE,
    AT_OPEN,
    AT_BEGIN,   /* of a checkpoint */
    AT_ENCODE,  /* when it is to be written: what is done to caches */
    AT_FLUSH,   /* the same: what is done to the prefix */
    AT_REBUILD, /* AT_OPEN of a launch that finds something */
    WHERES
};

static const char *const where_texts[] = {
    [AT_OPEN] = "of the launch",
    [AT_BEGIN] = "of checkpoint",
    [AT_ENCODE] = "on caches of the end of checkpoint",
    [AT_FLUSH] = "on the prefix of the end of checkpoint",
    [AT_REBUILD] = "of the next launch",
};

struct kill_at {
    enum where where;
    int64_t version; /* of AT_BEGIN, AT_ENCODE and AT_FLUSH */
    int victim;
    uint64_t operation; /* from there on */
    enum death death;
    enum vel_fs_loss loss; /* of POWER */
};

/* What the jobs of one seed tell; in memory that all ranks share. */
struct told {
    int64_t attempted, reported; /* versions */
    int64_t flushed;             /* the newest known to be on the prefix */
    int64_t found[RANKS_MOST];   /* by the job that restarts */
    uint64_t operations;         /* of the victim since it counts */
    bool has_died;
    char why[RANKS_MOST][VEL_ERR_TEXT];
};

/* --- one job ---------------------------------------------------------------------- */

struct job {
    const struct seslab *lab;
    struct told *told;
    int ranks;
    bool closes;    /* survivors of a failure end their session */
    bool must_work; /* nobody is killed: everything is to succeed */
    int64_t first;  /* checkpoints, after the restart: none when `last` is lower */
    int64_t last;
    struct kill_at kill;
};

struct member {
    const struct job *job;
    struct vel_comm *comm;
    struct vel_fs_fault *fault;
    struct vel_session *session;
};

static void die(void *arg)
{
    struct member *m = arg;
    const struct kill_at *k = &m->job->kill;

    m->job->told->has_died = true;
    if (k->death == POWER)
        vel_fs_fault_power_loss(m->fault, k->loss, k->operation, NULL);
    for (int rank = 0; k->death == ALL && rank < m->job->ranks; rank++)
        if (rank != m->comm->rank)
            kill(sockjob_pid(rank), SIGKILL);
    raise(SIGKILL);
}

/* From here on the victim's operations count. */
static void arm(struct member *m, enum where where, int64_t version)
{
    const struct kill_at *k = &m->job->kill;
    struct vel_fs_fault_plan plan = {.mode = VEL_FS_FAULT_CRASH,
                                     .at = k->operation,
                                     .below = where == AT_ENCODE  ? m->job->lab->cache
                                              : where == AT_FLUSH ? m->job->lab->prefix
                                                                  : NULL,
                                     .crash = die,
                                     .arg = m};

    if (m->comm->rank == k->victim && where == k->where && version == k->version)
        vel_fs_fault_arm(m->fault, &plan);
}

static int checkpoint(struct member *m, int64_t version, struct vel_err *err)
{
    const struct job *job = m->job;
    struct told *told = job->told;
    int rc;

    arm(m, AT_BEGIN, version);
    told->attempted = version;
    rc = seslab_begin(job->lab, m->session, version, err);
    if (rc < 0)
        return rc;
    arm(m, AT_ENCODE, version);
    arm(m, AT_FLUSH, version);
    rc = seslab_write(job->lab, m->session, version, err);
    if (rc == 0)
        told->reported = version;
    if (rc == 0 && m->comm->rank == 0 && seslab_is_flushed(job->lab, version))
        told->flushed = version;
    return rc;
}

/* Restart from the newest, compare it, and go on. */
static int work(struct member *m, struct vel_err *err)
{
    const struct job *job = m->job;
    int64_t *found = &job->told->found[m->comm->rank];
    int rc;

    arm(m, AT_OPEN, 0);
    arm(m, AT_REBUILD, 0);
    rc = seslab_open_with(job->lab, m->comm, vel_fs_fault_fs(m->fault), vel_attend(),
                          &m->session, err);
    if (rc == 0)
        rc = seslab_newest(m->session, found, err);
    if (rc == 0 && *found > 0)
        rc = seslab_restart(job->lab, m->session, *found, err);
    for (int64_t v = job->first; rc == 0 && v <= job->last; v++)
        rc = checkpoint(m, v, err);
    return rc;
}

static int member(struct vel_comm *comm, void *arg)
{
    struct member m = {.job = arg, .comm = comm};
    const struct job *job = arg;
    char aside[64];
    struct vel_err err = {0};
    int rc;

    snprintf(aside, sizeof aside, "aside%d", comm->rank);
    if (vel_fs_fault_create(vel_fs_posix(),
                            job->kill.death == POWER ? tap_path(aside) : NULL, &m.fault,
                            &err) < 0)
        return 1;
    rc = work(&m, &err);
    if (rc < 0)
        snprintf(job->told->why[comm->rank], VEL_ERR_TEXT, "%s", err.text);
    if (rc == 0 || job->closes)
        vel_session_close(m.session, job->must_work ? "the end" : NULL, NULL);
    if (comm->rank == job->kill.victim && job->kill.where != NOWHERE)
        job->told->operations = vel_fs_fault_count(m.fault);
    /* the twin stays: a leader that goes on works with it until the process ends */
    return rc < 0 && job->must_work;
}

/* --- one seed --------------------------------------------------------------------- */

struct scene {
    uint64_t seed;
    struct vel_rng rng;
    struct seslab lab;
    struct told *told;
    int ranks, bearable;    /* nodes whose loss the scheme bears */
    char text[SESLAB_TEXT]; /* what is done */
    int kills[WHERES];      /* of all seeds */
};

static int below(struct scene *s, int n)
{
    return (int)vel_rng_below(&s->rng, (uint64_t)n);
}

static void choose_lab(struct scene *s)
{
    static const struct {
        const char *scheme;
        int bearable;
    } schemes[] = {{"XOR", 1}, {"RS", 2}, {"PARTNER", 1}};
    int scheme = below(s, 3);

    seslab_init(&s->lab, s->seed);
    s->ranks = 4 + below(s, RANKS_MOST - 4 + 1);
    if (scheme == 1 && s->ranks == 5)
        s->ranks = 6; /* nobody makes sets of 3 of 5 ranks on 4 nodes */
    s->bearable = s->ranks == 4 ? schemes[scheme].bearable : 1;
    s->lab.has_same_names = below(s, 2) == 0;
    seslab_set(&s->lab, "COPY_TYPE", schemes[scheme].scheme);
    seslab_set(&s->lab, "SET_SIZE", "4");
    seslab_set(&s->lab, "SET_FAILURES", "2");
    seslab_set(&s->lab, "VIRTUAL_NODES", "4");
    s->lab.has_leaders = true;
    seslab_set(&s->lab, "PEER_TIMEOUT", "1");
    seslab_set(&s->lab, "FLUSH", below(s, 3) == 0 ? "1" : "2");
    seslab_set(&s->lab, "CONTAINERS", below(s, 4) == 0 ? "1" : "0");
    seslab_set(&s->lab, "LOG_LEVEL", getenv("VERBOSE") ? "DEBUG" : "ERROR");
    snprintf(s->text, sizeof s->text, "%d ranks, %s%s", s->ranks,
             schemes[scheme].scheme, s->lab.has_same_names ? ", same names" : "");
}

static void say(struct scene *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void say(struct scene *s, const char *fmt, ...)
{
    size_t len = strlen(s->text);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(s->text + len, sizeof s->text - len, fmt, ap);
    va_end(ap);
}

/* How many operations there are at most, about, from each beginning on. */
static uint64_t choose_operation(struct scene *s, enum where where)
{
    static const int most[] = {[NOWHERE] = 1,    [AT_OPEN] = 100, [AT_BEGIN] = 60,
                               [AT_ENCODE] = 90, [AT_FLUSH] = 90, [AT_REBUILD] = 160};

    /* many ranks have few */
    return 1 + (uint64_t)below(s, below(s, 2) ? most[where] : most[where] / 4);
}

static struct kill_at choose_kill(struct scene *s, enum where where)
{
    bool has_version = where != AT_OPEN && where != AT_REBUILD;
    struct kill_at k = {.where = where,
                        .version = has_version ? 1 + below(s, VERSIONS) : 0,
                        .victim = below(s, s->ranks),
                        .operation = choose_operation(s, where),
                        .death = (enum death)below(s, where == AT_REBUILD ? 2 : 3),
                        .loss = below(s, 2) ? VEL_FS_LOSS_DROP : VEL_FS_LOSS_RANDOM};

    if (s->ranks != 4 && k.death == POWER)
        k.death = ALONE; /* others of its node would live on */
    say(s, "; rank %d dies %s at operation %" PRIu64 " %s", k.victim,
        k.death == ALONE ? "alone"
        : k.death == ALL ? "with all"
                         : "by power loss",
        k.operation, where_texts[where]);
    if (has_version)
        say(s, " %" PRId64, k.version);
    return k;
}

/* Returns NULL or what went wrong. */
static const char *run(struct scene *s, struct job job)
{
    static char text[VEL_ERR_TEXT + 16];
    struct told *told = s->told;

    job.lab = &s->lab;
    job.told = told;
    job.ranks = s->ranks;
    memset(told->why, 0, sizeof told->why);
    memset(told->found, 0, sizeof told->found);
    told->has_died = false;
    int failed = sockjob_run_limit(s->ranks, "unix", LIMIT_MS, member, &job);
    if (!job.must_work || failed == 0)
        return NULL;
    for (int rank = 0; rank < s->ranks; rank++)
        if (told->why[rank][0]) {
            snprintf(text, sizeof text, "rank %d: %s", rank, told->why[rank]);
            return text;
        }
    return "a rank died by itself";
}

static void lose_nodes(struct scene *s, int n)
{
    int first = below(s, NODES);

    for (int i = 0; i < n; i++) {
        const char *node = seslab_node(&s->lab, (first + i * 2) % NODES);

        say(s, "; node %d is lost", (first + i * 2) % NODES);
        vel_fs_remove_tree(vel_fs_posix(), node, NULL);
    }
}

static void lose_caches(struct scene *s)
{
    say(s, "; all caches are lost");
    tap_fresh_dir(s->lab.cache);
}

static const char *check_found(struct scene *s, int64_t least, int64_t most)
{
    static char text[SESLAB_TEXT];
    const int64_t *found = s->told->found;

    for (int rank = 1; rank < s->ranks; rank++)
        if (found[rank] != found[0])
            return "ranks found different versions";
    if (found[0] >= least && found[0] <= most)
        return NULL;
    snprintf(text, sizeof text,
             "version %" PRId64 " was found, not one from %" PRId64 " to %" PRId64,
             found[0], least, most);
    return text;
}

static const char *check_ids(struct scene *s, int64_t last, int64_t version)
{
    int64_t id = seslab_id(&s->lab, version);
    static char text[SESLAB_TEXT];

    if (id > last)
        return NULL;
    snprintf(text, sizeof text,
             "version %" PRId64 " is dataset %" PRId64 ", and %" PRId64 " was in use",
             version, id, last);
    return text;
}

static const char *check_strays(struct scene *s)
{
    static char text[SESLAB_TEXT + 32];
    char first[SESLAB_TEXT];

    if (seslab_strays(&s->lab, first) == 0)
        return NULL;
    snprintf(text, sizeof text, "left behind: %s", first);
    return text;
}

/* The job that nobody kills: restart, one more checkpoint, and a good end; then another
 * one that has the prefix only. */
static const char *go_on(struct scene *s, int64_t least)
{
    struct told *told = s->told;
    int64_t most = told->attempted, next = most + 1, last = seslab_last_id(&s->lab);
    struct job job = {.must_work = true, .first = next, .last = next};
    const char *what = run(s, job);

    if (!what)
        what = check_found(s, least, most);
    if (!what)
        what = check_ids(s, last, next);
    if (!what)
        what = check_strays(s);
    if (what)
        return what;
    lose_caches(s);
    what = run(s, (struct job){.must_work = true, .first = 1, .last = 0});
    return what ? what : check_found(s, next, next);
}

/* A job that is killed, unless it ends before. */
static void run_killed(struct scene *s, struct job job)
{
    run(s, job);
    if (s->told->has_died)
        s->kills[job.kill.where]++;
    else
        say(s, " (of %" PRIu64 ")", s->told->operations);
}

static const char *run_scene(struct scene *s)
{
    bool is_second = below(s, 3) == 0;
    enum where where = (enum where)(AT_OPEN + below(s, AT_REBUILD - AT_OPEN));
    struct job job = {.first = 1, .last = VERSIONS, .closes = below(s, 2)};
    bool loses_all;
    int lost;

    job.kill = choose_kill(s, where);
    run_killed(s, job);
    loses_all = below(s, 5) == 0;
    /* who lost power may have lost what its node had */
    lost = below(s, s->bearable + 1);
    if (job.kill.death == POWER && lost == s->bearable)
        lost--;
    if (loses_all)
        lose_caches(s);
    else
        lose_nodes(s, lost);
    if (is_second) {
        job = (struct job){.first = 1, .last = 0, .closes = below(s, 2)};
        job.kill = choose_kill(s, AT_REBUILD);
        run_killed(s, job);
    }
    return go_on(s, loses_all ? s->told->flushed : s->told->reported);
}

int main(void)
{
    struct tap_seeds seeds = tap_seeds(20);
    unsigned failed = 0;
    struct scene s = {.told = mmap(NULL, sizeof *s.told, PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS, -1, 0)};

    if (s.told == MAP_FAILED)
        bail_out("no shared memory");
    for (s.seed = seeds.first; s.seed <= seeds.last; s.seed++) {
        memset(s.told, 0, sizeof *s.told);
        vel_rng_init(&s.rng, s.seed);
        choose_lab(&s);
        const char *what = run_scene(&s);
        if (what || seeds.first == seeds.last)
            note("SEEDS=%" PRIu64 ": %s: %s", s.seed, s.text, what ? what : "well");
        failed += what != NULL;
    }
    ok(seeds.last - seeds.first < 19 ||
           (s.kills[AT_OPEN] && s.kills[AT_BEGIN] && s.kills[AT_ENCODE] &&
            s.kills[AT_FLUSH] && s.kills[AT_REBUILD]),
       "killed at launches: %d, beginnings: %d, encodings: %d, flushes: %d, rebuilds: "
       "%d",
       s.kills[AT_OPEN], s.kills[AT_BEGIN], s.kills[AT_ENCODE], s.kills[AT_FLUSH],
       s.kills[AT_REBUILD]);
    is_int(failed, 0,
           "a job that is killed finds one complete dataset, seeds %" PRIu64
           " to %" PRIu64,
           seeds.first, seeds.last);
    return done_testing();
}
