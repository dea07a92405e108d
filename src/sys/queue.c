/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sys/queue.h"

enum job_state { WAITING, RUNNING, DONE };

struct vel_job {
    struct vel_queue *queue;
    vel_job_f *run;
    void *arg;
    bool has_waiter; /* a handle was given out; else the queue frees the job */
    /* the rest is guarded by the queue's lock; err is the runner's while RUNNING */
    enum job_state state;
    int rc;
    struct vel_err err;
    struct vel_job *prev, *next; /* in the list that its state says */
};

struct job_list {
    struct vel_job *first, *last;
    size_t n;
};

struct vel_queue {
    pid_t owner;
    size_t most;

    pthread_mutex_t lock; /* guards what follows */
    pthread_t *threads;
    unsigned nthreads;
    pthread_cond_t work; /* something waits, or it ends */
    pthread_cond_t room; /* fewer wait */
    pthread_cond_t done; /* a job is done */
    struct job_list waiting;
    struct job_list kept; /* done, with a handle out */
    size_t running;
    bool is_ending;
    int lost_rc; /* first failure that no handle tells */
    struct vel_err lost_err;
};

static void list_push(struct job_list *list, struct vel_job *job)
{
    job->prev = list->last;
    job->next = NULL;
    *(list->last ? &list->last->next : &list->first) = job;
    list->last = job;
    list->n++;
}

static void list_remove(struct job_list *list, struct vel_job *job)
{
    *(job->prev ? &job->prev->next : &list->first) = job->next;
    *(job->next ? &job->next->prev : &list->last) = job->prev;
    list->n--;
}

bool vel_queue_is_ours(const struct vel_queue *queue)
{
    return queue->owner == getpid();
}

/* On Linux this is the thread's, whatever POSIX says of processes; who may not is not
 * told, since nothing depends on it. */
void vel_queue_lower(int nice)
{
    int is = getpriority(PRIO_PROCESS, 0);

    if (is < nice)
        setpriority(PRIO_PROCESS, 0, nice);
}

static int not_ours(struct vel_err *err)
{
    return vel_fail(err, VEL_ESTATE,
                    "the worker threads belong to the process that was forked");
}

static bool is_worker(struct vel_queue *queue)
{
    bool is = false;

    pthread_mutex_lock(&queue->lock);
    for (unsigned i = 0; !is && i < queue->nthreads; i++)
        is = pthread_equal(queue->threads[i], pthread_self());
    pthread_mutex_unlock(&queue->lock);
    return is;
}

/* The job has its result. Locked. */
static void finish(struct vel_job *job)
{
    struct vel_queue *queue = job->queue;

    job->state = DONE;
    if (job->has_waiter) {
        list_push(&queue->kept, job);
    } else {
        if (job->rc < 0 && job->rc != VEL_ECANCEL && queue->lost_rc == 0) {
            queue->lost_rc = job->rc;
            queue->lost_err = job->err;
        }
        free(job);
    }
    pthread_cond_broadcast(&queue->done);
}

/* Do a waiting job on this thread. Locked, but not while it runs. */
static void run_job(struct vel_queue *queue, struct vel_job *job)
{
    list_remove(&queue->waiting, job);
    job->state = RUNNING;
    queue->running++;
    pthread_cond_signal(&queue->room);
    pthread_mutex_unlock(&queue->lock);
    int rc = job->run(job->arg, &job->err);
    pthread_mutex_lock(&queue->lock);
    job->rc = rc;
    queue->running--;
    finish(job);
}

static void *worker(void *arg)
{
    struct vel_queue *queue = arg;

    pthread_mutex_lock(&queue->lock);
    for (;;) {
        if (queue->waiting.first)
            run_job(queue, queue->waiting.first);
        else if (queue->is_ending)
            break;
        else
            pthread_cond_wait(&queue->work, &queue->lock);
    }
    pthread_mutex_unlock(&queue->lock);
    return NULL;
}

static int start_threads(struct vel_queue *queue, unsigned nthreads)
{
    sigset_t all, before;
    int rc = 0;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_mutex_lock(&queue->lock);
    while (queue->nthreads < nthreads && rc == 0) {
        rc = pthread_create(&queue->threads[queue->nthreads], NULL, worker, queue);
        queue->nthreads += rc == 0;
    }
    pthread_mutex_unlock(&queue->lock);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

int vel_queue_create(unsigned nthreads, size_t most, struct vel_queue **ret_queue,
                     struct vel_err *err)
{
    assert(nthreads > 0 && most > 0);
    struct vel_queue *queue = calloc(1, sizeof *queue);

    if (!queue)
        return vel_out_of_memory(err, "starting worker threads");
    queue->owner = getpid();
    queue->most = most;
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->work, NULL);
    pthread_cond_init(&queue->room, NULL);
    pthread_cond_init(&queue->done, NULL);
    queue->threads = calloc(nthreads, sizeof *queue->threads);
    if (!queue->threads) {
        vel_queue_destroy(queue);
        return vel_out_of_memory(err, "starting worker threads");
    }
    int rc = start_threads(queue, nthreads);
    if (rc != 0) {
        unsigned begun = queue->nthreads;
        vel_queue_destroy(queue);
        return vel_fail_errno(err, rc, "cannot start worker thread %u of %u", begun + 1,
                              nthreads);
    }
    *ret_queue = queue;
    return 0;
}

