/* SPDX-License-Identifier: BSD-3-Clause */
/* A checkpoint in which an operation on files fails: it is there for all ranks or for
 * none, the session goes on, and what the next launch finds is whole. Four ranks on
 * four nodes, nothing is flushed. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sys/clock.h"
#include "tap/crowd.h"
#include "tap/files.h"
#include "tap/seslab.h"
#include "tap/tap.h"

enum { RANKS = 4 };

struct job {
    struct seslab lab;
    int culprit;
    struct vel_fs_fault_plan plan; /* of version 2 */
    bool fired;
    int result[RANKS];      /* of version 2 */
    int64_t before[RANKS];  /* the version that a restart below 3 would take */
    char why[VEL_ERR_TEXT]; /* the sentence of rank 0 */
    int64_t found[RANKS];   /* by the next launch */
    bool has_leaders;       /* they fail as rank 0 does */
};

static int write_three(struct job *job, struct vel_session *s, int rank,
                       struct vel_fs_fault *fault, struct vel_err *err)
{
    const struct vel_fs_fault_plan none = {.mode = VEL_FS_FAULT_NONE};
    struct vel_err why = {0};
    int rc = seslab_checkpoint(&job->lab, s, 1, err);

    if (rc < 0)
        return rc;
    if (fault)
        vel_fs_fault_arm(fault, &job->plan);
    job->result[rank] = seslab_checkpoint(&job->lab, s, 2, &why);
    if (rank == 0)
        snprintf(job->why, sizeof job->why, "%s", why.text);
    if (fault) {
        job->fired = vel_fs_fault_fired(fault);
        vel_fs_fault_arm(fault, &none);
    }
    rc = vel_session_restart_test(s, SESLAB_NAME, 3, &job->before[rank], err);
    if (rc == 0)
        rc = seslab_restart(&job->lab, s, job->before[rank], err);
    if (rc == 0)
        rc = seslab_checkpoint(&job->lab, s, 3, err);
    return rc == 0 ? seslab_restart(&job->lab, s, 3, err) : rc;
}

static int first(struct vel_comm *comm, void *arg)
{
    struct job *job = arg;
    struct vel_fs_fault *fault = NULL;
    struct vel_session *s = NULL;
    struct vel_fs *fs = vel_fs_posix();
    struct vel_err err = {0};
    int rc;

    if (comm->rank == job->culprit) {
        if (vel_fs_fault_create(fs, NULL, &fault, NULL) < 0)
            bail_out("no memory");
        fs = vel_fs_fault_fs(fault);
        job->lab.leaders_fs = job->has_leaders ? fs : NULL;
    }
    vel_comm_barrier(comm, NULL); /* the same leaders' fs for all */
    rc = seslab_open(&job->lab, comm, fs, &s, &err);
    if (rc == 0)
        rc = write_three(job, s, comm->rank, fault, &err);
    if (rc < 0)
        note("rank %d: %s", comm->rank, err.text);
    vel_session_close(s, NULL, NULL);
    vel_comm_barrier(comm, NULL);
    vel_fs_fault_destroy(fault);
    return rc;
}

static int second(struct vel_comm *comm, void *arg)
{
    struct job *job = arg;
    struct vel_session *s = NULL;
    struct vel_err err = {0};
    int64_t *found = &job->found[comm->rank];
    int rc = seslab_open(&job->lab, comm, vel_fs_posix(), &s, &err);

    if (rc == 0)
        rc = seslab_newest(s, found, &err);
    for (int64_t v = *found; rc == 0 && v > 0;) {
        rc = seslab_restart(&job->lab, s, v, &err);
        if (rc == 0 && vel_session_restart_test(s, SESLAB_NAME, v, &v, NULL) < 0)
            break;
    }
    if (rc < 0)
        note("rank %d: %s", comm->rank, err.text);
    vel_session_close(s, NULL, NULL);
    return rc;
}

static bool is_same(const struct job *job)
{
    for (int r = 1; r < RANKS; r++)
        if ((job->result[r] < 0) != (job->result[0] < 0) ||
            job->before[r] != job->before[0])
            return false;
    return job->before[0] == (job->result[0] < 0 ? 1 : 2);
}

static void begin(struct job *job, int culprit)
{
    *job = (struct job){.culprit = culprit};
    seslab_init(&job->lab, 3);
    job->lab.most = 500;
    seslab_set(&job->lab, "SET_SIZE", "4");
    seslab_set(&job->lab, "VIRTUAL_NODES", "4");
    seslab_set(&job->lab, "CACHE_SIZE", "3");
    seslab_set(&job->lab, "FLUSH", "0");
    seslab_set(&job->lab, "LOG_LEVEL", "ERROR");
}

