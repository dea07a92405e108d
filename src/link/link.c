/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "link/link_in.h"
#include "link/meetings.h"
#include "sys/sock.h"

enum {
    CHUNK = 64 << 10,     /* of one read */
    SHARE = 256 << 10,    /* read of one link in one turn */
    KEPT_MOST = 1 << 20,  /* a buffer that has grown beyond is given back */
    MOVE_DOWN = 256 << 10 /* done with so much of a queue, the rest moves down */
};

/* --- a connection --- */

struct conn *vel_conn_create(struct vel_links *links, struct vel_link *link,
                             enum conn_state state, int fd)
{
    struct conn *conn = calloc(1, sizeof *conn);

    if (!conn || !vel_vec_push(&links->conns, &conn)) {
        vel_sock_close(fd);
        free(conn);
        return NULL;
    }
    conn->links = links;
    conn->link = link;
    conn->state = state;
    conn->fd = fd;
    conn->since = conn->moved = vel_links_now(links);
    vel_buf_init(&conn->in);
    vel_buf_init(&conn->out);
    vel_buf_init(&conn->hello);
    return conn;
}

void vel_conn_close(struct conn *conn)
{
    vel_sock_close(conn->fd);
    conn->fd = -1;
    conn->state = CONN_DEAD;
    conn->link = NULL;
}

void vel_conn_destroy(struct conn *conn)
{
    vel_sock_close(conn->fd);
    vel_buf_fini(&conn->in);
    vel_buf_fini(&conn->out);
    vel_buf_fini(&conn->hello);
    free(conn->endpoint);
    free(conn);
}

void vel_conn_break(struct conn *conn, const struct vel_err *why)
{
    conn->links->is_hasty = true;
    if (conn->is_broken)
        return;
    conn->is_broken = true;
    conn->why = *why;
}

bool vel_conn_waits(const struct conn *conn)
{
    return conn->out.len > conn->out_at;
}

static size_t waiting(const struct conn *conn)
{
    return conn->out.len - conn->out_at;
}

bool vel_conn_listens(const struct conn *conn)
{
    if (conn->state == CONN_MET)
        return !conn->is_broken && waiting(conn) <= VEL_LINK_UNREAD &&
               conn->link->open < VEL_LINK_OPEN;
    return vel_meeting_wants(conn->state) != VEL_MSG_NONE;
}

static void give_back(struct vel_buf *buf, size_t *at)
{
    *at = 0;
    vel_buf_clear(buf);
    if (buf->cap > KEPT_MOST)
        vel_buf_fini(buf);
}

static void move_down(struct vel_buf *buf, size_t *at)
{
    memmove(buf->data, buf->data + *at, buf->len - *at);
    buf->len -= *at;
    *at = 0;
}

int vel_conn_say(struct conn *conn, const struct vel_msg *msg, struct vel_err *err)
{
    struct vel_err why = {0};

    if (conn->is_mute)
        return 0;
    if (!vel_conn_waits(conn))
        conn->moved = vel_links_now(conn->links);
    int rc = vel_msg_encode(msg, &conn->out, err);
    if (rc < 0)
        return rc;
    conn->links->count.sent++;
    conn->links->is_hasty = true; /* the next turn begins with sending */
    if (waiting(conn) > VEL_LINK_QUEUE) {
        vel_fail(&why, VEL_ELOST, "it takes nothing in: %zu bytes wait to be sent",
                 waiting(conn));
        vel_conn_break(conn, &why);
    }
    return 0;
}

int vel_conn_flush(struct conn *conn, struct vel_err *err)
{
    while (vel_conn_waits(conn)) {
        struct iovec part = {conn->out.data + conn->out_at, waiting(conn)};
        size_t sent = 0;
        int rc = vel_sock_send(conn->fd, &part, 1, &sent, err);

        if (rc < 0)
            return rc;
        if (sent == 0)
            break;
        conn->moved = vel_links_now(conn->links);
        conn->out_at += sent;
    }
    if (!vel_conn_waits(conn))
        give_back(&conn->out, &conn->out_at);
    else if (conn->out_at > MOVE_DOWN)
        move_down(&conn->out, &conn->out_at);
    return 0;
}

