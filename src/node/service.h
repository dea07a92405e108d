/* SPDX-License-Identifier: BSD-3-Clause */
/* service - the leader of one launch on this node at work: a thread that gives the
 * brain (brain/leader.h) its connections, its records and its workers
 * (doc/protocol.txt, 5).
 *
 * It lives in one of the launch's processes, or in h5veloc-agent: whoever holds the
 * role starts it. Nothing here is called by the program's threads but what follows.
 */
#ifndef VEL_NODE_SERVICE_H
#define VEL_NODE_SERVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "conf/conf.h"
#include "ident/role.h"
#include "sys/clock.h"
#include "sys/fs.h"
#include "sys/host.h"

struct vel_service;

/* What a launch is to its leader. Texts and lists are copied, the rest is borrowed. */
struct vel_service_of {
    struct vel_fs *fs;
    struct vel_clock *clock;
    const struct vel_host *host; /* this node, this user */
    const struct vel_conf *conf; /* what it sets is read at the start only */
    const char *launch;
    const char *prefix;    /* the directory itself */
    const char *dir;       /* PREFIX/.veloc, or a unit's below it */
    const char *prefix_id; /* the uuid in the caches' paths */
    const char *named;     /* nodes that the launcher names, by blanks; "": none */
    const char *who;       /* whose settings they are, for people; NULL: nobody's */
    int64_t ranks;         /* of the launch; 0: not known */
    char *const *homes;    /* "CACHE/USER/ID" of each store on this node, each once */
    size_t n_homes;
    bool is_agent; /* it outlives the programs that it serves */
    bool is_guest; /* no process need ever be here: it stays while there are others */
};

/* Lead: `role` is held, and is the service's from now on, also on failure. */
int vel_service_start(const struct vel_service_of *of, struct vel_role *role,
                      struct vel_service **ret_service, struct vel_err *err);

/* Give the role back in good order and end; what is owed stays on disk. Accepts NULL.
 * vel_service_ask_stop() only asks for it, from any thread. */
void vel_service_stop(struct vel_service *service);
void vel_service_ask_stop(struct vel_service *service);

/* Has it ended by itself: nobody is left to serve and nothing to do, another asked for
 * the role, or it cannot go on? Then the role is free. */
bool vel_service_is_over(struct vel_service *service);

/* Wait for that, for so many ns at most. */
bool vel_service_wait(struct vel_service *service, uint64_t limit);

/* In a forked child: none of it is the child's. Accepts NULL. */
void vel_service_abandon(struct vel_service *service);

#endif
