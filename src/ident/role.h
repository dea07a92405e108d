/* SPDX-License-Identifier: BSD-3-Clause */
/* role - who leads a launch on this node: a lock, a socket beside it, and a lock that
 * every process of the launch shares (doc/protocol.txt, 3 and 5).
 *
 * CNTL_BASE/USER/leader.N, N made of launch and node, or CNTL_BASE/USER/agent: 0700,
 * ours, no link, or refused. The system gives the locks back when their holder dies,
 * however he dies.
 */
#ifndef VEL_IDENT_ROLE_H
#define VEL_IDENT_ROLE_H

#include <stdbool.h>

#include "base/err.h"
#include "base/vec.h"
#include "ident/endpoint.h"
#include "sys/clock.h"
#include "sys/fs.h"
#include "sys/host.h"

struct vel_role;

/* Make the directory of a launch on host's node; with launch NULL that of the agent.
 * Nothing is held yet. fs and host must outlive the role. VEL_ECONFIG: base is too long
 * for a socket's path, or has blanks. */
int vel_role_open(struct vel_fs *fs, const struct vel_host *host, const char *base,
                  const char *launch, struct vel_role **ret_role, struct vel_err *err);

/* The same, but nothing is made, and nothing looked at: for its endpoint. */
int vel_role_find(struct vel_fs *fs, const struct vel_host *host, const char *base,
                  const char *launch, struct vel_role **ret_role, struct vel_err *err);

/* Gives back what is held. Accepts NULL. */
void vel_role_close(struct vel_role *role);

/* In a forked child: forget the role, leave it to the parent. Accepts NULL. */
void vel_role_abandon(struct vel_role *role);

/* "unix:DIR/s": where its leader listens. Belongs to the role. */
const char *vel_role_endpoint(const struct vel_role *role);

/* Say that a process of the launch lives here, until the role is closed. */
int vel_role_live(struct vel_role *role, struct vel_err *err);

/* Take the lock. When it is ours a former leader's socket is gone: listen. VEL_EBUSY:
 * another leads. vel_role_wait() asks every 10 ms for so many ns, then VEL_ETIMEOUT. */
int vel_role_take(struct vel_role *role, struct vel_err *err);
int vel_role_wait(struct vel_role *role, struct vel_clock *clock, uint64_t limit,
                  struct vel_err *err);

/* Remove the socket, give the lock back; the listener must be closed. */
void vel_role_give(struct vel_role *role);

bool vel_role_is_held(const struct vel_role *role);

/* By anybody. When that cannot be known, yes. */
bool vel_role_is_taken(const struct vel_role *role);

/* The holder of the role is an agent, which outlives programs, or no longer. */
int vel_role_mark(struct vel_role *role, bool is_agents, struct vel_err *err);
bool vel_role_is_agents(const struct vel_role *role);

/* Does no process of the launch live here? The role's own does. When that cannot be
 * known: one does. */
bool vel_role_is_deserted(const struct vel_role *role);

/* Does anybody of that launch live on this node: a process, or a leader in one? An
 * agent that leads it is nobody. When that cannot be known, yes. */
bool vel_role_is_alive(struct vel_fs *fs, const struct vel_host *host, const char *base,
                       const char *launch);

/* Is a process that has started this one, by others maybe, in that launch? */
bool vel_role_is_above(struct vel_fs *fs, const struct vel_host *host, const char *base,
                       const char *launch);

/* Who of that launch is on the node of an endpoint record. Only this machine's locks
 * tell: of host's node, and of others that are virtual as it is; and only where the
 * record's leader has listened in a directory that we see. */
enum vel_role_life {
    VEL_ROLE_UNKNOWN,
    VEL_ROLE_DEAD,   /* nobody at all */
    VEL_ROLE_LED,    /* nobody but an agent */
    VEL_ROLE_LIVING, /* a process, or a leader in one */
};
struct vel_role_here {
    struct vel_fs *fs;
    const struct vel_host *host; /* NULL: no locks tell */
    bool is_virtual;             /* host's node is */
    const char *base;
};
enum vel_role_life vel_role_ask(const struct vel_role_here *here, const char *launch,
                                const struct vel_endpoint *endpoint);

/* Remove the directory of a launch of which nobody lives here. VEL_EBUSY: somebody, or
 * an agent leads it. VEL_ECANCEL: its leader has died, and an agent that comes, or
 * --drain, finds here what it has not done. Of several that try at once, one does it.
 */
int vel_role_remove(struct vel_fs *fs, const struct vel_host *host, const char *base,
                    const char *launch, struct vel_err *err);

/* The same for a directory, of whichever launch that is over; and appended to *ret
 * (char *) those of all launches of the user, "BASE/USER/leader.N". */
int vel_role_remove_dir(struct vel_fs *fs, const struct vel_host *host, const char *dir,
                        struct vel_err *err);
int vel_role_list(struct vel_fs *fs, const struct vel_host *host, const char *base,
                  struct vel_vec *ret, struct vel_err *err);

#endif
