/* SPDX-License-Identifier: BSD-3-Clause */
/* link - connections of a leader, a process or a tool, in one loop
 * (doc/protocol.txt, 6, 7 and 9).
 *
 * One thread creates the links, turns the loop and hears from it by the ops; nothing
 * waits but vel_links_turn(). Who is connected has proved to be ours: who has not yet
 * has few bytes and T, and is never heard of; who has not even said hello, by which he
 * shows that he knows the key, is a stranger, with a place among few. A link that
 * breaks a rule, falls silent or takes nothing in ends, alone; `gone` says why, once.
 * So does one over TCP on which somebody between both has changed, made up, repeated or
 * left out a message.
 *
 * Limits, whatever a peer does: a message is as long as its table allows; what waits to
 * be sent on a link is bounded (VEL_LINK_QUEUE), and a link on which more waits is
 * lost; nothing more is read from a peer that takes nothing in or waits for many
 * answers; in one turn every link gets a share. Leaders say something to each other
 * every T/4; a process may compute for hours in silence, and the system tells when it
 * ends.
 */
#ifndef VEL_LINK_LINK_H
#define VEL_LINK_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "brain/messages.h"
#include "ident/key.h"
#include "sys/clock.h"

enum {
    VEL_LINK_QUEUE = 32 << 20, /* bytes that may wait to be sent */
    VEL_LINK_UNREAD = 8 << 20, /* while more than that wait nothing is read */
    VEL_LINK_OPEN = 256,       /* requests of a peer that wait for our answer, then
                                  nothing is read; and of ours that wait for a peer's */
    VEL_LINK_STRANGERS = 64,   /* without a hello, over TCP and as many near */
};

enum vel_peer_role { VEL_PEER_PROCESS, VEL_PEER_LEADER, VEL_PEER_TOOL };

/* Who is at the other end. */
struct vel_peer {
    enum vel_peer_role role;
    int64_t epoch;
    int64_t rank; /* VEL_MSG_NO_RANK: none */
    const char *launch, *node;
    bool is_near; /* over a Unix socket */
};

struct vel_links;
struct vel_link;

/* Called by vel_links_turn() alone. They may send, connect and close, any link, the one
 * in hand included; they must not turn or destroy. Any may be NULL but gone. */
struct vel_links_ops {
    /* the peer has proved who it is; what it says comes next */
    void (*met)(void *arg, struct vel_link *link, const struct vel_peer *peer);
    /* the message and what it points to are good during the call; pings that ask
     * nothing (what = 0) are answered before */
    void (*message)(void *arg, struct vel_link *link, const struct vel_msg *msg);
    /* the link is void when this returns; also for one that was never met */
    void (*gone)(void *arg, struct vel_link *link, const struct vel_err *why);
    /* vel_links_wake() was called, once or more often */
    void (*wake)(void *arg);
};

/* Who we are; texts are copied. */
struct vel_links_me {
    enum vel_peer_role role;
    int64_t epoch, rank;
    const char *launch, *node;
    bool serves_any;           /* launch: an agent's */
    uid_t user;                /* geteuid(): others are refused */
    const struct vel_key *key; /* copied; NULL: no TCP */
    unsigned limit_ms;         /* T */
    struct vel_clock *clock;   /* outlives the links */
};

int vel_links_create(const struct vel_links_me *me, const struct vel_links_ops *ops,
                     void *arg, struct vel_links **ret_links, struct vel_err *err);

/* Closes everything without a word to the ops, and removes the Unix sockets' files.
 * Accepts NULL. */
void vel_links_destroy(struct vel_links *links);

/* The same in a forked child: nothing of the parent's is disturbed. */
void vel_links_abandon(struct vel_links *links);

/* Listen at an endpoint of sys/sock.h. "tcp:0.0.0.0:0": at every address. */
int vel_links_listen(struct vel_links *links, const char *endpoint,
                     struct vel_err *err);

/* What others connect to, blanks between, Unix sockets first; a listener at every
 * address is listed with each address of an interface that is up. Belongs to the links;
 * good until the next listen. */
const char *vel_links_endpoints(const struct vel_links *links);

/* The epoch is known when the endpoint record is written: for who connects from now on.
 */
void vel_links_set_epoch(struct vel_links *links, int64_t epoch);

/* Connect to all of these endpoints (blanks between) and keep the first that proves
 * itself, to be `node` when that is not NULL. `met` or `gone` comes from a later turn,
 * within T. Fails only for lack of memory or when the texts are wrong. */
int vel_links_connect(struct vel_links *links, const char *endpoints, const char *node,
                      struct vel_link **ret_link, struct vel_err *err);

/* Move what can be moved, and wait for it until limit_ms is over or something happened.
 * Fails only when poll(2) does. */
int vel_links_turn(struct vel_links *links, unsigned limit_ms, struct vel_err *err);

/* From any thread or signal handler: the loop's turn ends, ops.wake is called. */
void vel_links_wake(struct vel_links *links);

/* Put a message behind what waits to be sent. A leader's request whose seq is not 0 is
 * waited for: without an answer within T (after each `moves`, when the table allows it)
 * the link is gone. What a peer does is no failure here: VEL_EINVAL: the message breaks
 * its table; VEL_ESTATE: the link is not met yet; VEL_EBUSY: VEL_LINK_OPEN requests
 * wait already. */
int vel_link_send(struct vel_link *link, const struct vel_msg *msg,
                  struct vel_err *err);

/* A number for the next request on this link, never 0, never used before. */
uint64_t vel_link_seq(struct vel_link *link);

/* Bytes that wait to be sent: who sends much keeps it low. */
size_t vel_link_waiting(const struct vel_link *link);

/* Send what waits, as far as possible within T, and close; the link is void at once and
 * `gone` is not called. */
void vel_link_close(struct vel_link *link);

/* NULL until it is met. */
const struct vel_peer *vel_link_peer(const struct vel_link *link);

/* Whatever the caller keeps with the link. */
void vel_link_set_data(struct vel_link *link, void *data);
void *vel_link_data(const struct vel_link *link);

/* What happened so far. */
struct vel_links_count {
    uint64_t met, gone;
    uint64_t sent, heard;          /* messages, hello and pings included */
    uint64_t strangers, sent_away; /* who knocked; who did not prove itself */
};
void vel_links_count(const struct vel_links *links, struct vel_links_count *ret);

#endif
