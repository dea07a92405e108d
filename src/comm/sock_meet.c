/* SPDX-License-Identifier: BSD-3-Clause */
/* sock_meet - how members find each other and prove that they belong together.
 *
 * Everyone connects to the lower ranks and is connected to by the higher ones. Until
 * its first words show that it knows the token, a connection is a stranger's: it has a
 * bounded number of bytes, a place among few, and is closed without harm to anyone when
 * it errs. Then it has the place of its rank, which nobody takes.
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

enum {
    STRANGERS = 64,
    GRACE = 1000, /* a stranger is let be for the limit by that */
    RETRY_MS = 20,
    ASK_MS = 50,
    HELLO_ALL = HELLO_LEN + VEL_PROOF,
    REPLY_ALL = VEL_NONCE + VEL_PROOF
};

enum link_state {
    LINK_NONE, /* a free place, or a connection that is still to be begun */
    LINK_CONNECTS,
    LINK_REPLY, /* said hello, wants the other's nonce and proof */
    LINK_HELLO, /* wants a stranger's hello */
    LINK_PROOF, /* wants the proof of who has said hello */
    LINK_LAST   /* the last words leave, then it is done */
};

struct link {
    enum link_state state;
    int fd;
    int peer;
    uint8_t words[VEL_SOCK_PLACE + HELLO_LEN + VEL_NONCE]; /* that proofs are of */
    size_t words_len;
    uint8_t in[HELLO_ALL];
    size_t in_got, in_len;
    uint8_t out[HELLO_ALL];
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
    struct link *links;   /* one per rank, then the strangers */
    struct pollfd *fds;   /* the same, then the listener */
    size_t n;
    int missing;
    uint64_t deaf_until; /* nobody is accepted before */
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

/* --- words --- */

static void add_words(struct link *link, const void *bytes, size_t len)
{
    memcpy(link->words + link->words_len, bytes, len);
    link->words_len += len;
}

/* They begin with where one is connected to; then comes hello. */
static int begin_words(struct link *link, bool is_accepted, const uint8_t *hello,
                       struct vel_err *err)
{
    char place[VEL_SOCK_PLACE];
    int rc = vel_sock_place(link->fd, is_accepted, place, err);

    if (rc < 0)
        return rc;
    link->words_len = 0;
    add_words(link, place, strlen(place) + 1);
    add_words(link, hello, HELLO_LEN);
    return 0;
}

static void prove(const struct meeting *m, const struct link *link,
                  enum vel_proof_side side, uint8_t ret_proof[VEL_PROOF])
{
    vel_proof_make(m->token, side, link->words, link->words_len, ret_proof);
}

static int check_proof(const struct meeting *m, const struct link *link,
                       enum vel_proof_side side, const uint8_t *got,
                       struct vel_err *err)
{
    uint8_t want[VEL_PROOF];

