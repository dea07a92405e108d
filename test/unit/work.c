/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jobs/work.h"
#include "tap/tap.h"

/* What jobs and the test tell each other. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    char done[64]; /* names of jobs, in the order in which they ran */
    int arrived, open, woken;
} lab = {.lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER};

static struct vel_work *work;

static void wake(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&lab.lock);
    lab.woken++;
    pthread_cond_broadcast(&lab.moved);
    pthread_mutex_unlock(&lab.lock);
}

static void add(int *what, int n)
{
    pthread_mutex_lock(&lab.lock);
    *what += n;
    pthread_cond_broadcast(&lab.moved);
    pthread_mutex_unlock(&lab.lock);
}

static void wait_until(const int *what, int n)
{
    pthread_mutex_lock(&lab.lock);
    while (*what < n)
        pthread_cond_wait(&lab.moved, &lab.lock);
    pthread_mutex_unlock(&lab.lock);
}

static void begin(unsigned workers)
{
    struct vel_err err = {0};

    lab.done[0] = '\0';
    lab.arrived = lab.open = lab.woken = 0;
    if (vel_work_create(workers, vel_clock_system(), wake, NULL, &work, &err) < 0)
        bail_out("%s", err.text);
}

static int note_name(void *arg, const struct vel_work_job *job, struct vel_err *err)
{
    (void)job;
    pthread_mutex_lock(&lab.lock);
    strncat(lab.done, arg, 1);
    pthread_mutex_unlock(&lab.lock);
    return *(char *)arg == '!' ? vel_fail(err, VEL_EIO, "on purpose") : 0;
}

static int stand(void *arg, const struct vel_work_job *job, struct vel_err *err)
{
    add(&lab.arrived, 1);
    wait_until(&lab.open, 1);
    return note_name(arg, job, err);
}

/* Copies until it is told to stop, and lets others go first. */
static int copy(void *arg, const struct vel_work_job *job, struct vel_err *err)
{
    bool goes_on = true;

    add(&lab.arrived, 1);
    while (goes_on) {
        goes_on = vel_watch_step(job->watch, 10);
        pthread_mutex_lock(&lab.lock);
        if (lab.open > 1)
            break;
        pthread_mutex_unlock(&lab.lock);
    }
    if (goes_on)
        pthread_mutex_unlock(&lab.lock);
    note_name(arg, job, err);
    return goes_on ? 0 : vel_fail(err, VEL_ECANCEL, "cancelled");
}

/* Has what others need, and then no more. */
static int hold(void *arg, const struct vel_work_job *job, struct vel_err *err)
{
    add(&lab.arrived, 1);
    wait_until(&lab.open, 1);
    vel_watch_step(job->alone, 10);
    note_name(arg, job, err);
    vel_watch_step(job->watch, 10);
    return note_name(arg, job, err);
}

static uint64_t submit(enum vel_urgency urgency, int64_t dataset, int64_t set,
                       vel_work_f *run, const char *name)
{
    const struct vel_work_plan plan = {
        .order = {.urgency = urgency, .dataset = dataset, .set = set}};
    struct vel_err err = {0};
    uint64_t number = 0;

    if (vel_work_submit(work, &plan, run, (void *)name, &number, &err) < 0)
        bail_out("%s", err.text);
    return number;
}

static uint64_t submit_prefix(enum vel_urgency urgency, vel_work_f *run,
                              const char *name)
{
    const struct vel_work_plan plan = {.order = {.urgency = urgency, .dataset = 1},
                                       .uses_prefix = true};
    struct vel_err err = {0};
    uint64_t number = 0;

    if (vel_work_submit(work, &plan, run, (void *)name, &number, &err) < 0)
        bail_out("%s", err.text);
    return number;
}

/* n results; the sum of what they returned. */
static int take(int n)
{
    struct vel_work_result result;
    int sum = 0;

    while (n > 0)
        if (vel_work_take(work, &result)) {
            sum += result.rc;
            n--;
        } else {
            wait_until(&lab.woken, 1);
            add(&lab.woken, -1);
        }
    return sum;
}

static void order(void)
{
    begin(1);
    submit(VEL_URGENT_COPY, 1, 0, stand, "0");
    wait_until(&lab.arrived, 1);
    submit(VEL_URGENT_COPY, 1, 0, note_name, "9");
    submit(VEL_URGENT_ENCODE, 5, 1, note_name, "7");
    submit(VEL_URGENT_NAME, 1, 0, note_name, "8");
    submit(VEL_URGENT_ENCODE, 5, 0, note_name, "6");
    submit(VEL_URGENT_ENCODE, 4, 9, note_name, "4");
    submit(VEL_URGENT_ENCODE, 4, 9, note_name, "5");
    submit(VEL_URGENT_LOOK, 9, 0, note_name, "3");
    submit(VEL_URGENT_PULL, 9, 0, note_name, "2");
    add(&lab.open, 1);
    is_int(take(9), 0, "all are done");
    is_str(lab.done, "023456789",
           "the urgent first, then the older, then as they came");
    vel_work_destroy(work);
}

