/* SPDX-License-Identifier: BSD-3-Clause */
/* loop - one turn over all connections of a process.
 *
 * A turn sends what waits, polls, reads, hands messages on, and then looks at the
 * clock: so that whoever was frozen himself reads what has come before he calls others
 * silent. What ends is told in the turn and freed at its end: the ops may close
 * anything, the loop never steps on what is gone.
 */
#define _GNU_SOURCE /* POLLRDHUP */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "link/link_in.h"
#include "link/meetings.h"
#include "sys/fs.h"
#include "sys/sock.h"

enum {
    FAIR = 64,     /* messages of one link in one turn */
    DEAF_MS = 100, /* no descriptor left: so long nobody is accepted */
    GRACE = 1000   /* a stranger is let be for T by that */
};

static struct conn *conn_at(const struct vel_links *links, size_t i)
{
    return *(struct conn **)vel_vec_at(&links->conns, i);
}

static bool was_accepted(const struct conn *conn)
{
    return conn->state == CONN_HELLO || conn->state == CONN_PROOF;
}

/* --- who comes --- */

/* May one more stranger come, who has not said hello? *ret_leaves: then this one goes,
 * NULL: nobody; else *ret_when he may. Who has just come is given the time to say it.
 * Those who come over TCP take no places of those who are near. */
static bool has_place(struct vel_links *links, bool is_near, struct conn **ret_leaves,
                      uint64_t *ret_when)
{
    uint64_t grace = vel_links_limit(links) / GRACE;
    struct conn *oldest = NULL;
    size_t n = 0;

    for (size_t i = 0; i < links->conns.n; i++) {
        struct conn *conn = conn_at(links, i);

        if (conn->state != CONN_HELLO || conn->is_near != is_near)
            continue;
        n++;
        if (!oldest || conn->since < oldest->since)
            oldest = conn;
    }
    *ret_leaves = n < VEL_LINK_STRANGERS ? NULL : oldest;
    if (!*ret_leaves || vel_links_now(links) - oldest->since >= grace)
        return true;
    *ret_when = oldest->since + grace;
    return false;
}

int vel_links_adopt(struct vel_links *links, int fd, struct vel_err *err)
{
    struct vel_err why = {0};

    links->count.strangers++;
    /* over TCP the system knows nobody */
    int rc = vel_meeting_check_user(fd, links->me.user, &why);
    bool is_near = rc != VEL_EUNSUP;
    if (rc == VEL_EUNSUP && links->me.key)
        rc = 0;
    if (rc < 0) {
        links->count.sent_away++;
        vel_sock_close(fd);
        return 0;
    }
    struct conn *conn = vel_conn_create(links, NULL, CONN_HELLO, fd);
    if (!conn)
        return vel_out_of_memory(err, "a connection");
    conn->is_near = is_near;
    return 0;
}

static void accept_all(struct vel_links *links, struct listener *listener)
{
    for (int i = 0; i < VEL_LINK_STRANGERS; i++) {
        struct conn *leaves = NULL;
        struct vel_err why = {0};
        int fd = -1;

        if (!has_place(links, listener->is_near, &leaves, &listener->deaf_until))
            return;
        int rc = vel_sock_accept(listener->fd, links->me.limit_ms, &fd, &why);
        if (rc == 0 && fd < 0)
            return;
        if (rc == 0 && leaves) {
            links->count.sent_away++;
            vel_conn_close(leaves);
        }
        if (rc == 0)
            rc = vel_links_adopt(links, fd, &why);
        if (rc < 0) { /* out of descriptors or memory: those who are here come first */
            listener->deaf_until = vel_links_now(links) + DEAF_MS * VEL_CLOCK_MS;
            return;
        }
    }
}

/* --- who is lost --- */

static void tell_gone(struct vel_link *link, const struct vel_err *why)
{
    link->links->count.gone++;
    link->is_over = true; /* it is void when the op returns, and may be closed in it */
    link->links->ops.gone(link->links->arg, link, why);
}

