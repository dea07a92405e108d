/* SPDX-License-Identifier: BSD-3-Clause */
/* queue - worker threads and the jobs that wait for them.
 *
 * The number of waiting jobs is bounded: whoever submits faster than the workers work
 * waits for them, so that memory stays bounded too. Jobs begin in the order of their
 * submission. The threads block all signals, which are the program's.
 *
 * A forked child has no threads and cannot know in which state its parent's were.
 * There, every function refuses (VEL_ESTATE) or does nothing, destroy included: the
 * memory of the queue is left alone and goes with the child.
 */
#ifndef VEL_SYS_QUEUE_H
#define VEL_SYS_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct vel_queue;
struct vel_job;

/* What a worker does; the result and the sentence go to whoever waits for the job. */
typedef int vel_job_f(void *arg, struct vel_err *err);

/* `nthreads` workers, and room for `most` jobs that have not begun; both > 0. */
int vel_queue_create(unsigned nthreads, size_t most, struct vel_queue **ret_queue,
                     struct vel_err *err);

/* One more worker, for what those that are there cannot do: they are in calls that do
 * not come back. */
int vel_queue_grow(struct vel_queue *queue, struct vel_err *err);

/* Jobs that have begun are waited for, the others cancelled, and all handles are void.
 * No other thread may be inside a call, and no job may do this. */
void vel_queue_destroy(struct vel_queue *queue);

/* Waits for room. With ret_job the caller gets a handle and must wait for the job; with
 * NULL nobody does, and vel_queue_drain() tells whether it failed. A job may submit
 * others: they are taken even when there is no room, for it would wait for itself. */
int vel_queue_submit(struct vel_queue *queue, vel_job_f *run, void *arg,
                     struct vel_job **ret_job, struct vel_err *err);

/* Wait until the job is done or cancelled (VEL_ECANCEL), return what it returned and
 * its sentence, and free the handle. A job that waits for one that has not begun does
 * it itself: workers never wait for each other in a circle of their own making. */
int vel_job_wait(struct vel_job *job, struct vel_err *err);

/* Wait until nothing waits or runs. Returns the first failure since the last drain of a
 * job without handle, cancelled ones not counted. Not from a job: VEL_ESTATE. */
int vel_queue_drain(struct vel_queue *queue, struct vel_err *err);

/* Cancel all jobs that have not begun; their number. */
size_t vel_queue_cancel(struct vel_queue *queue);

/* Is this the process that has made it, not a forked child? */
bool vel_queue_is_ours(const struct vel_queue *queue);

/* Let the thread that calls, a job's, go after others: `nice` as nice(1), never less
 * than it has. */
void vel_queue_lower(int nice);

#endif
