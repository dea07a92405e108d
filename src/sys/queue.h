/* SPDX-License-Identifier: BSD-3-Clause */
/* queue - worker threads, and what they are still to do, in the order in which it was
 * submitted. They block all signals, which are the program's.
 *
 * A forked child has no threads and cannot know in which state its parent's were.
 * There, every function refuses (VEL_ESTATE) or does nothing, destroy included: the
 * memory of the queue is left alone and goes with the child.
 */
#ifndef VEL_SYS_QUEUE_H
#define VEL_SYS_QUEUE_H

#include <stdbool.h>

#include "base/err.h"

struct vel_queue;

/* What a worker does. */
typedef void vel_queue_f(void *arg);

int vel_queue_create(unsigned nthreads, struct vel_queue **ret_queue,
                     struct vel_err *err);

/* One more worker, for what those that are there cannot do: they are in calls that do
 * not come back. */
int vel_queue_grow(struct vel_queue *queue, struct vel_err *err);

/* All that was submitted is done first. No other thread may be inside a call, and what
 * is done may not do this. */
void vel_queue_destroy(struct vel_queue *queue);

int vel_queue_submit(struct vel_queue *queue, vel_queue_f *run, void *arg,
                     struct vel_err *err);

/* Is this the process that has made it, not a forked child? */
bool vel_queue_is_ours(const struct vel_queue *queue);

/* Let the thread that calls, a worker, go after others: `nice` as nice(1), never less
 * than it has. */
void vel_queue_lower(int nice);

#endif
