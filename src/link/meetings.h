/* SPDX-License-Identifier: BSD-3-Clause */
/* meetings - the first words of a connection: hello, greet, proof, yes. Until the last
 * of them nothing else is heard (doc/protocol.txt, 6).
 *
 * Near, over a Unix socket, the system tells whose the other process is. Over TCP both
 * prove that they know the key, over the same words: where one is connected to, and
 * what both have said. Who connects proves it in hello already, so that the listener
 * has nothing to do with others; that one may be somebody's old one, and `proof` not.
 */
#ifndef VEL_LINK_MEETINGS_H
#define VEL_LINK_MEETINGS_H

#include "link/link_in.h"

/* The connection stands: say hello. */
int vel_meeting_begin(struct conn *conn, struct vel_err *err);

/* The message that a connection in this state waits for; VEL_MSG_NONE: none. */
enum vel_msg_kind vel_meeting_wants(enum conn_state state);

/* That message, or `no`. */
int vel_meeting_hear(struct conn *conn, const struct vel_msg *msg, struct vel_err *err);

/* Whoever is at the other end of a Unix socket is `user`. */
int vel_meeting_check_user(int fd, uid_t user, struct vel_err *err);

#endif
