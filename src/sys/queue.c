/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sys/queue.h"
#include "sys/thread.h"

struct item {
    vel_queue_f *run;
    void *arg;
    struct item *next;
};

struct vel_queue {
    pid_t owner;
    pthread_mutex_t lock; /* guards what follows */
    pthread_t *threads;
    unsigned nthreads;
    pthread_cond_t more;        /* something is submitted, or it ends */
    struct item *first, **last; /* not begun yet; where the next one comes */
    bool is_ending;
};

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

/* The first; NULL: it ends. Locked. */
static struct item *wait_for_item(struct vel_queue *queue)
{
    struct item *item;

    while (!queue->first && !queue->is_ending)
        pthread_cond_wait(&queue->more, &queue->lock);
    item = queue->first;
    if (item && !(queue->first = item->next))
        queue->last = &queue->first;
    return item;
}

static void *worker(void *arg)
{
    struct vel_queue *queue = arg;
    struct item *item;

    pthread_mutex_lock(&queue->lock);
    while ((item = wait_for_item(queue)) != NULL) {
        pthread_mutex_unlock(&queue->lock);
        item->run(item->arg);
        free(item);
        pthread_mutex_lock(&queue->lock);
    }
    pthread_mutex_unlock(&queue->lock);
    return NULL;
}

static int start_threads(struct vel_queue *queue, unsigned nthreads)
{
    int rc = 0;

    pthread_mutex_lock(&queue->lock);
    while (queue->nthreads < nthreads && rc == 0) {
        rc = vel_thread_start(&queue->threads[queue->nthreads], worker, queue);
        queue->nthreads += rc == 0;
    }
    pthread_mutex_unlock(&queue->lock);
    return rc;
}

int vel_queue_create(unsigned nthreads, struct vel_queue **ret_queue,
                     struct vel_err *err)
{
    assert(nthreads > 0);
    struct vel_queue *queue = calloc(1, sizeof *queue);

    if (!queue)
        return vel_out_of_memory(err, "starting worker threads");
    queue->owner = getpid();
    queue->last = &queue->first;
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->more, NULL);
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

void vel_queue_destroy(struct vel_queue *queue)
{
    if (!queue || !vel_queue_is_ours(queue))
        return;
    pthread_mutex_lock(&queue->lock);
    queue->is_ending = true;
    pthread_cond_broadcast(&queue->more);
    pthread_mutex_unlock(&queue->lock);
    for (unsigned i = 0; i < queue->nthreads; i++)
        pthread_join(queue->threads[i], NULL);
    pthread_cond_destroy(&queue->more);
    pthread_mutex_destroy(&queue->lock);
    free(queue->threads);
    free(queue);
}

int vel_queue_submit(struct vel_queue *queue, vel_queue_f *run, void *arg,
                     struct vel_err *err)
{
    struct item *item;

    if (!vel_queue_is_ours(queue))
        return not_ours(err);
    item = malloc(sizeof *item);
    if (!item)
        return vel_out_of_memory(err, "submitting work");
    *item = (struct item){.run = run, .arg = arg};
    pthread_mutex_lock(&queue->lock);
    *queue->last = item;
    queue->last = &item->next;
    pthread_cond_signal(&queue->more);
    pthread_mutex_unlock(&queue->lock);
    return 0;
}