/* --- what comes in --- */

/* Of the message that begins at in_at: how many bytes are missing; 0: it is whole, or
 * its head is wrong. */
static size_t missing(const struct conn *conn)
{
    size_t have = conn->in.len - conn->in_at;
    struct vel_msg_head head;

    if (have < VEL_MSG_HEAD)
        return VEL_MSG_HEAD - have;
    if (vel_msg_head((const uint8_t *)conn->in.data + conn->in_at, &head, NULL) < 0)
        return 0;
    return head.len + (size_t)VEL_MSG_HEAD > have ? head.len + VEL_MSG_HEAD - have : 0;
}

bool vel_conn_has(const struct conn *conn)
{
    return missing(conn) == 0;
}

/* Whoever is met may send much at once; a stranger is not read beyond its message. */
static size_t wanted(const struct conn *conn)
{
    size_t least = missing(conn);

    return conn->state == CONN_MET && least < CHUNK ? CHUNK : least;
}

int vel_conn_read(struct conn *conn, struct vel_err *err)
{
    size_t got = 1;

    if (conn->in_at == conn->in.len)
        give_back(&conn->in, &conn->in_at);
    else if (conn->in_at > 0)
        move_down(&conn->in, &conn->in_at);
    for (size_t all = 0; got > 0 && all < SHARE && !vel_conn_has(conn); all += got) {
        size_t want = wanted(conn);

        if (vel_buf_reserve(&conn->in, want) < 0)
            return vel_out_of_memory(err, "a message");
        int rc = vel_sock_recv(conn->fd, conn->in.data + conn->in.len, want, &got, err);
        if (rc < 0)
            return rc;
        conn->in.len += got;
        if (got > 0 && conn->state == CONN_MET)
            conn->link->heard = vel_links_now(conn->links);
        if (conn->state != CONN_MET)
            break; /* its next message may have to be another */
    }
    return 0;
}

/* Is this for those who have met, and from that one? */
static bool may_say(const struct conn *conn, const struct vel_msg_row *row)
{
    if (row->kind <= VEL_MSG_PROOF)
        return false;
    if (row->way == VEL_MSG_WAY_ANY || row->way == VEL_MSG_WAY_REPLY)
        return true;
    if (conn->links->me.role != VEL_PEER_LEADER)
        return false;
    if (conn->peer.role == VEL_PEER_LEADER) /* settle is handed on to the chair */
        return row->way != VEL_MSG_WAY_ASK || row->kind == VEL_MSG_SETTLE;
    if (conn->peer.role == VEL_PEER_TOOL && row->kind == VEL_MSG_WANT)
        return true; /* a tool pulls by itself */
    return row->way == VEL_MSG_WAY_ASK &&
           (row->kind != VEL_MSG_RESIGN || conn->peer.role == VEL_PEER_TOOL);
}

static int check_kind(const struct conn *conn, enum vel_msg_kind kind,
                      struct vel_err *err)
{
    const struct vel_msg_row *row = vel_msg_row(kind);
    bool fits;

    if (conn->state == CONN_MET)
        fits = may_say(conn, row);
    else
        fits = kind == vel_meeting_wants(conn->state) ||
               (kind == VEL_MSG_NO && conn->endpoint);
    return fits ? 0
                : vel_fail(err, VEL_ECORRUPT, "a message '%s' that it may not send now",
                           row->name);
}

int vel_conn_next(struct conn *conn, struct vel_msg *ret, struct vel_err *err)
{
    size_t have = conn->in.len - conn->in_at;
    struct vel_msg_head head;
    int rc;

    if (have < VEL_MSG_HEAD)
        return 0;
    const uint8_t *at = (const uint8_t *)conn->in.data + conn->in_at;
    rc = vel_msg_head(at, &head, err);
    if (rc == 0) /* before anything more of it is read */
        rc = check_kind(conn, head.kind, err);
    if (rc < 0)
        return rc;
    size_t whole = head.len + (size_t)VEL_MSG_HEAD;
    if (have < whole)
        return 0;
    rc = vel_msg_decode(at, whole, ret, err);
    if (rc < 0)
        return rc;
    conn->in_at += whole;
    conn->links->count.heard++;
    return 1;
}

