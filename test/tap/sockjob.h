/* SPDX-License-Identifier: BSD-3-Clause */
/* sockjob - members of a communicator over sockets, each a process of its own. */
#ifndef TEST_TAP_SOCKJOB_H
#define TEST_TAP_SOCKJOB_H

#include "comm/sock_wire.h"

/* Fork n members connected over "unix" or "tcp" sockets; returns how many returned
 * non-zero or died. `member` runs in the children and must not use ok(). */
int sockjob_run(int n, const char *kind,
                int (*member)(struct vel_comm *comm, void *arg), void *arg);

/* The same with another time limit than 30 s. */
int sockjob_run_limit(int n, const char *kind, unsigned limit_ms,
                      int (*member)(struct vel_comm *comm, void *arg), void *arg);

/* The same for members that work in between. */
int sockjob_run_conf(int n, const char *kind, const struct vel_comm_sock_conf *conf,
                     int (*member)(struct vel_comm *comm, void *arg), void *arg);

/* The process of a member, in memory that all members share; for those who kill. */
int sockjob_pid(int rank);

/* In a member: the same bytes to all others, whatever the communicator thinks of it.
 * For those who lie. */
void sockjob_say(const void *bytes, size_t len);

/* In a member, to all others: a frame that nobody else could have said, and its bytes;
 * NULL: it only announces them. Once, or `times`, but then not more than is taken. */
void sockjob_say_frame(struct vel_comm *comm, const struct frame *frame,
                       const void *bytes, unsigned times);

/* In a member over Unix sockets: says nothing more to that lower rank, which finds the
 * connection closed. */
void sockjob_hang_up(int rank);

#endif