static const char *who(const struct conn *conn)
{
    if (conn->peer.role == VEL_PEER_PROCESS)
        return "a process";
    return conn->peer.role == VEL_PEER_TOOL ? "a tool" : "the leader";
}

/* The connection is over for this reason. */
static void conn_lost(struct conn *conn, struct vel_err *why)
{
    struct vel_link *link = conn->link;
    enum conn_state state = conn->state;

    if (state == CONN_MET) {
        vel_wrap(why, why->status, "%s on %s", who(conn), conn->peer.node);
        conn->state = CONN_DEAD;
        tell_gone(link, why);
        link->conn = NULL;
        vel_conn_close(conn);
        return;
    }
    if (was_accepted(conn))
        conn->links->count.sent_away++;
    if (state == CONN_GREET && !conn->is_near && why->status == VEL_ELOST)
        vel_fail(why, VEL_ELOST,
                 "it closed the connection at our first words: it serves another user, "
                 "or is no leader");
    vel_wrap(why, why->status, "%s", conn->endpoint ? conn->endpoint : "a stranger");
    vel_conn_close(conn);
    if (!link)
        return;
    if (why->status != VEL_ECANCEL) /* else another attempt has the better reason */
        link->why = *why;
    link->attempts--;
    if (link->attempts == 0)
        tell_gone(link, &link->why);
}

int vel_links_meet(struct conn *conn, struct vel_err *err)
{
    struct vel_links *links = conn->links;
    struct vel_link *link = conn->link;

    if (!link) {
        link = vel_link_create(links);
        if (!link)
            return vel_out_of_memory(err, "a connection");
    }
    conn->link = link;
    for (size_t i = 0; i < links->conns.n; i++) /* the other attempts */
        if (conn_at(links, i)->link == link && conn_at(links, i) != conn)
            vel_conn_close(conn_at(links, i));
    link->conn = conn;
    link->attempts = 0;
    link->heard = link->said = link->pinged = vel_links_now(links);
    conn->state = CONN_MET;
    conn->peer.launch = conn->launch;
    conn->peer.node = conn->node;
    links->count.met++;
    if (links->ops.met)
        links->ops.met(links->arg, link, &conn->peer);
    return 0;
}

/* --- a turn --- */

/* Begin, or begin again, to connect. */
static int attempt(struct conn *conn, struct vel_err *err)
{
    struct vel_links *links = conn->links;
    int rc = vel_sock_connect(conn->endpoint, links->me.limit_ms, &conn->fd, err);

    if (rc == 0)
        conn->state = CONN_CONNECTS;
    return rc == VEL_EBUSY ? 0 : rc;
}

/* Send what waits, and begin what is to be begun. */
static void push(struct conn *conn)
{
    struct vel_err why = {0};
    int rc = 0;

    if (conn->is_broken || conn->state == CONN_DEAD)
        return;
    if (conn->state == CONN_AGAIN)
        rc = attempt(conn, &why);
    else if (conn->state != CONN_CONNECTS && vel_conn_waits(conn))
        rc = vel_conn_flush(conn, &why);
    if (conn->state == CONN_LAST && (rc < 0 || !vel_conn_waits(conn))) {
        vel_conn_close(conn);
        return;
    }
    if (rc == 0)
        return;
    if (conn->state != CONN_MET) {
        vel_conn_break(conn, &why);
        return;
    }
    /* what it has said before it went is still to be read */
    conn->is_mute = true;
    vel_buf_clear(&conn->out);
    conn->out_at = 0;
}

static short events_of(const struct conn *conn)
{
    short events = 0;

    if (conn->state == CONN_CONNECTS || vel_conn_waits(conn))
        events |= POLLOUT;
    if (vel_conn_listens(conn) && !vel_conn_has(conn))
        events |= POLLIN;
    else if (conn->state == CONN_MET && !conn->is_broken)
        events |= POLLRDHUP; /* its end is told even while it is not read */
    return events;
}