    prove(m, link, side, want);
    return vel_proof_check(got, want, err);
}

static int hello_say(struct meeting *m, struct link *link, struct vel_err *err)
{
    struct hello hello = {.from = (uint32_t)m->mesh->rank,
                          .to = (uint32_t)link->peer,
                          .size = (uint32_t)m->mesh->size};
    uint8_t out[HELLO_ALL];
    int rc = vel_sock_connected(link->fd, m->endpoints[link->peer], err);
    if (rc == 0)
        rc = user_check(link->fd, err);
    if (rc == 0)
        rc = vel_entropy(hello.nonce, sizeof hello.nonce, err);
    vel_hello_encode(&hello, out);
    if (rc == 0)
        rc = begin_words(link, false, out, err);
    if (rc < 0)
        return rc;
    prove(m, link, VEL_PROOF_KNOCKS, out + HELLO_LEN);
    link_say(link, out, HELLO_ALL, LINK_REPLY, REPLY_ALL);
    return 0;
}

/* From here on it is no stranger's: it has the place of its rank. */
static int hello_heard(struct meeting *m, struct link *link, struct vel_err *err)
{
    struct hello hello;
    uint8_t reply[REPLY_ALL];
    int rc = user_check(link->fd, err);
    if (rc == 0)
        rc = vel_hello_decode(link->in, &hello, err);
    if (rc == 0 &&
        (hello.to != (uint32_t)m->mesh->rank || hello.size != (uint32_t)m->mesh->size ||
         hello.from <= hello.to || hello.from >= hello.size))
        rc = vel_fail(err, VEL_EINVAL, "it looks for someone else");
    if (rc == 0)
        rc = begin_words(link, true, link->in, err);
    if (rc == 0)
        rc = check_proof(m, link, VEL_PROOF_KNOCKS, link->in + HELLO_LEN, err);
    if (rc == 0)
        rc = vel_entropy(reply, VEL_NONCE, err);
    if (rc < 0)
        return rc;
    struct link *place = &m->links[hello.from];
    if (place->state != LINK_NONE || m->mesh->peers[hello.from].fd >= 0)
        return vel_fail(err, VEL_EEXIST, "rank %u is here already", hello.from);
    link->peer = (int)hello.from;
    add_words(link, reply, VEL_NONCE);
    prove(m, link, VEL_PROOF_ACCEPTS, reply + VEL_NONCE);
    link_say(link, reply, REPLY_ALL, LINK_PROOF, VEL_PROOF);
    *place = *link;
    *link = (struct link){.fd = -1};
    return 0;
}

static int reply_heard(struct meeting *m, struct link *link, struct vel_err *err)
{
    uint8_t proof[VEL_PROOF];

    add_words(link, link->in, VEL_NONCE);
    int rc = check_proof(m, link, VEL_PROOF_ACCEPTS, link->in + VEL_NONCE, err);
    if (rc < 0)
        return rc;
    prove(m, link, VEL_PROOF_CONNECTS, proof);
    link_say(link, proof, VEL_PROOF, LINK_LAST, 0);
    return 0;
}

/* The connection is a member's: the mesh has it from here on. */
static int link_adopt(struct meeting *m, struct link *link, struct vel_err *err)
{
    struct sock_peer *p = &m->mesh->peers[link->peer];
    if (p->fd >= 0)
        return vel_fail(err, VEL_EEXIST, "rank %d is connected already", link->peer);
    vel_mac_begin(&p->says, &p->hears, m->token,
                  link->peer < m->mesh->rank ? VEL_PROOF_CONNECTS : VEL_PROOF_ACCEPTS,
                  link->words, link->words_len);
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
    if (rc == VEL_ELOST && link->state == LINK_REPLY)
        vel_fail(err, rc,
                 "it closed the connection at our first words: it does not "
                 "know our token, or was ended");
    if (rc < 0 || link->in_got < link->in_len)
        return rc;
    if (link->state == LINK_HELLO)
        return hello_heard(m, link, err);
    if (link->state == LINK_REPLY)
        return reply_heard(m, link, err);
    rc = check_proof(m, link, VEL_PROOF_CONNECTS, link->in, err);
    return rc < 0 ? rc : link_adopt(m, link, err);
}

/* A place for one more stranger, be it of one who then leaves; NULL, and *ret_when
 * there may be one. Who has just come is given the time to say who he is. */
static struct link *make_place(struct meeting *m, uint64_t now, uint64_t *ret_when)
{
    uint64_t grace = m->mesh->limit_ms * VEL_CLOCK_MS / GRACE;
    struct link *place = &m->links[m->mesh->size];

    for (struct link *link = place; link < m->links + m->n; link++) {
        if (link->state == LINK_NONE)
            return link;
        if (link->since < place->since)
            place = link;
    }
    if (now - place->since < grace) {
        *ret_when = place->since + grace;
        return NULL;
    }
    return place;
}

static int strangers_accept(struct meeting *m, struct vel_err *err)
{
    uint64_t now = vel_clock_monotonic(vel_clock_system());

    for (int n = 0; n < STRANGERS; n++) {
        struct link *place = make_place(m, now, &m->deaf_until);
        int fd = -1;
        if (place == NULL)
            return 0;
        int rc = vel_sock_accept(m->listener->fd, m->patience_ms, &fd, err);
        if (rc < 0 || fd < 0)
            return rc;
        link_close(place);
        *place = (struct link){.state = LINK_HELLO,
                               .fd = fd,
                               .peer = -1,
                               .in_len = HELLO_ALL,
                               .since = now};
    }
    return 0;
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
    uint64_t now = vel_clock_monotonic(vel_clock_system());
    bool is_deaf = now < m->deaf_until;
    unsigned deaf_ms = (unsigned)((m->deaf_until - now) / VEL_CLOCK_MS) + 1;
    m->fds[m->n] =
        (struct pollfd){.fd = is_deaf ? -1 : m->listener->fd, .events = POLLIN};
    int rc = vel_sock_poll(m->fds, m->n + 1,
                           is_deaf && deaf_ms < wait_ms ? deaf_ms : wait_ms, err);
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
                        .n = (size_t)mesh->size + STRANGERS,
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