static void giving_way(void)
{
    uint64_t slow;

    begin(1);
    slow = submit(VEL_URGENT_COPY, 1, 0, copy, "c");
    wait_until(&lab.arrived, 1);
    submit(VEL_URGENT_COPY, 2, 0, note_name, "d");
    submit(VEL_URGENT_ENCODE, 3, 0, note_name, "e");
    submit(VEL_URGENT_PULL, 3, 0, note_name, "p");
    is_int(take(2), 0, "while a copy runs, what is more urgent is done");
    ok(strcmp(lab.done, "pe") == 0 || strcmp(lab.done, "ep") == 0,
       "on the only worker");
    ok(vel_work_moved(work, slow) >= 10, "and what has moved is told");
    add(&lab.open, 2);
    is_int(take(2), 0, "then it goes on");
    is_str(lab.done + 2, "cd", "and another copy after it");
    vel_work_destroy(work);
}

static void standing_alone(void)
{
    begin(1);
    submit(VEL_URGENT_COPY, 1, 0, hold, "h");
    wait_until(&lab.arrived, 1);
    submit(VEL_URGENT_PULL, 1, 0, note_name, "p");
    add(&lab.open, 1);
    is_int(take(2), 0, "a job that has what a more urgent one needs");
    is_str(lab.done, "hph", "lets that go first when it has it no more");
    vel_work_destroy(work);
}

/* At a meeting: when it is told that it may go on all jobs before it were done. */
static int meet(void *arg, const struct vel_work_job *job, struct vel_err *err)
{
    add(&lab.arrived, 1);
    wait_until(&lab.open, 1);
    while (vel_work_let_earlier(job))
        ;
    return note_name(arg, job, err);
}

static void meeting(void)
{
    begin(1);
    submit(VEL_URGENT_ENCODE, 3, 0, meet, "m");
    wait_until(&lab.arrived, 1);
    submit(VEL_URGENT_ENCODE, 3, 1, note_name, "n");
    submit(VEL_URGENT_ENCODE, 2, 7, note_name, "b");
    submit(VEL_URGENT_ENCODE, 1, 0, meet, "a");
    submit_prefix(VEL_URGENT_PULL, note_name, "p");
    add(&lab.open, 1);
    is_int(take(5), 0, "a job that waits for others does the earlier ones meanwhile");
    is_str(lab.done, "abmpn", "but none that may hang on the prefix");
    vel_work_destroy(work);
}

static void cancelling(void)
{
    struct vel_work_result result;
    uint64_t runs, waits;

    begin(1);
    runs = submit(VEL_URGENT_COPY, 1, 0, copy, "c");
    wait_until(&lab.arrived, 1);
    waits = submit(VEL_URGENT_COPY, 2, 0, note_name, "d");
    vel_work_cancel(work, waits);
    ok(vel_work_take(work, &result) && result.number == waits &&
           result.rc == VEL_ECANCEL && result.err.text[0],
       "a job that has not begun is cancelled at once");
    vel_work_cancel(work, runs);
    is_int(take(1), VEL_ECANCEL, "one that runs is, by its watch");
    is_str(lab.done, "c", "and the other never ran");
    vel_work_cancel(work, runs);
    ok(!vel_work_take(work, &result), "what is over cannot be cancelled");
    submit(VEL_URGENT_COPY, 3, 0, note_name, "!");
    is_int(take(1), VEL_EIO, "a failure is told");
    submit(VEL_URGENT_COPY, 1, 0, copy, "c");
    submit(VEL_URGENT_COPY, 2, 0, note_name, "d");
    wait_until(&lab.arrived, 2);
    vel_work_destroy(work);
    ok(strchr(lab.done, 'd') == NULL, "who ends cancels what waits and what runs");
}

/* As the loop does, until so many have arrived. */
static void relieve_until(int n)
{
    bool is_there = false;

    while (!is_there) {
        vel_work_relieve(work, 1);
        usleep(1000);
        pthread_mutex_lock(&lab.lock);
        is_there = lab.arrived >= n;
        pthread_mutex_unlock(&lab.lock);
    }
}

static int alone, at_once;

