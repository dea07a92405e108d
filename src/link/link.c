/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>

#include "link/link_in.h"

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
    return link->conn ? vel_conn_waiting(link->conn) : 0;
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
