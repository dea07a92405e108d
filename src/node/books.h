/* SPDX-License-Identifier: BSD-3-Clause */
/* books - what a leader writes for people and scripts, and nothing waits for: the log
 * of events of its prefix (doc/format-events.txt), and how many nodes its launch has
 * (doc/format-meta.txt, 11).
 *
 * A thread of its own writes: a worker that a prefix does not let go would be waited
 * for. What cannot be written is lost, and told once; so is what comes faster than a
 * prefix takes it.
 */
#ifndef VEL_NODE_BOOKS_H
#define VEL_NODE_BOOKS_H

#include "base/err.h"
#include "meta/events.h"
#include "node/service.h"

struct vel_books;

/* Nothing of it is kept but fs and clock, which must outlive the process. */
int vel_books_open(const struct vel_service_of *of, struct vel_books **ret_books,
                   struct vel_err *err);

/* Any thread; returns at once. Where a run starts a halt that is asked for is told,
 * too. Name, files and bytes that an event with an id does not tell are those of that
 * dataset. */
void vel_books_tell(struct vel_books *books, const struct vel_event *event);
void vel_books_nodes(struct vel_books *books, int64_t nodes);

/* Waits for what is not written yet, but not longer than that (ns): the rest is lost.
 * Accepts NULL. */
void vel_books_close(struct vel_books *books, uint64_t patience);

#endif