static int count_those(void *arg, const struct vel_work_job *job, struct vel_err *err)
{
    (void)job, (void)err, (void)arg;
    pthread_mutex_lock(&lab.lock);
    at_once += ++alone > 1;
    pthread_mutex_unlock(&lab.lock);
    usleep(1000);
    pthread_mutex_lock(&lab.lock);
    alone--;
    pthread_mutex_unlock(&lab.lock);
    return 0;
}

static int arrive(void *arg, const struct vel_work_job *job, struct vel_err *err)
{
    (void)job, (void)err, (void)arg;
    add(&lab.arrived, 1);
    return 0;
}

static void hanging(void)
{
    begin(1);
    for (int i = 0; i < VEL_WORK_SPARE + 1; i++)
        submit_prefix(VEL_URGENT_COPY, stand, "h");
    relieve_until(VEL_WORK_SPARE);
    ok(!vel_work_relieve(work, 1), "when all that may use the prefix hang it is told");
    submit(VEL_URGENT_ENCODE, 2, 0, arrive, "e");
    relieve_until(VEL_WORK_SPARE + 1);
    is_int(take(1), 0,
           "when workers hang on the prefix, others take their place, at last for what "
           "does not need it");
    add(&lab.open, 1);
    is_int(take(VEL_WORK_SPARE + 1), 0, "those that come back go on");
    ok(vel_work_relieve(work, 3600 * VEL_CLOCK_S), "none of these hangs");
    for (int i = 0; i < 20; i++)
        submit_prefix(VEL_URGENT_COPY, count_those, "c");
    is_int(take(20), 0, "with more threads than workers");
    is_int(at_once, 0, "no more jobs run at once than before");
    vel_work_destroy(work);
}

/* Not on the prefix: nobody takes their place, for what hangs there hangs everybody. */
static void stuck(void)
{
    begin(2);
    submit(VEL_URGENT_ENCODE, 1, 0, stand, "a");
    submit(VEL_URGENT_ENCODE, 2, 0, stand, "b");
    wait_until(&lab.arrived, 2);
    usleep(1000);
    ok(vel_work_relieve(work, 1), "workers that all stand still are well while nothing "
                                  "waits for one");
    submit(VEL_URGENT_ENCODE, 3, 0, arrive, "c");
    ok(vel_work_relieve(work, 3600 * VEL_CLOCK_S),
       "and for a while when something does");
    ok(!vel_work_relieve(work, 1), "but then it is told");
    add(&lab.open, 1);
    is_int(take(3), 0, "when they move again");
    ok(vel_work_relieve(work, 1), "all is well");
    vel_work_destroy(work);
}

static int take_bytes(void *arg, const struct vel_work_job *job, struct vel_err *err)
{
    (void)arg;
    return vel_throttle_take(job->throttle, UINT64_C(1) << 40, job->watch, err);
}

static void rates(void)
{
    const struct vel_work_plan plan = {.order = {.urgency = VEL_URGENT_COPY},
                                       .rate = 1};
    struct vel_err err = {0};
    uint64_t number;

    begin(1);
    vel_work_submit(work, &plan, take_bytes, NULL, &number, &err);
    vel_work_set_rate(work, number, UINT64_C(1) << 50);
    is_int(take(1), 0, "a rate that is raised frees those who wait");
    vel_work_destroy(work);
}

static int tell_nice(void *arg, const struct vel_work_job *job, struct vel_err *err)
{
    (void)job, (void)err;
    *(int *)arg = getpriority(PRIO_PROCESS, 0);
    return 0;
}

static void low(void)
{
    const struct vel_work_plan plan = {.order = {.urgency = VEL_URGENT_COPY}};
    struct vel_err err = {0};
    int nice = -1, mine = getpriority(PRIO_PROCESS, 0);
    uint64_t number;

    begin(1);
    vel_work_submit(work, &plan, tell_nice, &nice, &number, &err);
    take(1);
    ok(nice >= VEL_WORK_NICE && getpriority(PRIO_PROCESS, 0) == mine,
       "workers go after others, and only they");
    vel_work_destroy(work);
}

static void forked(void)
{
    const struct vel_work_plan plan = {.order = {.urgency = VEL_URGENT_COPY}};
    int status = -1;
    pid_t pid;

    begin(1);
    pid = fork();
    if (pid == 0) {
        struct vel_work_result result;
        uint64_t number;
        bool is_fine = vel_work_submit(work, &plan, tell_nice, NULL, &number, NULL) ==
                           VEL_ESTATE &&
                       !vel_work_take(work, &result);

        vel_work_destroy(work);
        _exit(!is_fine);
    }
    ok(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0,
       "a forked child is refused");
    vel_work_destroy(work);
}

int main(void)
{
    order();
    giving_way();
    standing_alone();
    meeting();
    cancelling();
    hanging();
    stuck();
    rates();
    low();
    forked();
    return done_testing();
}
