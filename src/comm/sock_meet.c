/* SPDX-License-Identifier: BSD-3-Clause */
/* sock_meet - how members find each other and prove that they belong together.
 *
 * Everyone connects to the lower ranks and is connected to by the higher ones. Until it
 * has proved to know the token, a connection is a stranger's: it has a bounded number
 * of bytes, a place among few, and is closed without harm to anyone when it errs.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comm/sock_comm.h"
#include "sys/entropy.h"
#include "sys/fs.h"
#include "sys/sock.h"

struct vel_comm_listener {
    int fd;
    char *endpoint;
};

enum { STRANGERS = 64, RETRY_MS = 20, ASK_MS = 50 };

enum link_state {
    LINK_NONE, /* a free place, or a connection that is still to be begun */
    LINK_CONNECTS,
    LINK_REPLY, /* said hello, wants the other's nonce and proof */
    LINK_HELLO, /* wants a stranger's hello */
    LINK_PROOF, /* wants the stranger's proof */
    LINK_LAST   /* the last words leave, then it is done */
};

struct link {
    enum link_state state;
    int fd;
    int peer;
    uint8_t hello[HELLO_LEN];
    uint8_t want_proof[PROOF_LEN];
    uint8_t in[HELLO_LEN];
    size_t in_got, in_len;
    uint8_t out[HELLO_LEN];
    size_t out_sent, out_len;
    uint64_t since;
};

struct meeting {
    struct sock_mesh *mesh;
    const struct vel_comm_listener *listener;
    const uint8_t *token;
    const char *const *endpoints;
    const struct vel_comm_sock_conf *conf;
    unsigned patience_ms; /* that the system has with a peer that takes nothing */
    struct link *links;   /* one per lower rank, then the strangers */
    struct pollfd *fds;   /* the same, then the listener */
    size_t n;
    int missing;
};

int vel_comm_sock_listen(const char *endpoint, struct vel_comm_listener **ret_listener,
                         struct vel_err *err)
{
    struct vel_comm_listener *listener = calloc(1, sizeof *listener);
    if (listener == NULL)
        return vel_out_of_memory(err, "a listener");
    int rc = vel_sock_listen(endpoint, &listener->fd, &listener->endpoint, err);
    if (rc < 0) {
        free(listener);
        return rc;
    }
    *ret_listener = listener;
    return 0;
}

const char *vel_comm_listener_endpoint(const struct vel_comm_listener *listener)
{
    return listener->endpoint;
}

void vel_comm_listener_destroy(struct vel_comm_listener *listener)
{
    if (listener == NULL)
        return;
    vel_sock_close(listener->fd);
    if (strncmp(listener->endpoint, "unix:", 5) == 0)
        vel_fs_unlink(vel_fs_posix(), listener->endpoint + 5, NULL);
    free(listener->endpoint);
    free(listener);
}

static void link_say(struct link *link, const uint8_t *bytes, size_t len,
                     enum link_state state, size_t in_len)
{
    memcpy(link->out, bytes, len);
    link->out_len = len;
    link->out_sent = 0;
    link->in_got = 0;
    link->in_len = in_len;
    link->state = state;
}

static void link_close(struct link *link)
{
    vel_sock_close(link->fd);
    link->fd = -1;
    link->state = LINK_NONE;
}

/* The user at the other end of a Unix socket is ours. */
static int user_check(int fd, struct vel_err *err)
{
    uid_t uid = 0;
    int rc = vel_sock_peer_uid(fd, &uid, err);
    if (rc == VEL_EUNSUP)
        return 0;
    if (rc == 0 && uid != geteuid())
        rc = vel_fail(err, VEL_EUNSAFE, "it belongs to user %ld, we to %ld", (long)uid,
                      (long)geteuid());
    return rc;
}

