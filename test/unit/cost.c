/* SPDX-License-Identifier: BSD-3-Clause */
/* What a checkpoint costs beyond its bytes: messages, and operations on files, of empty
 * checkpoints of jobs of 8 and of 64 ranks. None of it may grow with the number of
 * checkpoints before; only messages grow with the ranks, and like their logarithm. Nor
 * may what is sent when a program begins again and restarts. */
#include "config.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/session.h"
#include "tap/fs_fault.h"
#include "tap/crowd.h"
#include "tap/files.h"
#include "tap/indexlab.h"
#include "tap/standin.h"
#include "tap/tap.h"

enum { MANY = 64, FEW = 8, CHECKPOINTS = 50, FLUSHES = 12, KEPT = 2, SET = 4 };

/* What one rank did in one checkpoint. */
struct bill {
    unsigned messages;
    unsigned renames, syncs, all; /* operations on files */
};

struct job {
    char dir[1100];
    struct standin *standin;
    int ranks, checkpoints;
    struct bill bills[MANY][CHECKPOINTS];
    uint64_t opened[FEW], restarted[FEW]; /* bytes that a rank has sent by then */
};

/* Twins that count, one over the other. */
struct counters {
    struct vel_fs_fault *renames, *syncs, *all;
};

static int counters_init(struct counters *c, struct vel_err *err)
{
    const struct vel_fs_fault_plan renames = {.kinds = VEL_FS_KIND_RENAME},
                                   syncs = {.kinds = VEL_FS_KIND_SYNC}, all = {0};

    if (vel_fs_fault_create(vel_fs_posix(), NULL, &c->renames, err) < 0 ||
        vel_fs_fault_create(vel_fs_fault_fs(c->renames), NULL, &c->syncs, err) < 0 ||
        vel_fs_fault_create(vel_fs_fault_fs(c->syncs), NULL, &c->all, err) < 0)
        return -1;
    vel_fs_fault_arm(c->renames, &renames);
    vel_fs_fault_arm(c->syncs, &syncs);
    vel_fs_fault_arm(c->all, &all);
    return 0;
}

static void counters_fini(struct counters *c)
{
    vel_fs_fault_destroy(c->all);
    vel_fs_fault_destroy(c->syncs);
    vel_fs_fault_destroy(c->renames);
}

static struct bill now(const struct vel_comm *comm, const struct counters *c)
{
    return (struct bill){.messages = crowd_sent(comm),
                         .renames = (unsigned)vel_fs_fault_count(c->renames),
                         .syncs = (unsigned)vel_fs_fault_count(c->syncs),
                         .all = (unsigned)vel_fs_fault_count(c->all)};
}

static int checkpoints(struct vel_session *s, struct vel_comm *comm, struct job *job,
                       const struct counters *c, struct vel_err *err)
{
    struct bill *bills = job->bills[comm->rank];
    int rc = 0;

    for (int i = 0; rc == 0 && i < job->checkpoints; i++) {
        const struct bill before = now(comm, c);
        struct bill after;

        rc = vel_session_start(s, "empty", i, VEL_USE_CHECKPOINT, err);
        if (rc == 0)
            rc = vel_session_complete(s, true, err);
        after = now(comm, c);
        bills[i] = (struct bill){after.messages - before.messages,
                                 after.renames - before.renames,
                                 after.syncs - before.syncs, after.all - before.all};
    }
    return rc;
}

/* Collective. */
static int open_session(struct job *job, struct vel_comm *comm, struct vel_fs *fs,
                        struct vel_session **ret, struct vel_err *err)
{
    char file[1200];
    struct vel_session_setup setup = {.world = comm,
                                      .fs = fs,
                                      .clock = vel_clock_system(),
                                      .background =
                                          standin_seat(job->standin, comm->rank),
                                      .user_file = file};
    int rc;

    snprintf(file, sizeof file, "%s/job.conf", job->dir);
    if (vel_conf_create(&setup.conf, err) < 0)
        bail_out("%s", err->text);
    rc = vel_session_open(&setup, ret, err);
    standin_opened(job->standin, comm->rank, rc == 0);
    return rc;
}

static int member(struct vel_comm *comm, void *arg)
{
    struct job *job = arg;
    struct counters c;
    struct vel_session *s = NULL;
    struct vel_err err = {0};
    int rc;

    if (counters_init(&c, &err) < 0)
        bail_out("%s", err.text);
    rc = open_session(job, comm, vel_fs_fault_fs(c.all), &s, &err);
    if (rc == 0)
        rc = checkpoints(s, comm, job, &c, &err);
    if (vel_session_close(s, NULL, &err) < 0 || rc < 0)
        note("rank %d: %s", comm->rank, err.text);
    counters_fini(&c);
    return rc;
}