/* Deliver the messages that are there, as many as are its share. */
static void deliver(struct conn *conn)
{
    struct vel_err why = {0};
    struct vel_msg msg;
    int rc = 1;

    for (int n = 0; n < FAIR && rc > 0; n++) {
        if (conn->state == CONN_DEAD || conn->state == CONN_LAST ||
            (!conn->is_broken && !vel_conn_listens(conn)))
            return;
        rc = vel_conn_next(conn, &msg, &why);
        if (rc <= 0)
            break;
        if (conn->state != CONN_MET) {
            rc = vel_meeting_hear(conn, &msg, &why);
            rc = rc < 0 ? rc : 1;
            continue;
        }
        rc = vel_link_hear(conn->link, &msg, &why);
        if (rc > 0 && conn->links->ops.message)
            conn->links->ops.message(conn->links->arg, conn->link, &msg);
        rc = rc < 0 ? rc : 1;
    }
    if (conn->state == CONN_DEAD || conn->state == CONN_LAST)
        return;
    if (rc < 0)
        conn_lost(conn, &why);
    else if (conn->is_broken && !vel_conn_has(conn))
        conn_lost(conn, &conn->why);
}

/* What poll() said about a connection. */
static void move(struct conn *conn, short revents)
{
    struct vel_err why = {0};
    int rc = 0;

    if (conn->state == CONN_CONNECTS) {
        if (revents)
            rc = vel_meeting_begin(conn, &why);
        if (rc == 0 && conn->state == CONN_GREET) /* there it has little time */
            rc = vel_conn_flush(conn, &why);
        if (rc < 0)
            conn_lost(conn, &why);
        return;
    }
    if (conn->state == CONN_LAST && (revents & (POLLERR | POLLHUP)))
        vel_conn_close(conn);
    if (conn->state == CONN_LAST || conn->state == CONN_DEAD)
        return;
    /* who has hung up says nothing more than what is there: it is read in any case */
    bool has_hung_up = revents & (POLLERR | POLLHUP | POLLRDHUP);
    if (has_hung_up && !vel_conn_listens(conn)) {
        vel_fail(&why, VEL_ELOST, "the connection was closed");
        vel_conn_break(conn, &why);
    } else if (has_hung_up || (revents & POLLIN)) {
        rc = vel_conn_read(conn, &why);
        if (rc < 0)
            vel_conn_break(conn, &why);
    }
    deliver(conn);
}

static int poll_all(struct vel_links *links, unsigned limit_ms, size_t *ret_conns,
                    struct vel_err *err)
{
    size_t n = 0, nl = links->listeners.n, nc = links->conns.n;
    uint64_t now = vel_links_now(links);

    while (links->fds.n < 1 + nl + nc)
        if (!vel_vec_push(&links->fds, NULL))
            return vel_out_of_memory(err, "connections");
    struct pollfd *fds = links->fds.items;
    fds[n++] = (struct pollfd){.fd = links->wake[0], .events = POLLIN};
    for (size_t i = 0; i < nl; i++) {
        const struct listener *listener = vel_vec_at(&links->listeners, i);

        fds[n++] = (struct pollfd){.fd = now < listener->deaf_until ? -1 : listener->fd,
                                   .events = POLLIN};
    }
    for (size_t i = 0; i < nc; i++)
        fds[n++] = (struct pollfd){.fd = conn_at(links, i)->fd,
                                   .events = events_of(conn_at(links, i))};
    *ret_conns = nc;
    return vel_sock_poll(fds, n, limit_ms, err);
}

static void hear_wake(struct vel_links *links)
{
    char bytes[64];
    size_t got = 1;

    while (got > 0 &&
           vel_sock_recv(links->wake[0], bytes, sizeof bytes, &got, NULL) == 0) {
    }
    if (links->ops.wake)
        links->ops.wake(links->arg);
}

