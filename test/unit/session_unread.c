/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of earlier launches that cannot be read: a session fails, or it finds what
 * can be restored. It never says that there is no checkpoint when it does not know. */
#include "config.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/comm.h"
#include "process/attend.h"
#include "tap/crowd.h"
#include "tap/files.h"
#include "tap/seslab.h"
#include "tap/sockjob.h"
#include "tap/tap.h"

enum { RANKS = 2 };

static const unsigned reads =
    VEL_FS_KIND_OPEN | VEL_FS_KIND_READ | VEL_FS_KIND_LIST | VEL_FS_KIND_STAT;

/* What every rank of a launch does, and what came of it. */
struct job {
    struct seslab lab;
    char dir[1024]; /* of the launch that has saved the checkpoint */
    struct vel_fs_fault *fault;
    struct vel_fs_fault_plan plan; /* from its beginning, or once it has begun */
    bool has_saved, fails_late, has_fired;
    int64_t newest[RANKS];
    int opened[RANKS], tested[RANKS], restarted[RANKS];
    struct vel_err why[RANKS]; /* the first that failed */
};

static void mend(struct job *job)
{
    const struct vel_fs_fault_plan none = {.mode = VEL_FS_FAULT_NONE};

    job->has_fired = job->has_fired || vel_fs_fault_fired(job->fault);
    vel_fs_fault_arm(job->fault, &none);
}

static int save_other(struct vel_session *s, struct vel_err *err)
{
    int rc = vel_session_start(s, "other", 1, VEL_USE_CHECKPOINT, err);

    return rc == 0 ? vel_session_complete(s, true, err) : rc;
}

/* A launch before: a checkpoint, of which the prefix has all, or the caches. And one of
 * another name, by the launch after it. */
static int save(struct vel_comm *comm, void *arg)
{
    struct job *job = arg;
    struct vel_session *s = NULL;
    struct vel_err err = {0};
    int rc = seslab_open(&job->lab, comm, vel_fs_posix(), &s, &err);

    if (rc == 0)
        rc = job->has_saved ? save_other(s, &err)
                            : seslab_checkpoint(&job->lab, s, 1, &err);
    if (rc < 0)
        note("rank %d: %s", comm->rank, err.text);
    vel_session_close(s, "the end", NULL);
    return rc;
}

static void find_launch(struct job *job)
{
    char path[1024];
    glob_t found;

    snprintf(path, sizeof path, "%s/.veloc/launch.*", job->lab.prefix);
    if (glob(path, 0, NULL, &found) != 0 || found.gl_pathc != 1)
        bail_out("there is not one launch");
    snprintf(job->dir, sizeof job->dir, "%s", found.gl_pathv[0]);
    globfree(&found);
}

static void begin(struct job *job, uint64_t seed, int ranks, const char *flush)
{
    *job =
        (struct job){.plan = {.mode = VEL_FS_FAULT_LASTING, .kinds = reads, .at = 1}};
    seslab_init(&job->lab, seed);
    seslab_set(&job->lab, "FLUSH", flush);
    seslab_set(&job->lab, "COPY_TYPE", "SINGLE");
    if (crowd_run(ranks, NULL, save, job, NULL) != 0)
        bail_out("nothing was saved");
    find_launch(job);
    job->has_saved = true;
    if (crowd_run(ranks, NULL, save, job, NULL) != 0)
        bail_out("nothing else was saved");
    if (*flush == '1')
        tap_fresh_dir(job->lab.cache);
    if (vel_fs_fault_create(vel_fs_posix(), NULL, &job->fault, NULL) < 0)
        bail_out("no twin");
}

/* All is as the launch before has left it. */
static void put_back(const struct job *job)
{
    char command[4096];

    tap_fresh_dir(job->lab.cache);
    tap_fresh_dir(job->lab.prefix);
    snprintf(command, sizeof command, "cp -a '%s.old/.' '%s' && cp -a '%s.old/.' '%s'",
             job->lab.prefix, job->lab.prefix, job->lab.cache, job->lab.cache);
    if (system(command) != 0)
        bail_out("%s", command);
}