/* --- a link --- */

struct vel_link *vel_link_create(struct vel_links *links)
{
    struct vel_link *link = calloc(1, sizeof *link);

    if (!link || !vel_vec_push(&links->links, &link)) {
        free(link);
        return NULL;
    }
    link->links = links;
    vel_vec_init(&link->asks, sizeof(struct ask));
    link->heard = link->said = link->pinged = vel_links_now(links);
    return link;
}

void vel_link_destroy(struct vel_link *link)
{
    vel_vec_fini(&link->asks);
    free(link->want_node);
    free(link);
}

/* A request of ours is waited for from here on. */
static int expect(struct vel_link *link, const struct vel_msg *msg, struct vel_err *err)
{
    struct ask ask = {.seq = msg->seq,
                      .kind = msg->kind,
                      .deadline =
                          vel_links_now(link->links) + vel_links_limit(link->links)};

    if (link->asks.n >= VEL_LINK_OPEN)
        return vel_fail(err, VEL_EBUSY, "%zu requests wait for %s already",
                        link->asks.n, link->conn->peer.node);
    return vel_vec_push(&link->asks, &ask) ? 0 : vel_out_of_memory(err, "a request");
}

int vel_link_send(struct vel_link *link, const struct vel_msg *msg, struct vel_err *err)
{
    const struct vel_msg_row *row = vel_msg_row(msg->kind);
    bool is_ask = row && row->reply != VEL_MSG_NONE && msg->seq != 0 &&
                  link->links->me.role == VEL_PEER_LEADER;
    int rc = 0;

    if (!link->conn || link->is_over)
        return vel_fail(err, VEL_ESTATE, "the connection does not stand");
    if (is_ask)
        rc = expect(link, msg, err);
    if (rc < 0)
        return rc;
    rc = vel_conn_say(link->conn, msg, err);
    if (rc < 0) {
        if (is_ask)
            vel_vec_remove(&link->asks, link->asks.n - 1);
        return rc;
    }
    link->said = vel_links_now(link->links);
    if (row->way == VEL_MSG_WAY_REPLY && msg->kind != VEL_MSG_MOVES && msg->seq != 0 &&
        link->open > 0)
        link->open--;
    return 0;
}

uint64_t vel_link_seq(struct vel_link *link)
{
    return ++link->seq;
}

size_t vel_link_waiting(const struct vel_link *link)
{
    return link->conn ? waiting(link->conn) : 0;
}

const struct vel_peer *vel_link_peer(const struct vel_link *link)
{
    return link->conn ? &link->conn->peer : NULL;
}

void vel_link_set_data(struct vel_link *link, void *data)
{
    link->data = data;
}

void *vel_link_data(const struct vel_link *link)
{
    return link->data;
}

void vel_link_close(struct vel_link *link)
{
    struct vel_links *links = link->links;

    for (size_t i = 0; i < links->conns.n; i++) {
        struct conn *conn = *(struct conn **)vel_vec_at(&links->conns, i);

        if (conn->link != link || conn->state == CONN_DEAD)
            continue;
        if (conn == link->conn && vel_conn_waits(conn) && !conn->is_broken) {
            conn->state = CONN_LAST;
            conn->since = vel_links_now(links);
            conn->link = NULL;
        } else {
            vel_conn_close(conn);
        }
    }
    link->conn = NULL;
    link->is_over = true;
    links->is_hasty = true;
}

/* --- what it hears, and what time does --- */