static int hello_say(struct meeting *m, struct link *link, struct vel_err *err)
{
    struct hello hello = {.from = (uint32_t)m->mesh->rank,
                          .to = (uint32_t)link->peer,
                          .size = (uint32_t)m->mesh->size};
    int rc = vel_sock_connected(link->fd, m->endpoints[link->peer], err);
    if (rc == 0)
        rc = user_check(link->fd, err);
    if (rc == 0)
        rc = vel_entropy(hello.nonce, sizeof hello.nonce, err);
    if (rc < 0)
        return rc;
    vel_hello_encode(&hello, link->hello);
    link_say(link, link->hello, HELLO_LEN, LINK_REPLY, REPLY_LEN);
    return 0;
}

static int hello_heard(struct meeting *m, struct link *link, struct vel_err *err)
{
    struct hello hello;
    uint8_t reply[REPLY_LEN];
    memcpy(link->hello, link->in, HELLO_LEN);
    int rc = user_check(link->fd, err);
    if (rc == 0)
        rc = vel_hello_decode(link->hello, &hello, err);
    if (rc == 0 &&
        (hello.to != (uint32_t)m->mesh->rank || hello.size != (uint32_t)m->mesh->size ||
         hello.from <= hello.to || hello.from >= hello.size))
        rc = vel_fail(err, VEL_EINVAL, "it looks for someone else");
    if (rc == 0)
        rc = vel_entropy(reply, NONCE_LEN, err);
    if (rc < 0)
        return rc;
    link->peer = (int)hello.from;
    vel_proof_make(m->token, PROOF_ACCEPTS, link->hello, reply, reply + NONCE_LEN);
    vel_proof_make(m->token, PROOF_CONNECTS, link->hello, reply, link->want_proof);
    link_say(link, reply, REPLY_LEN, LINK_PROOF, PROOF_LEN);
    return 0;
}

static int reply_heard(struct meeting *m, struct link *link, struct vel_err *err)
{
    uint8_t proof[PROOF_LEN];
    vel_proof_make(m->token, PROOF_ACCEPTS, link->hello, link->in, proof);
    int rc = vel_proof_check(link->in + NONCE_LEN, proof, err);
    if (rc < 0)
        return rc;
    vel_proof_make(m->token, PROOF_CONNECTS, link->hello, link->in, proof);
    link_say(link, proof, PROOF_LEN, LINK_LAST, 0);
    return 0;
}

/* The connection is a member's: the mesh has it from here on. */
static int link_adopt(struct meeting *m, struct link *link, struct vel_err *err)
{
    struct sock_peer *p = &m->mesh->peers[link->peer];
    if (p->fd >= 0)
        return vel_fail(err, VEL_EEXIST, "rank %d is connected already", link->peer);
    p->fd = link->fd;
    p->heard = vel_clock_monotonic(vel_clock_system());
    link->fd = -1;
    link->state = LINK_NONE;
    m->missing--;
    return 0;
}

/* Go on with what poll() said is possible. */
static int link_move(struct meeting *m, struct link *link, struct vel_err *err)
{
    size_t moved = 0;
    int rc = 0;
    if (link->state == LINK_CONNECTS)
        rc = hello_say(m, link, err);
    if (rc == 0 && link->out_sent < link->out_len) {
        struct iovec part = {link->out + link->out_sent,
                             link->out_len - link->out_sent};
        rc = vel_sock_send(link->fd, &part, 1, &moved, err);
        link->out_sent += moved;
    }
    if (rc < 0 || link->out_sent < link->out_len)
        return rc;
    if (link->state == LINK_LAST)
        return link_adopt(m, link, err);
    moved = 0;
    rc = vel_sock_recv(link->fd, link->in + link->in_got, link->in_len - link->in_got,
                       &moved, err);
    link->in_got += moved;
    if (rc < 0 || link->in_got < link->in_len)
        return rc;
    if (link->state == LINK_HELLO)
        return hello_heard(m, link, err);
    if (link->state == LINK_REPLY)
        return reply_heard(m, link, err);
    rc = vel_proof_check(link->in, link->want_proof, err);
    return rc < 0 ? rc : link_adopt(m, link, err);
}

/* Everyone who knocks gets a place; when there is none, the one who is silent longest
 * has lost it. */