static void keep(const struct job *job)
{
    char command[4096];

    snprintf(command, sizeof command,
             "rm -rf '%s.old' '%s.old' && cp -a '%s' '%s.old' && cp -a '%s' '%s.old'",
             job->lab.prefix, job->lab.cache, job->lab.prefix, job->lab.prefix,
             job->lab.cache, job->lab.cache);
    if (system(command) != 0)
        bail_out("%s", command);
}

static int restart(struct vel_comm *comm, void *arg)
{
    struct job *job = arg;
    struct vel_session *s = NULL;
    int me = comm->rank;
    struct vel_err *why = &job->why[me], other = {0};

    job->newest[me] = -1;
    job->opened[me] =
        seslab_open(&job->lab, comm, vel_fs_fault_fs(job->fault), &s, why);
    if (job->opened[me] < 0)
        return job->opened[me];
    if (job->fails_late && me == 0)
        vel_fs_fault_arm(job->fault, &job->plan);
    job->tested[me] = seslab_newest(s, &job->newest[me], why);
    job->restarted[me] =
        seslab_restart(&job->lab, s, 1, job->tested[me] < 0 ? &other : why);
    if (me == 0)
        mend(job);
    vel_session_close(s, NULL, NULL);
    return job->restarted[me];
}

static int launch(struct job *job, int ranks)
{
    memset(job->why, 0, sizeof job->why);
    job->has_fired = false;
    if (!job->fails_late)
        vel_fs_fault_arm(job->fault, &job->plan);
    int rc = crowd_run(ranks, NULL, restart, job, NULL);
    mend(job);
    return rc;
}

/* It tells what cannot be read, why, and what to do. */
static bool is_sentence(const struct job *job, const char *text)
{
    return strstr(text, job->dir) && strstr(text, "Input/output error") &&
           strstr(text, "away");
}

static bool is_told(const struct job *job)
{
    const char *text = job->why[0].text;

    return is_sentence(job, text) && strstr(job->why[1].text, text);
}

/* --- a ledger ----------------------------------------------------------------------
 */

static void no_ledger(void)
{
    struct job job;

    begin(&job, 1, RANKS, "1");
    job.plan.below = job.dir;
    launch(&job, RANKS);
    ok(job.opened[0] == VEL_EIO && job.opened[1] == VEL_EIO,
       "a session does not begin while the ledger of a launch before cannot be read");
    ok(is_told(&job), "and all ranks say why, and what to do: %s", job.why[0].text);
    job.fails_late = true;
    launch(&job, RANKS);
    ok(job.opened[0] == 0 && job.tested[0] == VEL_EIO && job.tested[1] == VEL_EIO,
       "nor does one that has begun say then that there is no checkpoint");
    ok(is_told(&job), "but the same: %s", job.why[0].text);
    ok(job.restarted[0] == VEL_EIO && job.restarted[1] == VEL_EIO,
       "nor does it look for a version that it does not know");
    job.plan.mode = VEL_FS_FAULT_NONE;
    launch(&job, RANKS);
    ok(job.newest[0] == 1 && job.restarted[0] == 0 && job.restarted[1] == 0,
       "when it can be read the checkpoint is restored");
    vel_fs_fault_destroy(job.fault);
}

/* With PREFIX_SIZE: after each that comes to the prefix it is looked for what is to go.
 */
static int go_on(struct vel_comm *comm, void *arg)
{
    struct job *job = arg;
    struct vel_session *s = NULL;
    struct vel_err err = {0};
    int rc = seslab_open(&job->lab, comm, vel_fs_fault_fs(job->fault), &s, &err);

    if (rc == 0)
        vel_fs_fault_arm(job->fault, &job->plan);
    for (int64_t version = 2; rc == 0 && version <= 4; version++) {
        rc = seslab_checkpoint(&job->lab, s, version, &err);
        if (rc == 0)
            rc = vel_session_wait(s, &err);
    }
    if (rc < 0)
        note("%s", err.text);
    vel_session_close(s, NULL, NULL);
    return rc;
}