int vel_queue_grow(struct vel_queue *queue, struct vel_err *err)
{
    unsigned nthreads;
    pthread_t *threads;

    if (!vel_queue_is_ours(queue))
        return not_ours(err);
    pthread_mutex_lock(&queue->lock);
    nthreads = queue->nthreads + 1;
    threads = realloc(queue->threads, nthreads * sizeof *threads);
    if (threads)
        queue->threads = threads;
    pthread_mutex_unlock(&queue->lock);
    if (!threads)
        return vel_out_of_memory(err, "starting a worker thread");
    int rc = start_threads(queue, nthreads);
    return rc == 0 ? 0 : vel_fail_errno(err, rc, "cannot start another worker thread");
}

/* Locked. */
static size_t cancel_waiting(struct vel_queue *queue)
{
    size_t n = 0;

    for (; queue->waiting.first; n++) {
        struct vel_job *job = queue->waiting.first;

        list_remove(&queue->waiting, job);
        job->rc =
            vel_fail(&job->err, VEL_ECANCEL, "the job was cancelled before it began");
        finish(job);
    }
    pthread_cond_broadcast(&queue->room);
    return n;
}

void vel_queue_destroy(struct vel_queue *queue)
{
    if (!queue || !vel_queue_is_ours(queue))
        return;
    pthread_mutex_lock(&queue->lock);
    queue->is_ending = true;
    cancel_waiting(queue);
    pthread_cond_broadcast(&queue->work);
    pthread_mutex_unlock(&queue->lock);
    for (unsigned i = 0; i < queue->nthreads; i++)
        pthread_join(queue->threads[i], NULL);
    while (queue->kept.first) {
        struct vel_job *job = queue->kept.first;
        list_remove(&queue->kept, job);
        free(job);
    }
    pthread_cond_destroy(&queue->done);
    pthread_cond_destroy(&queue->room);
    pthread_cond_destroy(&queue->work);
    pthread_mutex_destroy(&queue->lock);
    free(queue->threads);
    free(queue);
}

int vel_queue_submit(struct vel_queue *queue, vel_job_f *run, void *arg,
                     struct vel_job **ret_job, struct vel_err *err)
{
    if (!vel_queue_is_ours(queue))
        return not_ours(err);
    struct vel_job *job = calloc(1, sizeof *job);
    if (!job)
        return vel_out_of_memory(err, "submitting a job");
    *job = (struct vel_job){
        .queue = queue, .run = run, .arg = arg, .has_waiter = ret_job != NULL};
    bool may_wait = !is_worker(queue);
    pthread_mutex_lock(&queue->lock);
    while (may_wait && queue->waiting.n >= queue->most && !queue->is_ending)
        pthread_cond_wait(&queue->room, &queue->lock);
    bool is_ending = queue->is_ending;
    if (!is_ending) {
        list_push(&queue->waiting, job);
        if (ret_job)
            *ret_job = job;
        pthread_cond_signal(&queue->work);
    }
    pthread_mutex_unlock(&queue->lock);
    if (is_ending) {
        free(job);
        return vel_fail(err, VEL_ECANCEL, "the worker threads are being ended");
    }
    return 0;
}

int vel_job_wait(struct vel_job *job, struct vel_err *err)
{
    struct vel_queue *queue = job->queue;

    if (!vel_queue_is_ours(queue))
        return not_ours(err);
    bool may_run = is_worker(queue);
    pthread_mutex_lock(&queue->lock);
    if (may_run && job->state == WAITING)
        run_job(queue, job);
    while (job->state != DONE)
        pthread_cond_wait(&queue->done, &queue->lock);
    list_remove(&queue->kept, job);
    pthread_mutex_unlock(&queue->lock);
    int rc = job->rc;
    if (rc < 0 && err)
        *err = job->err;
    free(job);
    return rc;
}

int vel_queue_drain(struct vel_queue *queue, struct vel_err *err)
{
    if (!vel_queue_is_ours(queue))
        return not_ours(err);
    if (is_worker(queue))
        return vel_fail(err, VEL_ESTATE, "a job cannot wait for all jobs");
    pthread_mutex_lock(&queue->lock);
    while (queue->waiting.n > 0 || queue->running > 0)
        pthread_cond_wait(&queue->done, &queue->lock);
    int rc = queue->lost_rc;
    if (rc < 0 && err)
        *err = queue->lost_err;
    queue->lost_rc = 0;
    pthread_mutex_unlock(&queue->lock);
    return rc;
}

size_t vel_queue_cancel(struct vel_queue *queue)
{
    if (!vel_queue_is_ours(queue))
        return 0;
    pthread_mutex_lock(&queue->lock);
    size_t n = cancel_waiting(queue);
    pthread_mutex_unlock(&queue->lock);
    return n;
}