static int strangers_accept(struct meeting *m, struct vel_err *err)
{
    for (;;) {
        int fd = -1, rc = vel_sock_accept(m->listener->fd, m->patience_ms, &fd, err);
        if (rc < 0 || fd < 0)
            return rc;
        struct link *place = &m->links[m->mesh->rank];
        for (size_t i = (size_t)m->mesh->rank; i < m->n; i++) {
            struct link *link = &m->links[i];
            if (place->state == LINK_NONE)
                break;
            if (link->state == LINK_NONE || link->since < place->since)
                place = link;
        }
        link_close(place);
        *place = (struct link){.state = LINK_HELLO,
                               .fd = fd,
                               .peer = -1,
                               .in_len = HELLO_LEN,
                               .since = vel_clock_monotonic(vel_clock_system())};
    }
}

/* Begin the connections that are not begun. *ret_wait: how long to wait at most, for
 * one that found the other side too busy is tried again. */
static int links_begin(struct meeting *m, unsigned *ret_wait, struct vel_err *err)
{
    for (int i = 0; i < m->mesh->rank; i++) {
        struct link *link = &m->links[i];
        if (link->state != LINK_NONE || m->mesh->peers[i].fd >= 0)
            continue;
        link->peer = i;
        int rc = vel_sock_connect(m->endpoints[i], m->patience_ms, &link->fd, err);
        if (rc == VEL_EBUSY)
            *ret_wait = RETRY_MS;
        else if (rc < 0)
            return vel_wrap(err, rc, "rank %d (%s)", i, m->mesh->peers[i].name);
        else
            link->state = LINK_CONNECTS;
    }
    return 0;
}

static int links_poll(struct meeting *m, unsigned wait_ms, struct vel_err *err)
{
    for (size_t i = 0; i < m->n; i++) {
        const struct link *link = &m->links[i];
        bool writes = link->state == LINK_CONNECTS || link->out_sent < link->out_len;
        m->fds[i] = (struct pollfd){.fd = link->state == LINK_NONE ? -1 : link->fd,
                                    .events = writes ? POLLOUT : POLLIN};
    }
    m->fds[m->n] = (struct pollfd){.fd = m->listener->fd, .events = POLLIN};
    int rc = vel_sock_poll(m->fds, m->n + 1, wait_ms, err);
    for (size_t i = 0; rc == 0 && i < m->n; i++) {
        struct link *link = &m->links[i];
        struct vel_err why = {0};
        if (link->state == LINK_NONE || m->fds[i].revents == 0)
            continue;
        int bad = link_move(m, link, &why);
        if (bad < 0)
            link_close(link);
        if (bad < 0 && i < (size_t)m->mesh->rank)
            rc = vel_fail(err, bad, "rank %d (%s): %s", link->peer,
                          m->mesh->peers[link->peer].name, why.text);
    }
    if (rc == 0 && m->fds[m->n].revents != 0)
        rc = strangers_accept(m, err);
    return rc;
}

static int meeting_run(struct meeting *m, struct vel_err *err)
{
    struct vel_clock *clock = vel_clock_system();
    uint64_t end = vel_clock_deadline(clock, m->mesh->limit_ms * VEL_CLOCK_MS);
    while (m->missing > 0) {
        uint64_t now = vel_clock_monotonic(clock);
        if (now >= end)
            break;
        if (m->conf->goes_on && !m->conf->goes_on(m->conf->arg))
            return vel_fail(err, VEL_ECANCEL, "told to stop");
        unsigned wait_ms = (unsigned)((end - now) / VEL_CLOCK_MS) + 1;
        if (m->conf->goes_on && wait_ms > ASK_MS)
            wait_ms = ASK_MS;
        int rc = links_begin(m, &wait_ms, err);
        if (rc == 0)
            rc = links_poll(m, wait_ms, err);
        if (rc < 0)
            return rc;
    }
    for (int i = 0; m->missing > 0 && i < m->mesh->size; i++) {
        if (i != m->mesh->rank && m->mesh->peers[i].fd < 0)
            return vel_fail(err, VEL_ETIMEOUT,
                            "rank %d (%s): not connected after %u ms", i,
                            m->mesh->peers[i].name, m->mesh->limit_ms);
    }
    return 0;
}

