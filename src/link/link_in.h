/* SPDX-License-Identifier: BSD-3-Clause */
/* link_in - what conn.c (one connection), meetings.c (its first words), link.c (once it
 * is met) and links.c and loop.c (all of them) have in common. */
#ifndef VEL_LINK_LINK_IN_H
#define VEL_LINK_LINK_IN_H

#include <poll.h>

#include "base/buf.h"
#include "base/proof.h"
#include "base/vec.h"
#include "link/link.h"

enum {
    LAUNCH_ROOM = 64 + 1,
    NODE_ROOM = 200 + 1,
    RETRY_MS = 20, /* a listener whose queue is full */
};

enum conn_state {
    CONN_AGAIN,    /* no descriptor: the listener was too busy, another try follows */
    CONN_CONNECTS, /* until the system says how that went */
    CONN_GREET,    /* said hello, wants the other's greet */
    CONN_YES,      /* said the proof, wants yes */
    CONN_HELLO,    /* was accepted: wants its hello */
    CONN_PROOF,    /* said greet, wants its proof */
    CONN_MET,
    CONN_LAST, /* the last words leave, then it is closed */
    CONN_DEAD, /* closed; freed at the end of the turn */
};

/* A connection, or an attempt at one. */
struct conn {
    struct vel_links *links;
    struct vel_link *link; /* NULL: it was accepted and is not met, or its last words */
    enum conn_state state;
    int fd;
    bool is_near;
    char *endpoint; /* of an attempt; NULL: it was accepted */
    uint64_t since; /* when it began, or began to end */
    uint64_t moved; /* when the peer's system took something, or nothing waited */
    struct vel_buf in, out;
    size_t in_at, out_at; /* done with so far */
    bool is_mute;   /* nothing can be sent any more; what was said is still read */
    bool is_broken; /* why: told by the next turn */
    struct vel_err why;
    struct vel_buf words;       /* that proofs are of */
    uint8_t nonce[VEL_NONCE];   /* of whoever connects */
    bool is_proved;             /* over TCP: with every frame comes a mac */
    struct vel_mac says, hears; /* then */
    struct vel_peer peer;       /* texts: the arrays below */
    char launch[LAUNCH_ROOM], node[NODE_ROOM];
};

/* A request of ours that waits for its answer. */
struct ask {
    uint64_t seq, deadline;
    enum vel_msg_kind kind;
};

struct vel_link {
    struct vel_links *links;
    struct conn *conn;  /* once it is met */
    size_t attempts;    /* connections that may still become it */
    char *want_node;    /* NULL: any */
    struct vel_err why; /* of the attempt that failed last */
    uint64_t seq;
    struct vel_vec asks; /* struct ask, in the order of sending */
    unsigned open;       /* the peer's requests without our answer */
    uint64_t heard, said, pinged;
    bool is_over; /* told or closed: freed at the end of the turn */
    void *data;
};

struct listener {
    int fd;
    bool is_near; /* a Unix socket */
    char *endpoint;
    uint64_t deaf_until; /* nobody is accepted before */
};

struct vel_links {
    struct vel_links_me me;
    char *launch, *node;
    struct vel_key key;
    struct vel_links_ops ops;
    void *arg;
    int wake[2];              /* read end, write end */
    struct vel_vec listeners; /* struct listener */
    char *endpoints;
    struct vel_vec conns; /* struct conn * */
    struct vel_vec links; /* struct vel_link * */
    struct vel_vec fds;   /* struct pollfd, for a turn */
    bool is_hasty;        /* something is to be told: the next turn does not wait */
    uint64_t next;        /* when a limit is over, the first of all */
    struct vel_links_count count;
};

/* --- links.c --- */

uint64_t vel_links_now(const struct vel_links *links);
uint64_t vel_links_limit(const struct vel_links *links); /* T in ns */

/* --- conn.c --- */

/* Takes fd in any case; NULL when out of memory. link may be NULL. */
struct conn *vel_conn_create(struct vel_links *links, struct vel_link *link,
                             enum conn_state state, int fd);
void vel_conn_destroy(struct conn *conn);
void vel_conn_close(struct conn *conn); /* it is dead */

/* Put a message into the queue of a connection. */
int vel_conn_say(struct conn *conn, const struct vel_msg *msg, struct vel_err *err);

/* Remember why it ends: told by the loop. Only the first reason counts. */
void vel_conn_break(struct conn *conn, const struct vel_err *why);

bool vel_conn_waits(const struct conn *conn);     /* something is to be sent */
size_t vel_conn_waiting(const struct conn *conn); /* so many bytes */
bool vel_conn_listens(const struct conn *conn);   /* it may be read now */

/* Move bytes; a failure ends the connection. */
int vel_conn_flush(struct conn *conn, struct vel_err *err);
int vel_conn_read(struct conn *conn, struct vel_err *err);

/* The next whole message in what was read: 1, and *ret is good until the next read; 0
 * when there is none. vel_conn_has() only looks. */
int vel_conn_next(struct conn *conn, struct vel_msg *ret, struct vel_err *err);
bool vel_conn_has(const struct conn *conn);

/* --- link.c --- */

struct vel_link *vel_link_create(struct vel_links *links);
void vel_link_destroy(struct vel_link *link);

/* A message of whoever is met: what the link itself has to do with it. 1: it is for the
 * ops, 0: it was for us. */
int vel_link_hear(struct vel_link *link, const struct vel_msg *msg,
                  struct vel_err *err);

/* What time does to a link that is met; *ret_next is lowered to when it wants to be
 * looked at again. */
int vel_link_tick(struct vel_link *link, uint64_t now, uint64_t *ret_next,
                  struct vel_err *err);

/* --- loop.c --- */

/* The connection's peer is known: it becomes its link. */
int vel_links_meet(struct conn *conn, struct vel_err *err);

/* A connection that somebody else has accepted; takes fd. For tests. */
int vel_links_adopt(struct vel_links *links, int fd, struct vel_err *err);

#endif
