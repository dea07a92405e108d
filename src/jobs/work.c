/* SPDX-License-Identifier: BSD-3-Clause */
/* work - see the header.
 *
 * The threads are those of sys/queue: for each job one errand is given to it, which
 * does whatever job is the first in the order when its turn comes. A copy that lets a
 * more urgent job go first does that job on its own stack, from its watch; that job
 * never does the same for one that is not more urgent still, so that it ends.
 *
 * A worker that hangs is not counted: another thread takes its place, and when it comes
 * back there are more of them than may work at a time, which the errands see to.
 */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>

#include "jobs/work.h"
#include "sys/queue.h"

enum job_state { WAITING, RUNNING, OVER };

struct job {
    uint64_t number;
    struct vel_work_order order;
    vel_work_f *run;
    void *arg;
    struct vel_throttle throttle;
    struct vel_watch watch, alone;
    struct vel_work *work;
    struct job *next; /* by order; when it is over, by time */
    /* guarded by the work's lock */
    enum job_state state;
    bool is_cancelled, uses_prefix;
    bool is_aside;    /* it runs, but lets another go first */
    uint64_t seen_at; /* that it has begun, or its last step */
    uint64_t moved;   /* bytes since it was asked */
    int rc;
    struct vel_err err;
};

struct vel_work {
    struct vel_queue *queue;
    struct vel_clock *clock;
    void (*wake)(void *arg);
    void *arg;
    unsigned workers;

    pthread_mutex_t lock; /* guards what follows */
    unsigned spare;       /* threads beyond `workers` */
    uint64_t patience;    /* with who makes no step; 0: any */
    struct job *jobs;     /* that wait or run, by order */
    struct job *over, **over_end;
    uint64_t last;    /* number given */
    bool is_told;     /* woken, and not asked since */
    uint64_t told_at; /* of bytes */
};

static const uint64_t tell_every = 250 * VEL_CLOCK_MS;

static int compare(const struct vel_work_order *a, const struct vel_work_order *b)
{
    if (a->urgency != b->urgency)
        return a->urgency < b->urgency ? -1 : 1;
    if (a->dataset != b->dataset)
        return a->dataset < b->dataset ? -1 : 1;
    return (a->set > b->set) - (a->set < b->set);
}

static void job_destroy(struct job *job)
{
    vel_throttle_fini(&job->throttle);
    free(job);
}

/* --- order; locked --- */

static void insert(struct vel_work *work, struct job *job)
{
    struct job **at = &work->jobs;

    while (*at && compare(&(*at)->order, &job->order) <= 0)
        at = &(*at)->next;
    job->next = *at;
    *at = job;
}

static void take_out(struct vel_work *work, struct job *job)
{
    struct job **at = &work->jobs;

    while (*at != job)
        at = &(*at)->next;
    *at = job->next;
}

struct busy {
    unsigned well, hung; /* workers */
};

static bool is_hung(const struct vel_work *work, const struct job *job)
{
    return work->patience > 0 && job->uses_prefix &&
           vel_clock_monotonic(work->clock) - job->seen_at >= work->patience;
}

static struct busy count_busy(const struct vel_work *work)
{
    struct busy busy = {0, 0};

    for (const struct job *job = work->jobs; job; job = job->next) {
        if (job->state != RUNNING || job->is_aside)
            continue;
        if (is_hung(work, job))
            busy.hung++;
        else
            busy.well++;
    }
    return busy;
}

/* The first that waits; more urgent than that, if there is one. Else that may begin. */
static struct job *find_first(struct vel_work *work, const struct job *than)
{
    const struct busy busy = than ? (struct busy){0, 0} : count_busy(work);
    struct job *job = work->jobs;

    while (job &&
           (job->state != WAITING || (busy.hung >= VEL_WORK_SPARE && job->uses_prefix)))
        job = job->next;
    if (!job)
        return NULL;
    if (than)
        return job->order.urgency < than->order.urgency ? job : NULL;
    return busy.well < work->workers ? job : NULL;
}

/* The first that waits before that one, and cannot hang on the prefix. */
static struct job *find_earlier(struct vel_work *work, const struct job *than)
{
    for (struct job *job = work->jobs; job; job = job->next) {
        if (compare(&job->order, &than->order) >= 0)
            return NULL;
        if (job->state == WAITING && !job->uses_prefix)
            return job;
    }
    return NULL;
}

static struct job *find(struct vel_work *work, uint64_t number)
{
    for (struct job *job = work->jobs; job; job = job->next)
        if (job->number == number)
            return job;
    return NULL;
}

static void finish(struct vel_work *work, struct job *job)
{
    take_out(work, job);
    job->state = OVER;
    job->next = NULL;
    *work->over_end = job;
    work->over_end = &job->next;
}

