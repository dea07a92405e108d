/* SPDX-License-Identifier: BSD-3-Clause */
/* conn - one connection: its queues of bytes, and the messages in them. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "link/link_in.h"
#include "link/meetings.h"
#include "sys/sock.h"

enum {
    CHUNK = 64 << 10,     /* of one read */
    SHARE = 256 << 10,    /* read of one link in one turn */
    BULK = 64 << 10,      /* a longer `give` is bytes of files */
    BULK_FRONT = 64,      /* the head, and all fields but these bytes */
    KEPT_MOST = 1 << 20,  /* a buffer that has grown beyond is given back */
    MOVE_DOWN = 256 << 10 /* done with so much of a queue, the rest moves down */
};

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
    vel_buf_init(&conn->words);
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
    vel_buf_fini(&conn->words);
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

size_t vel_conn_waiting(const struct conn *conn)
{
    return conn->out.len - conn->out_at;
}

bool vel_conn_listens(const struct conn *conn)
{
    if (conn->state == CONN_MET)
        return !conn->is_broken && vel_conn_waiting(conn) <= VEL_LINK_UNREAD &&
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

/* So much of a message its mac is of: all, but of long bytes of files only what is in
 * front of them, with the checksum of the whole. A mac costs ten times a CRC. */
static size_t mac_len(enum vel_msg_kind kind, size_t len)
{
    return kind == VEL_MSG_GIVE && len > BULK ? BULK_FRONT : len;
}

/* The message at the end of the queue is ours: nobody else can say so. */
static int put_mac(struct conn *conn, enum vel_msg_kind kind, size_t begin,
                   struct vel_err *err)
{
    struct vel_buf *out = &conn->out;

    if (vel_buf_reserve(out, VEL_MAC) < 0) {
        out->len = begin;
        out->failed = false;
        return vel_out_of_memory(err, "a message");
    }
    vel_mac_make(&conn->says, out->data + begin, mac_len(kind, out->len - begin),
                 (uint8_t *)out->data + out->len);
    out->len += VEL_MAC;
    conn->says.n++;
    return 0;
}

int vel_conn_say(struct conn *conn, const struct vel_msg *msg, struct vel_err *err)
{
    struct vel_err why = {0};
    size_t begin = conn->out.len;

    if (conn->is_mute)
        return 0;
    if (!vel_conn_waits(conn))
        conn->moved = vel_links_now(conn->links);
    int rc = vel_msg_encode(msg, &conn->out, err);
    if (rc == 0 && conn->is_proved)
        rc = put_mac(conn, msg->kind, begin, err);
    if (rc < 0)
        return rc;
    conn->links->count.sent++;
    conn->links->is_hasty = true; /* the next turn begins with sending */
    if (vel_conn_waiting(conn) > VEL_LINK_QUEUE) {
        vel_fail(&why, VEL_ELOST, "it takes nothing in: %zu bytes wait to be sent",
                 vel_conn_waiting(conn));
        vel_conn_break(conn, &why);
    }
    return 0;
}

int vel_conn_flush(struct conn *conn, struct vel_err *err)
{
    while (vel_conn_waits(conn)) {
        struct iovec part = {conn->out.data + conn->out_at, vel_conn_waiting(conn)};
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

/* A message, and what belongs to it. */
static size_t whole(const struct conn *conn, const struct vel_msg_head *head)
{
    return head->len + (size_t)VEL_MSG_HEAD + (conn->is_proved ? VEL_MAC : 0);
}

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
    return whole(conn, &head) > have ? whole(conn, &head) - have : 0;
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
    if (conn->peer.role == VEL_PEER_LEADER) /* handed on to the chair */
        return row->way != VEL_MSG_WAY_ASK || row->kind == VEL_MSG_SETTLE ||
               row->kind == VEL_MSG_DRAIN || row->kind == VEL_MSG_MARK;
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
               (kind == VEL_MSG_NO && conn->state == CONN_YES);
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
    size_t len = head.len + (size_t)VEL_MSG_HEAD;
    if (have < whole(conn, &head))
        return 0;
    if (conn->is_proved)
        rc = vel_mac_check(&conn->hears, at, mac_len(head.kind, len), at + len, err);
    if (rc == 0)
        rc = vel_msg_decode(at, len, ret, err);
    if (rc < 0)
        return rc;
    conn->in_at += whole(conn, &head);
    conn->links->count.heard++;
    return 1;
}
