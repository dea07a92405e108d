/* SPDX-License-Identifier: BSD-3-Clause */
/* muster - the members of a set come together (doc/protocol.txt, 7: meet, met).
 *
 * Every member says `meet` to the leader of the set's first node. When all have come to
 * the same attempt it draws a token and tells each all endpoints; a member that waits
 * too long, or whose meeting lacks somebody who is gone, is told `no` with the reason.
 * A meeting is forgotten with its answers: the next one has another token.
 *
 * No thread, no socket and no clock of its own: the leader's loop hands in what comes
 * and what time it is, and sends what the ops say.
 */
#ifndef VEL_JOBS_MUSTER_H
#define VEL_JOBS_MUSTER_H

#include <stdint.h>

#include "base/err.h"
#include "brain/messages.h"

struct vel_muster;

enum { VEL_MUSTER_MOST = 65536 }; /* members that wait, of all meetings */

struct vel_muster_ops {
    /* `met` or `no`, with the seq of the `meet`; good until this returns, and it must
     * not call back. */
    void (*answer)(void *arg, uint64_t link, const struct vel_msg *msg);
};

/* Who has waited for three quarters of `limit` ns (T) is told who is missing, before it
 * gives up by itself: so nobody is met who has left. ops is borrowed. */
int vel_muster_create(uint64_t limit, const struct vel_muster_ops *ops, void *arg,
                      struct vel_muster **ret_muster, struct vel_err *err);
/* Who waits is told nothing more. Accepts NULL. */
void vel_muster_destroy(struct vel_muster *muster);

/* A member of `node` comes, over this link (0: from this node itself). An attempt below
 * the one that gathers is answered `no`; one above it sends the others home. */
void vel_muster_come(struct vel_muster *muster, uint64_t link, const char *node,
                     const struct vel_msg *meet, uint64_t now);

/* A link is gone: whoever met those behind it is told so, with `why`. */
void vel_muster_gone(struct vel_muster *muster, uint64_t link,
                     const struct vel_err *why);

/* What the time is. When to call it next: vel_muster_due(), UINT64_MAX: no need. */
void vel_muster_tick(struct vel_muster *muster, uint64_t now);
uint64_t vel_muster_due(const struct vel_muster *muster);

#endif
