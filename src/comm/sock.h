/* SPDX-License-Identifier: BSD-3-Clause */
/* sock - the communicator over TCP and Unix sockets; doc/protocol-comm.txt has the
 * bytes.
 *
 * Every member listens and tells its endpoint to the others by other means (a record, a
 * pipe); with everyone's endpoints and a secret that all know, all create the comm.
 * Whoever does not know the secret is refused and disturbs nobody.
 *
 * A member waits for a silent one for the time limit at most; members that wait say so
 * to the others, so that a chain of them is not taken for dead. A member that computes
 * for longer than the limit without calling its comm looks dead, unless the comm was
 * made for members that work (busy_ms): then a thread speaks for it meanwhile.
 */
#ifndef VEL_COMM_SOCK_H
#define VEL_COMM_SOCK_H

#include <stdbool.h>

#include "comm/comm.h"

enum { VEL_COMM_TOKEN = 32 };

struct vel_comm_listener;

/* Listen at an endpoint as in sys/sock.h; "tcp:127.0.0.1:0" for any port. */
int vel_comm_sock_listen(const char *endpoint, struct vel_comm_listener **ret_listener,
                         struct vel_err *err);

/* What the others connect to. Belongs to the listener. */
const char *vel_comm_listener_endpoint(const struct vel_comm_listener *listener);

/* Accepts NULL. A Unix socket's file is removed. */
void vel_comm_listener_destroy(struct vel_comm_listener *listener);

/* The same for all members. */
struct vel_comm_sock_conf {
    unsigned limit_ms; /* for meeting, and for every wait later */
    unsigned busy_ms;  /* how long a member may do other things without being taken for
                          dead: longer, and all are told that it is stuck. 0: no longer
                          than the limit, and no thread */
    const char *const *names; /* of the members, for sentences; NULL: their endpoints */
    bool (*goes_on)(void *arg); /* asked often while it meets; NULL: it does. No: the
                                   meeting ends with VEL_ECANCEL */
    void *arg;
};

/* Collective. Connect everyone with everyone; the listener may be destroyed after. A
 * communicator belongs to one thread at a time all the same. */
int vel_comm_sock_meet(struct vel_comm_listener *listener, int rank, int size,
                       const char *const *endpoints,
                       const uint8_t token[VEL_COMM_TOKEN],
                       const struct vel_comm_sock_conf *conf,
                       struct vel_comm **ret_comm, struct vel_err *err);

/* The same with nothing but a limit. */
int vel_comm_sock_create(struct vel_comm_listener *listener, int rank, int size,
                         const char *const *endpoints,
                         const uint8_t token[VEL_COMM_TOKEN], unsigned limit_ms,
                         struct vel_comm **ret_comm, struct vel_err *err);

#endif
