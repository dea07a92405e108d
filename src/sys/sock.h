/* SPDX-License-Identifier: BSD-3-Clause */
/* sock - stream sockets: the one door to the network.
 *
 * An endpoint is a text: "tcp:<address>:<port>" with a numeric IPv4 address, or
 * "unix:<path>". Every descriptor is non-blocking and closed on exec; a write to a peer
 * that is gone is an error, never a signal. Nothing here waits but vel_sock_poll() and
 * vel_sock_drain().
 */
#ifndef VEL_SYS_SOCK_H
#define VEL_SYS_SOCK_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/err.h"
#include "base/vec.h"

/* Port 0 lets the system choose. *ret_endpoint (freed by the caller) says what to
 * connect to. A Unix socket is made for its owner alone (0600); the path must not
 * exist. */
int vel_sock_listen(const char *endpoint, int *ret_fd, char **ret_endpoint,
                    struct vel_err *err);

/* Begin to connect: the descriptor becomes writable when it is decided, and
 * vel_sock_connected() says how. A TCP connection gives up a peer that does not confirm
 * anything for limit_ms. */
int vel_sock_connect(const char *endpoint, unsigned limit_ms, int *ret_fd,
                     struct vel_err *err);
int vel_sock_connected(int fd, const char *endpoint, struct vel_err *err);

/* The next connection; *ret_fd = -1 when there is none. */
int vel_sock_accept(int listener, unsigned limit_ms, int *ret_fd, struct vel_err *err);

/* Who is at the other end of a Unix socket; VEL_EUNSUP for TCP. */
int vel_sock_peer_uid(int fd, uid_t *ret_uid, struct vel_err *err);

/* "ADDRESS:PORT" of the end of a TCP connection that listens: what was connected to, or
 * what the connection came in at; "" of a Unix socket. Both ends see the same, unless
 * something between them changes addresses. */
enum { VEL_SOCK_PLACE = 32 };
int vel_sock_place(int fd, bool is_accepted, char ret_place[VEL_SOCK_PLACE],
                   struct vel_err *err);

/* The numeric IPv4 addresses of the interfaces that are up, loopbacks left out, in the
 * system's order: strings that the caller frees with the array. */
int vel_sock_addresses(struct vel_vec *ret_addresses, struct vel_err *err);

/* Two ends, for a thread that wakes another one's poll. */
int vel_sock_pair(int ret_fds[2], struct vel_err *err);

/* As much as can be moved now, 0 bytes when nothing can. A peer that has closed is
 * VEL_ELOST. */
int vel_sock_send(int fd, const struct iovec *parts, int n, size_t *ret_sent,
                  struct vel_err *err);
int vel_sock_recv(int fd, void *bytes, size_t len, size_t *ret_got,
                  struct vel_err *err);

/* poll(2), woken by no signal before it has something or the time is over. */
int vel_sock_poll(struct pollfd *fds, size_t n, unsigned limit_ms, struct vel_err *err);

/* Wait until the peer's system has what was sent: closing earlier may lose it. */
void vel_sock_drain(int fd, unsigned limit_ms);

/* Accepts -1; keeps errno. */
void vel_sock_close(int fd);

#endif
