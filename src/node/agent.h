/* SPDX-License-Identifier: BSD-3-Clause */
/* agent - the launches of a user that one process of this machine leads for all of
 * their programs: it takes the role wherever it is there, outlives them, and never
 * calls MPI (doc/protocol.txt, 5).
 *
 * A program that begins knocks at the agent's socket and finds a leader in the
 * directory of its launch; what the agent must know stands there (node/about.h). Each
 * launch has a thread that takes its role, waits for its end and removes what is left.
 */
#ifndef VEL_NODE_AGENT_H
#define VEL_NODE_AGENT_H

#include <stdbool.h>

#include "base/err.h"
#include "conf/conf.h"
#include "sys/fs.h"
#include "sys/host.h"

struct vel_agent;

enum vel_agent_kind {
    VEL_AGENT_FOR_ALL,      /* leads every launch, and lets programs find it */
    VEL_AGENT_FOR_DESERTED, /* only those of which no process lives here any more; there
                               may be another agent */
};

/* VEL_EBUSY: this user has one here. Everything is borrowed. */
int vel_agent_create(struct vel_fs *fs, const struct vel_host *host,
                     const struct vel_conf *conf, enum vel_agent_kind kind,
                     struct vel_agent **ret_agent, struct vel_err *err);

/* Give all roles back; what is owed stays on disk for whoever comes. Accepts NULL. */
void vel_agent_destroy(struct vel_agent *agent);

/* Look for launches, have their roles taken, and wait for who knocks, for so long at
 * most. No launch delays another. */
int vel_agent_turn(struct vel_agent *agent, unsigned limit_ms, struct vel_err *err);

/* From a signal handler, too: the turn ends. */
void vel_agent_wake(struct vel_agent *agent);

/* Was it asked to end, by vel_agent_stop()? */
bool vel_agent_is_asked_to_end(const struct vel_agent *agent);

/* Is there no launch that it leads, or tries to? */
bool vel_agent_is_idle(const struct vel_agent *agent);

/* Is there an agent of this user? Knocks and tells it of `launch` (NULL: nothing);
 * VEL_ENOENT: there is none. */
int vel_agent_knock(struct vel_fs *fs, const struct vel_host *host, const char *base,
                    const char *launch, unsigned limit_ms, struct vel_err *err);

/* Ask the agent to end, and wait until it has: so long at most, then VEL_ETIMEOUT.
 * VEL_ENOENT: there is none. */
int vel_agent_stop(struct vel_fs *fs, const struct vel_host *host, const char *base,
                   unsigned limit_ms, struct vel_err *err);

#endif
