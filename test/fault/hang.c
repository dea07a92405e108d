/* SPDX-License-Identifier: BSD-3-Clause */
/* The file system of the prefix hangs for one rank of a job, in earnest: the operation
 * never comes back. The job goes on without what it can do without. Else a warning
 * names the path; the job ends when the operator ends it, since nobody else can; and
 * the next one restores from the caches what was complete, and flushes it.
 */
#include "config.h"

#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "comm/comm.h"
#include "process/attend.h"
#include "tap/seslab.h"
#include "tap/sockjob.h"
#include "tap/tap.h"

enum { RANKS = 3, LINE = 1024 };

struct job {
    struct seslab lab;
    int victim;         /* below 0: nobody */
    char below[600];    /* where it hangs */
    uint64_t operation; /* on the prefix, while checkpoint 2 is completed */
    struct told {
        char warning[LINE];
        int64_t found, reported;
        char why[VEL_ERR_TEXT];
    } * told; /* in memory that all ranks share */
};

struct member {
    const struct job *job;
    int rank;
    int heard; /* where the log of this process can be read */
};

static bool hear_line(int from, char line[LINE])
{
    size_t len = 0;

    while (len + 1 < LINE && read(from, line + len, 1) == 1 && line[len] != '\n')
        len++;
    line[len] = '\0';
    return len > 0;
}

/* The operator waits for the warning, and ends the job. The leader beside may have
 * something to tell, too. */
static void hang(void *arg)
{
    static atomic_flag is_heard = ATOMIC_FLAG_INIT;
    struct member *m = arg;
    struct told *told = m->job->told;

    while (atomic_flag_test_and_set(&is_heard)) /* another thread's operation hangs */
        pause();
    while (hear_line(m->heard, told->warning) &&
           !strstr(told->warning, "has not come back"))
        ;
    for (int rank = 0; rank < RANKS; rank++)
        if (rank != m->rank)
            kill(sockjob_pid(rank), SIGKILL);
    raise(SIGKILL);
}

static int work(struct member *m, struct vel_comm *comm, struct vel_fs_fault *fault,
                struct vel_err *err)
{
    const struct job *job = m->job;
    struct vel_session *session = NULL;
    struct vel_fs_fault_plan plan = {.mode = VEL_FS_FAULT_CRASH,
                                     .at = job->operation,
                                     .below = job->below,
                                     .crash = hang,
                                     .arg = m};
    int64_t newest = 0;
    int rc = seslab_open_with(&job->lab, comm, vel_fs_fault_fs(fault), vel_attend(),
                              &session, err);

    if (rc == 0)
        rc = seslab_newest(session, &newest, err);
    if (rc == 0 && newest > 0)
        rc = seslab_restart(&job->lab, session, newest, err);
    job->told->found = newest;
    if (rc == 0)
        rc = seslab_checkpoint(&job->lab, session, newest + 1, err);
    job->told->reported = newest + 1;
    if (rc == 0)
        rc = seslab_begin(&job->lab, session, newest + 2, err);
    if (rc == 0 && m->rank == job->victim)
        vel_fs_fault_arm(fault, &plan);
    if (rc == 0)
        rc = seslab_write(&job->lab, session, newest + 2, err);
    if (rc == 0)
        job->told->reported = newest + 2;
    return rc == 0 ? vel_session_close(session, "the end", err) : rc;
}

static int member(struct vel_comm *comm, void *arg)
{
    struct member m = {.job = arg, .rank = comm->rank};
    struct vel_fs_fault *fault;
    struct vel_err err = {0};
    int ends[2], rc;

    if (pipe(ends) < 0 || dup2(ends[1], STDERR_FILENO) < 0 ||
        vel_fs_fault_create(vel_fs_posix(), NULL, &fault, NULL) < 0)
        return 1;
    m.heard = ends[0];
    rc = work(&m, comm, fault, &err);
    /* the twin stays: a leader that goes on works with it until the process ends */
    if (rc < 0)
        snprintf(m.job->told->why, VEL_ERR_TEXT, "%s", err.text);
    while (rc < 0 && comm->rank == m.job->victim)
        pause(); /* the operator is about to hear of it */
    return rc < 0;
}

static void begin(struct job *job, int victim, uint64_t operation)
{
    memset(job->told, 0, sizeof *job->told);
    seslab_init(&job->lab, operation);
    seslab_set(&job->lab, "COPY_TYPE", "XOR");
    seslab_set(&job->lab, "SET_SIZE", "3");
    seslab_set(&job->lab, "VIRTUAL_NODES", "3");
    seslab_set(&job->lab, "FLUSH", "2");
    seslab_set(&job->lab, "FLUSH_STALL", "1");
    seslab_set(&job->lab, "PEER_TIMEOUT", "2");
    snprintf(job->below, sizeof job->below, "%s", job->lab.prefix);
    job->victim = victim;
    job->operation = operation;
}

static void restart(struct job *job)
{
    struct told *told = job->told;
    int64_t reported = told->reported;

    job->victim = -1;
    is_int(sockjob_run(RANKS, "unix", member, job), 0, "the next one goes well %s",
           told->why);
    ok(told->found >= reported && told->found <= 2,
       "from version %" PRId64 ", when %" PRId64 " was reported", told->found,
       reported);
    ok(seslab_is_flushed(&job->lab, told->reported), "and is flushed");
}

static void hangs_at(struct job *job, int victim, uint64_t operation)
{
    struct told *told = job->told;

    begin(job, victim, operation);
    is_int(sockjob_run(RANKS, "unix", member, job), RANKS,
           "operation %" PRIu64 " of rank %d on the prefix hangs, and the job is ended",
           operation, victim);
    ok(strstr(told->warning, "has not come back") &&
           strstr(told->warning, job->lab.prefix),
       "not before it was told where: %s", told->warning);
    restart(job);
}

/* Is there a wish that it halts? Its leader looks for other things. */
static void goes_on(struct job *job)
{
    begin(job, 0, 1);
    snprintf(job->below, sizeof job->below, "%s/.veloc/halt", job->lab.prefix);
    is_int(sockjob_run(RANKS, "unix", member, job), 0,
           "what rank 0 looks for on the prefix hangs, and the job goes on to its end");
    restart(job);
}

int main(void)
{
    static struct job job;

    job.told = mmap(NULL, sizeof *job.told, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (job.told == MAP_FAILED)
        bail_out("no shared memory");
    goes_on(&job);
    hangs_at(&job, 1, 7);  /* the copies */
    hangs_at(&job, 2, 60); /* the names */
    return done_testing();
}
