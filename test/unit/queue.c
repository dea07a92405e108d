/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/queue.h"
#include "tap/tap.h"

static struct vel_queue *queue;

static void begin(unsigned nthreads, size_t most)
{
    struct vel_err err = {0};

    if (vel_queue_create(nthreads, most, &queue, &err) < 0)
        bail_out("%s", err.text);
}

static struct vel_job *submit(vel_job_f *run, void *arg)
{
    struct vel_job *job = NULL;

    if (vel_queue_submit(queue, run, arg, &job, NULL) < 0)
        bail_out("cannot submit a job");
    return job;
}

/* a gate that jobs stand at until it is opened, and that sees them come */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    bool is_open;
    int arrived;
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER};

static int stand_at_gate(void *arg, struct vel_err *err)
{
    (void)arg, (void)err;
    pthread_mutex_lock(&gate.lock);
    gate.arrived++;
    pthread_cond_broadcast(&gate.moved);
    while (!gate.is_open)
        pthread_cond_wait(&gate.moved, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
    return 0;
}

static void wait_for_arrival(int n)
{
    pthread_mutex_lock(&gate.lock);
    while (gate.arrived < n)
        pthread_cond_wait(&gate.moved, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
}

static void set_gate(bool is_open)
{
    pthread_mutex_lock(&gate.lock);
    gate.is_open = is_open;
    gate.arrived = 0;
    pthread_cond_broadcast(&gate.moved);
    pthread_mutex_unlock(&gate.lock);
}

static int add(void *arg, struct vel_err *err)
{
    (void)err;
    atomic_fetch_add((atomic_int *)arg, 1);
    return 0;
}

static int fail(void *arg, struct vel_err *err)
{
    return vel_fail(err, VEL_ENOSPC, "%s is full", (const char *)arg);
}

static void results(void)
{
    atomic_int sum = 0;
    char disk[] = "the disk";
    struct vel_err err = {0};

    begin(2, 4);
    struct vel_job *good = submit(add, &sum), *bad = submit(fail, disk);
    is_int(vel_job_wait(bad, &err), VEL_ENOSPC, "a job's result goes to who waits");
    is_str(err.text, "the disk is full", "with its sentence");
    is_int(vel_job_wait(good, &err), 0, "so does success");
    is_int(sum, 1, "and the job was done");
    bad = submit(fail, disk);
    is_int(vel_job_wait(bad, NULL), VEL_ENOSPC, "nobody needs to hear the sentence");
    for (int i = 0; i < 100; i++)
        vel_queue_submit(queue, add, &sum, NULL, NULL);
    is_int(vel_queue_drain(queue, &err), 0, "all jobs are waited for");
    is_int(sum, 101, "and were done");
    vel_queue_submit(queue, fail, disk, NULL, NULL);
    is_int(vel_queue_drain(queue, &err), VEL_ENOSPC,
           "a failure that nobody waits for is told at the end");
    is_str(err.text, "the disk is full", "with its sentence");
    is_int(vel_queue_drain(queue, &err), 0, "once");
    submit(add, &sum);
    vel_queue_destroy(queue);
    vel_queue_destroy(NULL);
}

static struct {
    int n, order[50];
} log_of_jobs;

static int note_order(void *arg, struct vel_err *err)
{
    (void)err;
    log_of_jobs.order[log_of_jobs.n++] = (int)(intptr_t)arg;
    return 0;
}

static void order(void)
{
    bool is_sorted = true;

    begin(1, 3);
    for (int i = 0; i < 50; i++)
        vel_queue_submit(queue, note_order, (void *)(intptr_t)i, NULL, NULL);
    vel_queue_drain(queue, NULL);
    for (int i = 0; i < 50; i++)
        is_sorted &= log_of_jobs.order[i] == i;
    ok(is_sorted && log_of_jobs.n == 50, "jobs begin in the order of their submission");
    vel_queue_destroy(queue);
}

enum { MANY = 200, MOST = 3 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    int submitted, begun, widest;
} flow = {.lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER};

/* holds its thread until the queue behind it is full */
static int hold_up(void *arg, struct vel_err *err)
{
    (void)arg, (void)err;
    pthread_mutex_lock(&flow.lock);
    flow.begun++;
    while (flow.submitted < MANY && flow.submitted < flow.begun + MOST)
        pthread_cond_wait(&flow.moved, &flow.lock);
    pthread_mutex_unlock(&flow.lock);
    return 0;
}

static void back_pressure(void)
{
    begin(1, MOST);
    for (int i = 0; i < MANY; i++) {
        vel_queue_submit(queue, hold_up, NULL, NULL, NULL);
        pthread_mutex_lock(&flow.lock);
        flow.submitted++;
        if (flow.submitted - flow.begun > flow.widest)
            flow.widest = flow.submitted - flow.begun;
        pthread_cond_broadcast(&flow.moved);
        pthread_mutex_unlock(&flow.lock);
    }
    is_int(vel_queue_drain(queue, NULL), 0, "more jobs than fit are all done");
    /* one has left the queue and not yet said that it has begun */
    ok(flow.widest <= MOST + 1, "who submits waits for room: %d waited", flow.widest);
    vel_queue_destroy(queue);
}

static void cancelling(void)
{
    atomic_int sum = 0;
    struct vel_job *jobs[3];
    struct vel_err err = {0};

    begin(1, 8);
    set_gate(false);
    struct vel_job *running = submit(stand_at_gate, NULL);
    wait_for_arrival(1);
    for (int i = 0; i < 3; i++)
        jobs[i] = submit(add, &sum);
    vel_queue_submit(queue, add, &sum, NULL, NULL);
    is_int((long long)vel_queue_cancel(queue), 4, "what has not begun is cancelled");
    for (int i = 0; i < 3; i++)
        is_int(vel_job_wait(jobs[i], &err), VEL_ECANCEL, "who waits is told");
    set_gate(true);
    is_int(vel_job_wait(running, &err), 0, "what has begun ends by itself");
    is_int(vel_queue_drain(queue, &err), 0, "a cancelled job is no failure");
    is_int(sum, 0, "and was not done");
    set_gate(false);
    submit(stand_at_gate, NULL);
    wait_for_arrival(1);
    submit(add, &sum);
    set_gate(true);
    vel_queue_destroy(queue);
    ok(sum <= 1, "a queue is destroyed with jobs in it");
}

static int do_part(void *arg, struct vel_err *err)
{
    return add(arg, err);
}

/* more parts than the queue has room for, on its only thread */
static int do_in_parts(void *arg, struct vel_err *err)
{
    struct vel_job *parts[5];
    int rc = 0;

    for (int i = 0; i < 5; i++)
        if (vel_queue_submit(queue, do_part, arg, &parts[i], err) < 0)
            return VEL_EIO;
    for (int i = 4; i >= 0; i--)
        rc |= vel_job_wait(parts[i], err);
    if (vel_queue_drain(queue, err) != VEL_ESTATE)
        return VEL_EIO;
    return rc;
}

static void jobs_of_jobs(void)
{
    atomic_int sum = 0;
    struct vel_err err = {0};

    begin(1, 1);
    is_int(vel_job_wait(submit(do_in_parts, &sum), &err), 0,
           "a job submits others and waits for them, even on the only thread");
    is_int(sum, 5, "and they are done");
    vel_queue_destroy(queue);
}

static int tell_mask(void *arg, struct vel_err *err)
{
    (void)err;
    pthread_sigmask(SIG_BLOCK, NULL, arg);
    return 0;
}

static void signals(void)
{
    sigset_t mask, mine;

    sigemptyset(&mask);
    begin(1, 1);
    vel_job_wait(submit(tell_mask, &mask), NULL);
    ok(sigismember(&mask, SIGTERM) && sigismember(&mask, SIGUSR1),
       "workers leave signals to the program");
    pthread_sigmask(SIG_BLOCK, NULL, &mine);
    ok(!sigismember(&mine, SIGTERM), "whose own mask stays as it was");
    vel_queue_destroy(queue);
}

static int in_child(struct vel_job *job)
{
    struct vel_err err = {0};
    int bad = 0;

    bad |= vel_queue_submit(queue, add, NULL, NULL, &err) != VEL_ESTATE;
    bad |= vel_queue_drain(queue, &err) != VEL_ESTATE;
    bad |= vel_job_wait(job, &err) != VEL_ESTATE;
    bad |= vel_queue_cancel(queue) != 0;
    vel_queue_destroy(queue);
    return bad;
}

static void forks(void)
{
    int status = -1;

    begin(1, 2);
    set_gate(false);
    struct vel_job *job = submit(stand_at_gate, NULL);
    wait_for_arrival(1);
    pid_t pid = fork();
    if (pid < 0)
        bail_out("cannot fork");
    if (pid == 0)
        _exit(in_child(job));
    waitpid(pid, &status, 0);
    is_int(status, 0, "a forked child is refused, and does not hang");
    set_gate(true);
    is_int(vel_job_wait(job, NULL), 0, "its parent goes on");
    vel_queue_destroy(queue);
}

int main(void)
{
    results();
    order();
    back_pressure();
    cancelling();
    jobs_of_jobs();
    signals();
    forks();
    return done_testing();
}