static void still_cleans(void)
{
    struct job job;

    begin(&job, 4, 1, "1");
    seslab_set(&job.lab, "PREFIX_SIZE", "1");
    job.plan.below = job.dir;
    is_int(crowd_run(1, NULL, go_on, &job, NULL), 0,
           "who looks for what is to go from the prefix leaves it out, and goes on");
    ok(vel_fs_fault_fired(job.fault) && seslab_is_flushed(&job.lab, 4) &&
           !seslab_is_flushed(&job.lab, 2),
       "the newest checkpoint is there, and an old one is not");
    vel_fs_fault_destroy(job.fault);
}

/* --- at any moment -----------------------------------------------------------------
 */

/* From operation n on, or only there, nothing of PREFIX/.veloc can be read. */
static void any_moment(uint64_t seed, const char *flush, enum vel_fs_fault_mode mode,
                       const char *what)
{
    struct job job;
    char dir[1024];
    int failed = 0, restored = 0, bad = 0;

    begin(&job, seed, 1, flush);
    snprintf(dir, sizeof dir, "%s/.veloc", job.lab.prefix);
    job.plan.below = dir;
    job.plan.mode = mode;
    keep(&job);
    do {
        put_back(&job);
        launch(&job, 1);
        failed += job.opened[0] < 0 || job.tested[0] < 0;
        restored += job.newest[0] == 1;
        if (job.newest[0] == 0) {
            bad++;
            note("from operation %llu on: no checkpoint",
                 (unsigned long long)job.plan.at);
        }
        job.plan.at++;
    } while (job.has_fired);
    ok(bad == 0 && failed > 0 && restored > 0,
       "%s: %d times a session fails, %d times it finds its checkpoint", what, failed,
       restored);
    vel_fs_fault_destroy(job.fault);
}

/* --- with the leaders of nodes -----------------------------------------------------
 */

/* 0: it does not begin, and tells why. */
static int refused(struct vel_comm *comm, void *arg)
{
    const struct job *job = arg;
    struct vel_fs_fault_plan plan = job->plan;
    struct vel_fs_fault *fault;
    struct vel_session *s = NULL;
    struct vel_err err = {0};
    int rc;

    plan.below = job->dir;
    if (vel_fs_fault_create(vel_fs_posix(), NULL, &fault, NULL) < 0)
        return 1;
    vel_fs_fault_arm(fault, &plan);
    rc = seslab_open_with(&job->lab, comm, vel_fs_fault_fs(fault), vel_attend(), &s,
                          &err);
    if (rc == 0)
        vel_session_close(s, NULL, NULL);
    else
        fprintf(stderr, "# rank %d: %s\n", comm->rank, err.text);
    return !(rc < 0 && rc != VEL_ENOENT && is_sentence(job, err.text));
}

static void with_leaders(void)
{
    struct job job;

    begin(&job, 3, RANKS, "1");
    seslab_set(&job.lab, "CNTL_BASE", tap_path("cntl"));
    seslab_set(&job.lab, "PEER_TIMEOUT", "1");
    seslab_set(&job.lab, "VIEW_WAIT", "0");
    tap_fresh_dir(tap_path("cntl"));
    is_int(sockjob_run(RANKS, "unix", refused, &job), 0,
           "where leaders decide what can be restored a session does not begin either");
    vel_fs_fault_destroy(job.fault);
}

int main(void)
{
    with_leaders();
    no_ledger();
    still_cleans();
    any_moment(2, "1", VEL_FS_FAULT_ONCE, "prefix, once");
    any_moment(2, "1", VEL_FS_FAULT_LASTING, "prefix, for good");
    any_moment(2, "0", VEL_FS_FAULT_ONCE, "caches, once");
    any_moment(2, "0", VEL_FS_FAULT_LASTING, "caches, for good");
    return done_testing();
}