/* A member that works may take nothing for so long. */
static unsigned patience(const struct vel_comm_sock_conf *conf)
{
    return conf->limit_ms + conf->busy_ms;
}

static int meet(struct sock_mesh *mesh, const struct vel_comm_listener *listener,
                const char *const *endpoints, const uint8_t *token,
                const struct vel_comm_sock_conf *conf, struct vel_err *err)
{
    struct meeting m = {.mesh = mesh,
                        .listener = listener,
                        .token = token,
                        .endpoints = endpoints,
                        .conf = conf,
                        .patience_ms = patience(conf),
                        .n = (size_t)mesh->rank + STRANGERS,
                        .missing = mesh->size - 1};
    int rc = 0;
    m.links = calloc(m.n, sizeof *m.links);
    m.fds = calloc(m.n + 1, sizeof *m.fds);
    for (int i = 0; i < mesh->size; i++) {
        mesh->peers[i].name = strdup(conf->names ? conf->names[i] : endpoints[i]);
        if (mesh->peers[i].name == NULL)
            rc = VEL_ENOMEM;
    }
    if (m.links == NULL || m.fds == NULL || rc < 0) {
        rc = vel_out_of_memory(err, "connections");
    } else {
        for (size_t i = 0; i < m.n; i++)
            m.links[i].fd = -1;
        rc = meeting_run(&m, err);
        for (size_t i = 0; i < m.n; i++)
            link_close(&m.links[i]);
    }
    free(m.links);
    free(m.fds);
    return rc;
}

int vel_comm_sock_meet(struct vel_comm_listener *listener, int rank, int size,
                       const char *const *endpoints,
                       const uint8_t token[VEL_COMM_TOKEN],
                       const struct vel_comm_sock_conf *conf,
                       struct vel_comm **ret_comm, struct vel_err *err)
{
    unsigned limit_ms = conf->limit_ms;
    struct sock_mesh *mesh = NULL;
    struct vel_comm *comm = NULL;
    struct vel_err cause = {0};
    if (size < 1 || rank < 0 || rank >= size || limit_ms < 1 || limit_ms > 1u << 30 ||
        conf->busy_ms > 1u << 30)
        return vel_fail(err, VEL_EINVAL,
                        "communicator of %d with rank %d and a limit of %u ms", size,
                        rank, limit_ms);
    int *members = calloc((size_t)size, sizeof *members);
    if (members == NULL)
        return vel_out_of_memory(err, "the members of a communicator");
    for (int i = 0; i < size; i++)
        members[i] = i;
    int rc = vel_mesh_create(rank, size, limit_ms, &mesh, &cause);
    if (rc == 0)
        rc = meet(mesh, listener, endpoints, token, conf, &cause);
    if (rc == 0) {
        rc = vel_sock_comm_take(mesh, 1, members, rank, size, &comm, &cause);
        members = NULL;
    }
    /* whoever met all may still wait for one who did not */
    if (rc == 0)
        rc = vel_comm_barrier(comm, &cause);
    if (rc == 0 && conf->busy_ms > 0)
        rc = vel_mesh_keep(mesh, conf->busy_ms, &cause);
    if (rc == 0) {
        *ret_comm = comm;
        return 0;
    }
    if (mesh != NULL)
        vel_mesh_break(mesh, &cause, NULL);
    if (comm != NULL)
        vel_comm_destroy(comm);
    else
        vel_mesh_release(mesh);
    free(members);
    vel_fail(err, rc, "connecting the members: %s", cause.text);
    return rc;
}

int vel_comm_sock_create(struct vel_comm_listener *listener, int rank, int size,
                         const char *const *endpoints,
                         const uint8_t token[VEL_COMM_TOKEN], unsigned limit_ms,
                         struct vel_comm **ret_comm, struct vel_err *err)
{
    const struct vel_comm_sock_conf conf = {.limit_ms = limit_ms};

    return vel_comm_sock_meet(listener, rank, size, endpoints, token, &conf, ret_comm,
                              err);
}