static void free_over(struct vel_links *links)
{
    for (size_t i = links->conns.n; i-- > 0;) {
        struct conn *conn = conn_at(links, i);

        if (conn->state != CONN_DEAD)
            continue;
        vel_conn_destroy(conn);
        vel_vec_remove(&links->conns, i);
    }
    for (size_t i = links->links.n; i-- > 0;) {
        struct vel_link *link = *(struct vel_link **)vel_vec_at(&links->links, i);

        if (!link->is_over)
            continue;
        vel_link_destroy(link);
        vel_vec_remove(&links->links, i);
    }
}

static uint64_t tick_conn(struct conn *conn, uint64_t now)
{
    uint64_t limit = vel_links_limit(conn->links), next = UINT64_MAX;
    struct vel_err why = {0};

    if (conn->state == CONN_DEAD)
        return next;
    if (conn->state == CONN_MET) {
        if (vel_link_tick(conn->link, now, &next, &why) < 0)
            conn_lost(conn, &why);
        return next;
    }
    if (now - conn->since < limit) {
        next = conn->since + limit;
        if (conn->state == CONN_AGAIN && now + RETRY_MS * VEL_CLOCK_MS < next)
            next = now + RETRY_MS * VEL_CLOCK_MS;
        return next;
    }
    vel_fail(&why, VEL_ETIMEOUT, "no answer for %.1f s",
             (double)limit / (double)VEL_CLOCK_S);
    conn_lost(conn, &why);
    return next;
}

/* What the clock says, and when it wants to be asked again. */
static void tick(struct vel_links *links, uint64_t polled)
{
    uint64_t now = vel_links_now(links), next = UINT64_MAX;

    /* frozen since we looked what has come: look again before judging others */
    if (now - polled >= vel_links_limit(links) / 4) {
        links->is_hasty = true;
        return;
    }
    for (size_t i = 0; i < links->conns.n; i++) {
        uint64_t at = tick_conn(conn_at(links, i), now);

        next = at < next ? at : next;
    }
    for (size_t i = 0; i < links->listeners.n; i++) {
        const struct listener *listener = vel_vec_at(&links->listeners, i);

        if (now < listener->deaf_until && listener->deaf_until < next)
            next = listener->deaf_until;
    }
    links->next = next;
}

/* Attempts that came to nothing at once have no connection that could tell. */
static void tell_stillborn(struct vel_links *links)
{
    for (size_t i = 0; i < links->links.n; i++) {
        struct vel_link *link = *(struct vel_link **)vel_vec_at(&links->links, i);

        if (!link->is_over && !link->conn && link->attempts == 0)
            tell_gone(link, &link->why);
    }
}

/* Is there anything to do without waiting? */
static bool is_ready(const struct conn *conn)
{
    return conn->is_broken || (vel_conn_listens(conn) && vel_conn_has(conn));
}

static unsigned wait_of(const struct vel_links *links, unsigned limit_ms)
{
    uint64_t now = vel_links_now(links), left;

    if (links->is_hasty)
        return 0;
    for (size_t i = 0; i < links->conns.n; i++)
        if (is_ready(conn_at(links, i)))
            return 0;
    left = links->next > now ? (links->next - now - 1) / VEL_CLOCK_MS + 1 : 0;
    return left < limit_ms ? (unsigned)left : limit_ms;
}

int vel_links_turn(struct vel_links *links, unsigned limit_ms, struct vel_err *err)
{
    size_t polled = 0, nl = links->listeners.n;
    int rc;

    links->is_hasty = false;
    for (size_t i = 0; i < links->conns.n; i++)
        push(conn_at(links, i));
    rc = poll_all(links, wait_of(links, limit_ms), &polled, err);
    if (rc < 0)
        return rc;
    uint64_t now = vel_links_now(links);
    const struct pollfd *fds = links->fds.items;
    for (size_t i = 0; i < polled; i++)
        move(conn_at(links, i), fds[1 + nl + i].revents);
    for (size_t i = 0; i < nl; i++)
        if (fds[1 + i].revents)
            accept_all(links, vel_vec_at(&links->listeners, i));
    tell_stillborn(links);
    tick(links, now);
    if (fds[0].revents)
        hear_wake(links);
    free_over(links);
    return 0;
}
