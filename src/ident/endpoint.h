/* SPDX-License-Identifier: BSD-3-Clause */
/* endpoint - the record of where a leader listens, PREFIX/.veloc/launch.L/node.NAME,
 * and the launch's beat. A node's record is written by that node's leader alone, the
 * beat by the chair. */
#ifndef VEL_IDENT_ENDPOINT_H
#define VEL_IDENT_ENDPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "sys/fs.h"

struct vel_endpoint {
    char *node;
    int64_t epoch;   /* grows with each leader of the node */
    char *ranks;     /* that have been in this launch on the node: "0-3 7" */
    bool has_lost;   /* one of them has ended without a word: the program was killed */
    char *endpoints; /* as sys/sock.h has them, with blanks between; the first is the
                        Unix socket */
};

void vel_endpoint_fini(struct vel_endpoint *endpoint);

/* Replace the record of endpoint->node in `dir`, the directory of the launch, which is
 * made. Epoch 0 is a new leader's: it becomes one above that of the record replaced;
 * another epoch stays. */
int vel_endpoint_save(struct vel_fs *fs, const char *dir, struct vel_endpoint *endpoint,
                      struct vel_err *err);

int vel_endpoint_load(struct vel_fs *fs, const char *dir, const char *node,
                      struct vel_endpoint *ret, struct vel_err *err);

/* All of them by name, struct vel_endpoint; none when there is no directory. One that
 * cannot be read is in it with its node, epoch 0 and empty texts: a node that is known
 * and cannot be reached. */
int vel_endpoint_list(struct vel_fs *fs, const char *dir, struct vel_vec *ret,
                      struct vel_err *err);
void vel_endpoint_list_fini(struct vel_vec *list);

/* The node has none any more. The record stays, under a name that is nobody's endpoint:
 * its ranks have been in the launch. It may be absent. */
int vel_endpoint_leave(struct vel_fs *fs, const char *dir, const char *node,
                       struct vel_err *err);
int vel_endpoint_list_left(struct vel_fs *fs, const char *dir, struct vel_vec *ret,
                           struct vel_err *err);

/* Add ranks that are told as "0 3! 7-": 3 has ended without a word, 7 has left. The
 * texts of the endpoint are its own. */
int vel_endpoint_add_ranks(struct vel_endpoint *endpoint, const char *present,
                           struct vel_err *err);

/* The ranks of a node that has left, as `present` of messages: all have ended in good
 * order ("0- 7-"). Nothing where one was lost: which one is not on record. */
void vel_endpoint_put_ended(const struct vel_endpoint *endpoint, struct vel_buf *ret);

/* Add what leaders of its node before have told, if that can be read. */
int vel_endpoint_inherit(struct vel_fs *fs, const char *dir,
                         struct vel_endpoint *endpoint, struct vel_err *err);

/* Is `rank` among ranks as `ranks` and `present` have them? A text that is none has no
 * ranks. */
bool vel_endpoint_has_rank(const char *ranks, int64_t rank);

/* The beat of a launch: a number that its chair replaces while it lives, 0 when there
 * is none yet, VEL_BEAT_DAMAGED when it cannot be read: a chair that lives replaces
 * that. And the nodes, by blanks, on which it knows processes of the launch. */
enum { VEL_BEAT_DAMAGED = -1 };

struct vel_beat {
    int64_t count;
    char *living; /* NULL: not told */
    bool is_new;  /* its chair may not have heard of all nodes yet */
};

int vel_beat_save(struct vel_fs *fs, const char *dir, const struct vel_beat *beat,
                  struct vel_err *err);
/* *ret: to be finished, when it is there. */
int vel_beat_load(struct vel_fs *fs, const char *dir, struct vel_beat *ret,
                  struct vel_err *err);
void vel_beat_fini(struct vel_beat *beat);

#endif