static bool run(struct job *job, const char *settings, int ranks)
{
    char file[1200], text[6000];

    job->ranks = ranks;
    snprintf(job->dir, sizeof job->dir, "%s", tap_path("job"));
    tap_fresh_dir(job->dir);
    snprintf(file, sizeof file, "%s/job.conf", job->dir);
    snprintf(text, sizeof text,
             "PREFIX=%s/prefix\nCACHE_BASE=%s/base\nSTORE=%s/cache COUNT=%d\n"
             "CKPT=0 INTERVAL=1 STORE=%s/cache TYPE=XOR SET_SIZE=%d\n"
             "VIRTUAL_NODES=%d\nLOG_ENABLE=1\nMODE=SYNC\n%s",
             job->dir, job->dir, job->dir, KEPT, job->dir, SET,
             ranks / 4 > SET ? ranks / 4 : SET, settings);
    tap_put_file(file, text);
    job->standin = standin_create_for(ranks);
    return crowd_run(ranks, NULL, member, job, NULL) == 0;
}

/* The greatest of what any rank but those below `first` did in any checkpoint from
 * `from` on. */
static struct bill most(const struct job *job, int first, int from)
{
    struct bill max = {0};

    for (int r = first; r < job->ranks; r++)
        for (int i = from; i < job->checkpoints; i++) {
            const struct bill *b = &job->bills[r][i];

            max.messages = b->messages > max.messages ? b->messages : max.messages;
            max.renames = b->renames > max.renames ? b->renames : max.renames;
            max.syncs = b->syncs > max.syncs ? b->syncs : max.syncs;
            max.all = b->all > max.all ? b->all : max.all;
        }
    return max;
}

static unsigned apart(unsigned a, unsigned b)
{
    return a > b ? a - b : b - a;
}

/* Rank by rank, the last checkpoint costs what the first did that an older one had to
 * make room for. Ranks of a node make the directory of a dataset together: whoever
 * comes first syncs once more, and looks less often whether it is there; who removes a
 * part asks for the lock of the cache until he has it; and the first claims
 * ids now and then, more of them each time. */
static bool is_steady(const struct job *job)
{
    for (int r = 0; r < job->ranks; r++)
        for (int i = KEPT, claims = 0; i < job->checkpoints; i++) {
            const struct bill *b = &job->bills[r][i], *a = &job->bills[r][KEPT];
            bool is_claim = r == 0 && b->syncs > a->syncs + 2;

            claims += is_claim;
            if (b->messages != a->messages || b->renames != a->renames ||
                apart(b->syncs, a->syncs) > (is_claim ? 5 : 2) || claims > 5 ||
                apart(b->all, a->all) > 60) {
                note("rank %d, checkpoint %d: %u messages, %u renames, %u syncs, %u "
                     "operations; checkpoint %d: %u, %u, %u, %u",
                     r, i, b->messages, b->renames, b->syncs, b->all, KEPT, a->messages,
                     a->renames, a->syncs, a->all);
                return false;
            }
        }
    return true;
}

static void say(const struct job *job, const char *who, const struct bill *b)
{
    note("%d ranks, %s: %u messages, %u records, %u syncs, %u operations on files",
         job->ranks, who, b->messages, b->renames, b->syncs, b->all);
}

static void test_cost(struct job *job, const char *what, const char *settings,
                      const struct bill *limit, unsigned agreements)
{
    struct bill few, few_first, many, many_first;

    ok(run(job, settings, FEW), "%s: %d ranks make %d of them", what, FEW,
       job->checkpoints);
    ok(is_steady(job), "of %d ranks each one costs the same, however many there were",
       FEW);
    few = most(job, 1, 0);
    few_first = most(job, 0, 0);
    say(job, "all but the first", &few);
    say(job, "the first", &few_first);
    ok(run(job, settings, MANY), "%s: %d ranks make %d of them", what, MANY,
       job->checkpoints);
    ok(is_steady(job), "of %d ranks each one costs the same, however many there were",
       MANY);
    many = most(job, 1, 0);
    many_first = most(job, 0, 0);
    say(job, "all but the first", &many);
    say(job, "the first", &many_first);
    ok(many.renames == few.renames && many_first.renames == few_first.renames,
       "a rank writes as many records, however many ranks there are");
    ok(few.renames <= limit->renames && few.syncs <= limit->syncs &&
           many.syncs <= limit->syncs && many.all <= limit->all,
       "at most %u, with %u syncs and %u operations on files", limit->renames,
       limit->syncs, limit->all);
    /* 8 times the ranks: 3 rounds more; and a node has twice as many */
    ok(many.messages <= few.messages + 3 * agreements,
       "and sends one message more for each of %u agreements when ranks double",
       agreements);
    ok(few.messages <= limit->messages, "at most %u messages of %d ranks",
       limit->messages, FEW);
}