/* An answer: to a request that waits for it? */
static int hear_reply(struct vel_link *link, const struct vel_msg *msg,
                      struct vel_err *err)
{
    for (size_t i = 0; i < link->asks.n; i++) {
        struct ask *ask = vel_vec_at(&link->asks, i);
        const struct vel_msg_row *row = vel_msg_row(ask->kind);

        if (ask->seq != msg->seq)
            continue;
        if (msg->kind == VEL_MSG_MOVES && row->limit == VEL_MSG_LIMIT_MOVES) {
            ask->deadline = vel_links_now(link->links) + vel_links_limit(link->links);
            return 1;
        }
        if (msg->kind != row->reply && msg->kind != VEL_MSG_NO)
            return vel_fail(err, VEL_ECORRUPT, "it answers '%s' with '%s'", row->name,
                            vel_msg_row(msg->kind)->name);
        vel_vec_remove(&link->asks, i);
        return 1;
    }
    /* a process bounds its calls itself; seq 0: it is told without a question. A pong
     * to our ping is the loop's. */
    return link->links->me.role != VEL_PEER_LEADER ||
           (msg->seq == 0 && msg->kind != VEL_MSG_PONG);
}

int vel_link_hear(struct vel_link *link, const struct vel_msg *msg, struct vel_err *err)
{
    const struct vel_msg_row *row = vel_msg_row(msg->kind);

    if (row->way == VEL_MSG_WAY_REPLY)
        return hear_reply(link, msg, err);
    if (msg->kind == VEL_MSG_PING && msg->u.ping.what == 0) {
        struct vel_msg pong = {.kind = VEL_MSG_PONG, .seq = msg->seq};

        pong.u.pong.term = (uint64_t)link->links->term;
        link->said = vel_links_now(link->links);
        return vel_conn_say(link->conn, &pong, err);
    }
    if (row->reply != VEL_MSG_NONE && msg->seq != 0)
        link->open++;
    return 1;
}

static void at_most(uint64_t *least, uint64_t value)
{
    if (value < *least)
        *least = value;
}

static double seconds(uint64_t ns)
{
    return (double)ns / (double)VEL_CLOCK_S;
}

/* Leaders hear from each other, or one of them is gone. */
static int tick_silence(struct vel_link *link, uint64_t now, uint64_t *ret_next,
                        struct vel_err *err)
{
    uint64_t limit = vel_links_limit(link->links), quiet;
    struct vel_msg ping = {.kind = VEL_MSG_PING};
    int rc = 0;

    /* it is us who do not listen */
    if (link->open >= VEL_LINK_OPEN || vel_conn_has(link->conn))
        link->heard = now;
    if (now - link->heard >= limit)
        return vel_fail(err, VEL_ETIMEOUT, "silent for %.1f s",
                        seconds(now - link->heard));
    quiet = link->heard < link->said ? link->heard : link->said;
    if (now - quiet >= limit / 4 && now - link->pinged >= limit / 4) {
        link->pinged = link->said = now;
        rc = vel_conn_say(link->conn, &ping, err);
    }
    at_most(ret_next, link->heard + limit);
    quiet = link->heard < link->said ? link->heard : link->said;
    at_most(ret_next, (quiet > link->pinged ? quiet : link->pinged) + limit / 4);
    return rc;
}

int vel_link_tick(struct vel_link *link, uint64_t now, uint64_t *ret_next,
                  struct vel_err *err)
{
    struct conn *conn = link->conn;
    uint64_t limit = vel_links_limit(link->links);

    if (vel_conn_waits(conn) || conn->is_mute) {
        if (now - conn->moved >= limit)
            return vel_fail(err, VEL_ELOST, "it has taken nothing in for %.1f s",
                            seconds(now - conn->moved));
        at_most(ret_next, conn->moved + limit);
    }
    for (size_t i = 0; i < link->asks.n; i++) {
        const struct ask *ask = vel_vec_at(&link->asks, i);

        if (now >= ask->deadline && !vel_conn_has(conn))
            return vel_fail(err, VEL_ETIMEOUT, "no answer to '%s' for %.1f s",
                            vel_msg_row(ask->kind)->name, seconds(limit));
        at_most(ret_next, ask->deadline);
    }
    if (link->links->me.role == VEL_PEER_LEADER && conn->peer.role == VEL_PEER_LEADER)
        return tick_silence(link, now, ret_next, err);
    return 0;
}