static void tell(struct vel_work *work)
{
    bool is_first;

    pthread_mutex_lock(&work->lock);
    is_first = !work->is_told;
    work->is_told = true;
    pthread_mutex_unlock(&work->lock);
    if (is_first)
        work->wake(work->arg);
}

/* --- a job --- */

static void run_job(struct job *job)
{
    struct vel_work *work = job->work;
    const struct vel_work_job with = {
        .watch = &job->watch, .alone = &job->alone, .throttle = &job->throttle};
    struct vel_err err = {0};
    int rc = job->run(job->arg, &with, &err);

    pthread_mutex_lock(&work->lock);
    job->rc = rc;
    job->err = err;
    finish(work, job);
    pthread_mutex_unlock(&work->lock);
    tell(work);
}

/* Do the first that waits; false: there is none. */
static bool run_first(struct vel_work *work, struct job *than)
{
    struct job *job;

    pthread_mutex_lock(&work->lock);
    job = find_first(work, than);
    if (job) {
        job->state = RUNNING;
        job->seen_at = vel_clock_monotonic(work->clock);
    }
    if (job && than)
        than->is_aside = true;
    pthread_mutex_unlock(&work->lock);
    if (job)
        run_job(job);
    return job != NULL;
}

static bool alone_step(void *arg, uint64_t bytes)
{
    struct job *job = arg;
    struct vel_work *work = job->work;
    uint64_t now = vel_clock_monotonic(work->clock);
    bool tells = false, goes_on;

    pthread_mutex_lock(&work->lock);
    job->seen_at = now;
    job->moved += bytes;
    if (bytes && now - work->told_at >= tell_every) {
        work->told_at = now;
        tells = true;
    }
    goes_on = !job->is_cancelled;
    pthread_mutex_unlock(&work->lock);
    if (tells)
        tell(work);
    return goes_on;
}

static bool watch_step(void *arg, uint64_t bytes)
{
    struct job *job = arg;
    struct vel_work *work = job->work;
    bool goes_on = alone_step(arg, bytes);

    while (goes_on && job->order.urgency > VEL_URGENT_PULL && run_first(work, job)) {
        pthread_mutex_lock(&work->lock);
        job->is_aside = false;
        job->seen_at = vel_clock_monotonic(work->clock);
        goes_on = !job->is_cancelled;
        pthread_mutex_unlock(&work->lock);
    }
    return goes_on;
}

/* Of several threads of a job one does it. */
bool vel_work_let_earlier(const struct vel_work_job *how)
{
    struct job *job = how->watch->arg, *first = NULL;
    struct vel_work *work = job->work;

    pthread_mutex_lock(&work->lock);
    if (!job->is_aside && !job->is_cancelled)
        first = find_earlier(work, job);
    if (first) {
        first->state = RUNNING;
        first->seen_at = vel_clock_monotonic(work->clock);
        job->is_aside = true;
    }
    pthread_mutex_unlock(&work->lock);
    if (!first)
        return false;
    run_job(first);
    pthread_mutex_lock(&work->lock);
    job->is_aside = false;
    job->seen_at = vel_clock_monotonic(work->clock);
    pthread_mutex_unlock(&work->lock);
    return true;
}

static void errand(void *arg)
{
    vel_queue_lower(VEL_WORK_NICE);
    while (
        run_first(arg, NULL)) /* an errand may have come when too many were at work */
        ;
}

/* --- all of them --- */

/* Lock, but not in a forked child, where a thread that is not there may hold it. */
static bool enter(struct vel_work *work)
{
    if (!vel_queue_is_ours(work->queue))
        return false;
    pthread_mutex_lock(&work->lock);
    return true;
}

int vel_work_create(unsigned workers, struct vel_clock *clock, void (*wake)(void *arg),
                    void *arg, struct vel_work **ret_work, struct vel_err *err)
{
    struct vel_work *work = calloc(1, sizeof *work);
    int rc;

    if (!work)
        return vel_out_of_memory(err, "starting workers");
    *work =
        (struct vel_work){.clock = clock, .wake = wake, .arg = arg, .workers = workers};
    work->over_end = &work->over;
    pthread_mutex_init(&work->lock, NULL);
    rc = vel_queue_create(workers, &work->queue, err);
    if (rc < 0) {
        pthread_mutex_destroy(&work->lock);
        free(work);
        return rc;
    }
    *ret_work = work;
    return 0;
}

void vel_work_destroy(struct vel_work *work)
{
    struct job *job, *next;

    if (!work || !vel_queue_is_ours(work->queue))
        return;
    pthread_mutex_lock(&work->lock);
    for (job = work->jobs; job; job = job->next)
        job->is_cancelled = true;
    for (job = work->jobs; job; job = next) {
        next = job->next;
        if (job->state == WAITING)
            finish(work, job);
    }
    pthread_mutex_unlock(&work->lock);
    vel_queue_destroy(work->queue);
    for (job = work->over; job; job = next) {
        next = job->next;
        job_destroy(job);
    }
    pthread_mutex_destroy(&work->lock);
    free(work);
}

