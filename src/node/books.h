/* SPDX-License-Identifier: BSD-3-Clause */
/* books - what a leader writes for people and scripts, and nothing waits for: the log
 * of events of its prefix (doc/format-events.txt), how many nodes its launch has, and
 * what its HDF5 files mean for a halt (doc/format-meta.txt, 10 and 11).
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

/* Any thread; returns at once. Name, files and bytes that an event with an id does not
 * tell are those of that dataset. A checkpoint counts for who has asked for a halt
 * after so many; the text of a run's end is how it has ended well, once it had a
 * dataset. A halt is told, too, when one is to be where a run starts, at a checkpoint,
 * and PEER_TIMEOUT after the last look at the latest from the first checkpoint on. */
void vel_books_tell(struct vel_books *books, const struct vel_event *event);
/* The program makes a file of a dataset: if one before it has ended well, that is past.
 * Accepts NULL. */
void vel_books_begin(struct vel_books *books);
void vel_books_nodes(struct vel_books *books, int64_t nodes);

/* Waits for what is not written yet, but not longer than that (ns): the rest is lost.
 * Accepts NULL. */
void vel_books_close(struct vel_books *books, uint64_t patience);

#endif