/* --- a program that begins again --- */

enum { OTHERS = 200, FIRST_OTHER = 100000, MISSING = 77 };

/* Its caches have the newest; the oldest is fetched, and another one is asked for. */
static int restart(struct vel_comm *comm, void *arg)
{
    struct job *job = arg;
    struct vel_session *s = NULL;
    struct vel_err err = {0}, why = {0};
    int rc = open_session(job, comm, vel_fs_posix(), &s, &err);

    job->opened[comm->rank] = crowd_sent_bytes(comm);
    if (rc == 0)
        rc = vel_session_restart_begin(s, "empty", 0, &err);
    if (rc == 0)
        rc = vel_session_restart_end(s, true, &err);
    if (rc == 0 && vel_session_restart_begin(s, "empty", MISSING, &why) != VEL_ENOENT)
        rc = vel_fail(&err, VEL_EINVAL, "what was never there is restored");
    job->restarted[comm->rank] = crowd_sent_bytes(comm);
    if (vel_session_close(s, NULL, &err) < 0 || rc < 0)
        note("rank %d: %s", comm->rank, err.text);
    return rc;
}

/* Other datasets of the prefix, which are there as well. */
static void put_others(const struct job *job, int n)
{
    char dir[1200];

    snprintf(dir, sizeof dir, "%s/prefix/.veloc", job->dir);
    for (int i = 0; i < n; i++) {
        char name[] = "other";
        const struct vel_entry entry = {.dataset = {.id = FIRST_OTHER + i,
                                                    .name = name,
                                                    .version = i,
                                                    .checkpoint = 1,
                                                    .use = VEL_USE_CHECKPOINT,
                                                    .ranks = FEW,
                                                    .nodes = SET,
                                                    .created = 1},
                                        .place = VEL_ON_PREFIX,
                                        .flushed = 1};
        struct vel_err err = {0};

        if (indexlab_save(vel_fs_posix(), dir, &entry, &err) < 0)
            bail_out("%s", err.text);
    }
}

/* The most that a rank sends until it has begun, and until it has restarted. */
static bool restart_beside(struct job *job, int others, uint64_t *ret_opened,
                           uint64_t *ret_restarted)
{
    bool is_well;

    *ret_opened = *ret_restarted = 0;
    job->checkpoints = KEPT + 2;
    is_well = run(job, "FLUSH=1\n", FEW);
    put_others(job, others);
    job->standin = standin_create_for(FEW);
    is_well = crowd_run(FEW, NULL, restart, job, NULL) == 0 && is_well;
    for (int r = 0; r < FEW; r++) {
        if (job->opened[r] > *ret_opened)
            *ret_opened = job->opened[r];
        if (job->restarted[r] > *ret_restarted)
            *ret_restarted = job->restarted[r];
    }
    note("%d other datasets: %" PRIu64 " bytes to begin, %" PRIu64
         " to restart as well",
         others, *ret_opened, *ret_restarted);
    return is_well;
}

/* Sentences have numbers in them, of more digits or less. */
static void test_restart(struct job *job)
{
    uint64_t opened, restarted, opened_many, restarted_many;

    ok(restart_beside(job, 0, &opened, &restarted) &&
           restart_beside(job, OTHERS, &opened_many, &restarted_many),
       "a program begins again and restarts, alone on its prefix, and beside %d others",
       OTHERS);
    ok(opened_many <= opened + OTHERS,
       "a rank sends no more when it begins, however many datasets there are");
    ok(restarted_many - opened_many <= restarted - opened + OTHERS,
       "nor when it restarts from one that is fetched, or from none");
}

int main(void)
{
    static const struct bill cached = {18, 2, 10, 150}, flushed = {110, 4, 20, 150};
    static struct job job;

    job.checkpoints = CHECKPOINTS;
    test_cost(&job, "empty checkpoints in the caches", "FLUSH=0\n", &cached, 5);
    job.checkpoints = FLUSHES;
    test_cost(&job, "empty checkpoints that are flushed", "FLUSH=1\nPREFIX_SIZE=2\n",
              &flushed, 29);
    test_restart(&job);
    return done_testing();
}