int vel_work_submit(struct vel_work *work, const struct vel_work_plan *plan,
                    vel_work_f *run, void *arg, uint64_t *ret_number,
                    struct vel_err *err)
{
    struct job *job;
    uint64_t number;
    int rc;

    if (!vel_queue_is_ours(work->queue))
        return vel_fail(err, VEL_ESTATE,
                        "the workers belong to the process that was forked");
    job = calloc(1, sizeof *job);
    if (!job)
        return vel_out_of_memory(err, "submitting work");
    *job = (struct job){.order = plan->order,
                        .run = run,
                        .arg = arg,
                        .watch = {watch_step, job},
                        .alone = {alone_step, job},
                        .work = work,
                        .uses_prefix = plan->uses_prefix};
    vel_throttle_init(&job->throttle, work->clock, plan->rate);
    vel_throttle_set_percent(&job->throttle, plan->percent);
    pthread_mutex_lock(&work->lock);
    number = job->number = ++work->last;
    insert(work, job);
    pthread_mutex_unlock(&work->lock);
    rc = vel_queue_submit(work->queue, errand, work, err);
    if (rc == 0) {
        *ret_number = number;
        return 0;
    }
    pthread_mutex_lock(&work->lock);
    if (job->state == WAITING) {
        take_out(work, job);
        job_destroy(job);
    } else {
        *ret_number = number; /* another's errand has done it already */
        rc = 0;
    }
    pthread_mutex_unlock(&work->lock);
    return rc;
}

/* Does a job wait for workers of which none makes a step? */
static bool stands_still(const struct vel_work *work)
{
    uint64_t now = vel_clock_monotonic(work->clock);
    unsigned still = 0;
    bool waits = false;

    for (const struct job *job = work->jobs; job; job = job->next) {
        waits |= job->state == WAITING;
        still += job->state == RUNNING && !job->is_aside &&
                 now - job->seen_at >= VEL_WORK_STILL * work->patience;
    }
    return work->patience > 0 && waits && still >= work->workers + work->spare;
}

bool vel_work_relieve(struct vel_work *work, uint64_t patience)
{
    struct busy busy;
    bool is_needed, grows, is_still;

    if (!enter(work))
        return false;
    work->patience = patience;
    busy = count_busy(work);
    is_needed = busy.hung > 0 && find_first(work, NULL);
    grows = is_needed && work->spare < VEL_WORK_SPARE &&
            busy.well + busy.hung >= work->workers + work->spare;
    is_still = stands_still(work);
    if (grows)
        work->spare++;
    pthread_mutex_unlock(&work->lock);
    if (grows && vel_queue_grow(work->queue, NULL) < 0) {
        pthread_mutex_lock(&work->lock);
        work->spare--; /* tried again */
        pthread_mutex_unlock(&work->lock);
    }
    if (is_needed) /* its errand may have found too many at work */
        vel_queue_submit(work->queue, errand, work, NULL);
    return busy.hung < VEL_WORK_SPARE && !is_still;
}

void vel_work_set_rate(struct vel_work *work, uint64_t number, uint64_t rate)
{
    struct job *job;

    if (!enter(work))
        return;
    job = find(work, number);
    if (job)
        vel_throttle_set_rate(&job->throttle, rate);
    pthread_mutex_unlock(&work->lock);
}

void vel_work_cancel(struct vel_work *work, uint64_t number)
{
    struct job *job;
    bool is_over = false;

    if (!enter(work))
        return;
    job = find(work, number);
    if (job)
        job->is_cancelled = true;
    if (job && job->state == WAITING) {
        job->rc =
            vel_fail(&job->err, VEL_ECANCEL, "the job was cancelled before it began");
        finish(work, job);
        is_over = true;
    }
    pthread_mutex_unlock(&work->lock);
    if (is_over)
        tell(work);
}

bool vel_work_take(struct vel_work *work, struct vel_work_result *ret)
{
    struct job *job;

    if (!enter(work))
        return false;
    job = work->over;
    if (job) {
        work->over = job->next;
        if (!work->over)
            work->over_end = &work->over;
    } else {
        work->is_told = false;
    }
    pthread_mutex_unlock(&work->lock);
    if (!job)
        return false;
    *ret = (struct vel_work_result){
        .number = job->number, .arg = job->arg, .rc = job->rc, .err = job->err};
    job_destroy(job);
    return true;
}

uint64_t vel_work_moved(struct vel_work *work, uint64_t number)
{
    struct job *job;
    uint64_t moved = 0;

    if (!enter(work))
        return 0;
    job = find(work, number);
    if (job) {
        moved = job->moved;
        job->moved = 0;
    }
    pthread_mutex_unlock(&work->lock);
    return moved;
}