static bool goes_well(struct job *job)
{
    if (crowd_run(RANKS, NULL, first, job, NULL) != 0 || !is_same(job))
        return false;
    job->lab.leaders_fs = NULL;
    return crowd_run(RANKS, NULL, second, job, NULL) == 0 && job->found[0] == 3;
}

static void sweep(int culprit)
{
    static struct job job;
    int failed = 0, made = 0;
    bool fine;
    /* the one half of them on one rank, the other on another */
    uint64_t n = (uint64_t)culprit + 1;

    do {
        begin(&job, culprit);
        job.plan = (struct vel_fs_fault_plan){
            .mode = VEL_FS_FAULT_ONCE, .errnum = 28 /* ENOSPC */, .at = ++n};
        fine = goes_well(&job);
        failed += job.result[0] < 0;
        made += job.result[0] == 0;
        n += 2;
        if (!fine)
            note("operation %d of rank %d: status %d and %d, then version %d: %s",
                 (int)n, culprit, job.result[0], job.result[1], (int)job.before[0],
                 job.why);
    } while (fine && job.fired);
    ok(fine && failed > 10 && made > 0,
       "every other operation of rank %d fails: %d times all have failed, %d times "
       "none has",
       culprit, failed, made);
}

/* The index lies on the prefix: a checkpoint does not depend on it. */
static void without_index(void)
{
    static struct job job;
    char dir[600];

    begin(&job, 0);
    job.has_leaders = true;
    snprintf(dir, sizeof dir, "%s/.veloc", job.lab.prefix);
    job.plan = (struct vel_fs_fault_plan){.mode = VEL_FS_FAULT_LASTING,
                                          .kinds = VEL_FS_KIND_LINK, /* new terms */
                                          .errnum = 28,
                                          .at = 1,
                                          .below = dir};
    ok(goes_well(&job) && job.fired && job.result[0] == 0,
       "a checkpoint is complete in the caches when the index cannot be written");
    ok(seslab_id(&job.lab, 2) == 0 && seslab_id(&job.lab, 3) > 0,
       "and only the index knows nothing of it");
}

/* The event of a dataset, as it stands in the history; "" when there is none. */
static const char *event_of(const struct job *job, int id)
{
    static char found[2000];
    char path[SESLAB_TEXT + 20], wanted[40], *text, *rest;

    snprintf(path, sizeof path, "%s/.veloc/events", job->lab.prefix);
    snprintf(wanted, sizeof wanted, "\"id\":%d,", id);
    text = tap_get_file(path, NULL);
    found[0] = '\0';
    for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line;
         line = strtok_r(NULL, "\n", &rest))
        if (strstr(line, "\"checkpoint\"") && strstr(line, wanted))
            snprintf(found, sizeof found, "%s", line);
    free(text);
    return found;
}

static double seconds_of(const char *event)
{
    const char *at = strstr(event, "\"seconds\":");

    return at ? strtod(at + strlen("\"seconds\":"), NULL) : -1;
}

/* What each has cost, and what came of it. */
static void events(void)
{
    static struct job job;
    uint64_t begun = vel_clock_monotonic(vel_clock_system());
    double most;

    for (uint64_t n = 1; n == 1 || (job.fired && job.result[0] == 0); n++) {
        begin(&job, 0);
        job.plan = (struct vel_fs_fault_plan){
            .mode = VEL_FS_FAULT_ONCE, .errnum = 28, .at = n, .below = job.lab.cache};
        if (!goes_well(&job))
            bail_out("operation %d", (int)n);
    }
    ok(job.result[0] < 0, "the second version fails");
    most =
        (double)(vel_clock_monotonic(vel_clock_system()) - begun) / (double)VEL_CLOCK_S;
    ok(strstr(event_of(&job, 1), "\"ok\":true") && seconds_of(event_of(&job, 1)) > 0 &&
           seconds_of(event_of(&job, 1)) < most,
       "the event of the first has what it took");
    ok(strstr(event_of(&job, 2), "\"ok\":false") && job.why[0] &&
           strstr(event_of(&job, 2), "\"text\":\""),
       "that of the second that it failed, and why");
    note("%s", event_of(&job, 2));
}

int main(void)
{
    without_index();
    events();
    sweep(0);
    sweep(1);
    return done_testing();
}
