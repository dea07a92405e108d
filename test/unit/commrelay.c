/* SPDX-License-Identifier: BSD-3-Clause */
/* The communicator over sockets and those who are none of its members: somebody between
 * two of them, who changes, makes up, repeats or keeps what they say, is noticed at
 * once; strangers who only knock keep nobody out. */
#define _GNU_SOURCE /* syscall */
#include "config.h"

#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm/sock_wire.h"
#include "sys/sock.h"
#include "tap/tap.h"

enum { GO = 100, MESSAGES = 5, SMALL = 8, LARGE = 200000, LIMIT_MS = 30000 };

static const uint8_t token[VEL_COMM_TOKEN] = "relay";
static struct vel_err err;

/* --- whom nobody sees: the relay's address is to both the listener's own --- */

static struct {
    bool is_hidden;
    in_port_t real, shown;
} address;

int getsockname(int fd, struct sockaddr *at, socklen_t *len)
{
    long rc = syscall(SYS_getsockname, fd, at, len);
    struct sockaddr_in *in = (struct sockaddr_in *)at;

    if (rc == 0 && address.is_hidden && in->sin_family == AF_INET &&
        in->sin_port == address.real)
        in->sin_port = address.shown;
    return (int)rc;
}

static in_port_t port_of(const char *endpoint)
{
    return htons((in_port_t)atoi(strrchr(endpoint, ':') + 1));
}

/* --- two members --- */

/* 0: all came as it was sent; 1: what is wrong was said, and nothing wrong was taken.
 */
static int listen_to(struct vel_comm *comm, size_t size)
{
    static char bytes[LARGE];

    if (vel_comm_send(comm, 1, GO, "", 1, NULL) < 0) /* both have met */
        return 4;
    for (uint32_t i = 1; i <= MESSAGES; i++) {
        struct vel_err why = {0};
        int rc = vel_comm_recv(comm, 1, i, bytes, size, &why);

        if (rc < 0) {
            fprintf(stderr, "# member 0, message %u: %s\n", i, why.text);
            return rc == VEL_ECORRUPT && strstr(why.text, "rank 1") ? 1 : 2;
        }
        for (size_t k = 0; k < size; k++)
            if (bytes[k] != (char)i)
                return 3;
    }
    return 0;
}

static void talk_to(struct vel_comm *comm, size_t size)
{
    static char bytes[LARGE];

    if (vel_comm_recv(comm, 0, GO, bytes, 1, NULL) < 0)
        return;
    for (uint32_t i = 1; i <= MESSAGES; i++) {
        memset(bytes, (int)i, size);
        if (vel_comm_send(comm, 0, i, bytes, size, NULL) < 0)
            return;
    }
    vel_comm_barrier(comm, NULL);
}

struct pair {
    struct vel_comm_listener *doors[2];
    const char *at[2];
    pid_t members[2];
};

static void pair_open(struct pair *p)
{
    for (int i = 0; i < 2; i++) {
        if (vel_comm_sock_listen("tcp:127.0.0.1:0", &p->doors[i], &err) < 0)
            bail_out("%s", err.text);
        p->at[i] = vel_comm_listener_endpoint(p->doors[i]);
    }
}

static void pair_close(struct pair *p)
{
    for (int i = 0; i < 2; i++)
        vel_comm_listener_destroy(p->doors[i]);
}

/* Member 1 is told that member 0 is at `at`. */
static void pair_start(struct pair *p, const char *at, size_t size)
{
    fflush(NULL);
    for (int rank = 0; rank < 2; rank++) {
        p->members[rank] = fork();
        if (p->members[rank] != 0)
            continue;
        struct vel_comm *comm = NULL;
        const char *told[2] = {at, p->at[1]};
        int rc = vel_comm_sock_create(p->doors[rank], rank, 2, rank == 1 ? told : p->at,
                                      token, LIMIT_MS, &comm, &err);
        if (rc < 0 && rank == 1) { /* and now without the relay */
            fprintf(stderr, "# member 1: %s\n", err.text);
            rc = vel_comm_sock_create(p->doors[rank], rank, 2, p->at, token, LIMIT_MS,
                                      &comm, &err) < 0
                     ? 5
                     : 6;
        }
        if (rc < 0)
            _exit(7);
        if (rank == 0)
            rc = listen_to(comm, size);
        else
            talk_to(comm, size);
        vel_comm_destroy(comm);
        _exit(rc);
    }
}

static int end_of(pid_t pid)
{
    int status = 0;

    if (waitpid(pid, &status, 0) < 0 || !WIFEXITED(status))
        return 99;
    return WEXITSTATUS(status);
}

/* --- the relay --- */

struct relay;
typedef void tamper_f(struct relay *relay, uint8_t *frame, size_t len);

struct relay {
    int listener, fds[2]; /* of member 1, and to member 0 */
    char *endpoint;
    tamper_f *tamper;
    uint8_t *in; /* of member 1 */
    size_t got;
    int frames; /* -1: hello, and its proof, are to come */
    uint8_t kept[FRAME_LEN + SMALL];
};

static void put(int fd, const void *bytes, size_t len)
{
    const char *at = bytes;

    while (len > 0) {
        struct pollfd ready = {.fd = fd, .events = POLLOUT};
        ssize_t sent = poll(&ready, 1, -1) > 0 ? send(fd, at, len, MSG_NOSIGNAL) : -1;

        if (sent < 0)
            return;
        at += sent;
        len -= (size_t)sent;
    }
}

static size_t len_of(const struct relay *relay)
{
    uint64_t len = 0;

    if (relay->frames < 0)
        return HELLO_LEN + 2 * VEL_PROOF;
    if (relay->got < FRAME_LEN)
        return FRAME_LEN;
    memcpy(&len, relay->in + 24, sizeof len);
    return FRAME_LEN + (size_t)len;
}

static bool read_some(struct relay *relay)
{
    static char back[65536];
    struct pollfd fds[2] = {{.fd = relay->fds[0], .events = POLLIN},
                            {.fd = relay->fds[1], .events = POLLIN}};
    size_t want = len_of(relay) - relay->got;

    poll(fds, 2, -1);
    if (fds[1].revents) {
        ssize_t n = recv(relay->fds[1], back, sizeof back, MSG_DONTWAIT);
        if (n <= 0)
            return false;
        put(relay->fds[0], back, (size_t)n);
    }
    if (!fds[0].revents)
        return true;
    if (relay->frames < 0 && relay->got < HELLO_LEN + VEL_PROOF)
        want = HELLO_LEN + VEL_PROOF - relay->got;
    ssize_t n = recv(relay->fds[0], relay->in + relay->got, want, MSG_DONTWAIT);
    if (n <= 0)
        return false;
    if (relay->frames < 0) /* as it comes: the reply is between both */
        put(relay->fds[1], relay->in + relay->got, (size_t)n);
    relay->got += (size_t)n;
    return true;
}

/* Until one of them has hung up. */
static void relay_run(struct relay *relay, const char *real)
{
    struct pollfd knock = {.fd = relay->listener, .events = POLLIN};

    relay->in = malloc(FRAME_LEN + LARGE);
    relay->frames = -1;
    poll(&knock, 1, -1);
    if (vel_sock_accept(relay->listener, 1000, &relay->fds[0], &err) < 0 ||
        vel_sock_connect(real, 1000, &relay->fds[1], &err) < 0)
        bail_out("%s", err.text);
    while (read_some(relay)) {
        size_t len = len_of(relay);

        if (relay->got < len)
            continue;
        if (relay->frames++ >= 0) {
            /* the fold of the first barrier comes before all messages */
            if (relay->tamper && relay->in[6] == FRAME_DATA && relay->in[20] == 3 &&
                len > FRAME_LEN)
                relay->tamper(relay, relay->in, len);
            else
                put(relay->fds[1], relay->in, len);
        }
        relay->got = 0;
    }
    shutdown(relay->fds[0], SHUT_RDWR);
    shutdown(relay->fds[1], SHUT_RDWR);
    vel_sock_close(relay->fds[0]);
    vel_sock_close(relay->fds[1]);
    free(relay->in);
}

static void change_bytes(struct relay *relay, uint8_t *frame, size_t len)
{
    frame[len - 1] ^= 1;
    put(relay->fds[1], frame, len);
}

static void change_tag(struct relay *relay, uint8_t *frame, size_t len)
{
    frame[20] = 4;
    put(relay->fds[1], frame, len);
}

static void repeat(struct relay *relay, uint8_t *frame, size_t len)
{
    put(relay->fds[1], frame, len);
    put(relay->fds[1], frame, len);
}

static void leave_out(struct relay *relay, uint8_t *frame, size_t len)
{
    (void)relay, (void)frame, (void)len;
}

static void make_up(struct relay *relay, uint8_t *frame, size_t len)
{
    static const struct vel_mac none;
    uint8_t bytes[FRAME_LEN], old[SMALL] = {3, 3, 3, 3, 3, 3, 3, 9};
    const struct frame own = {
        .kind = FRAME_DATA, .comm = 1, .from = 1, .tag = 3, .len = SMALL};

    vel_frame_encode(&own, &none, bytes);
    put(relay->fds[1], bytes, sizeof bytes);
    put(relay->fds[1], old, sizeof old);
    put(relay->fds[1], frame, len);
}

/* What became of member 0; *ret_talker: and of member 1. */
static int pass_on(tamper_f *tamper, bool is_hidden, size_t size, int *ret_talker)
{
    struct relay relay = {.tamper = tamper};
    struct pair pair;

    pair_open(&pair);
    if (vel_sock_listen("tcp:127.0.0.1:0", &relay.listener, &relay.endpoint, &err) < 0)
        bail_out("%s", err.text);
    address.real = port_of(pair.at[0]);
    address.shown = port_of(relay.endpoint);
    address.is_hidden = is_hidden;
    pair_start(&pair, relay.endpoint, size);
    address.is_hidden = false;
    relay_run(&relay, pair.at[0]);
    int end = end_of(pair.members[0]);
    *ret_talker = end_of(pair.members[1]);
    vel_sock_close(relay.listener);
    free(relay.endpoint);
    pair_close(&pair);
    return end;
}

static void relays(void)
{
    int talker = 0, rc = pass_on(NULL, true, SMALL, &talker);

    ok(rc == 0 && talker == 0, "who passes all on is the network (%d, %d)", rc, talker);
    rc = pass_on(NULL, true, LARGE, &talker);
    ok(rc == 0 && talker == 0, "of long messages too (%d, %d)", rc, talker);
    rc = pass_on(NULL, false, SMALL, &talker);
    ok(rc == 0 && talker == 6,
       "a relay with another address passes nobody on; without it both meet (%d, %d)",
       rc, talker);
    rc = pass_on(change_bytes, true, SMALL, &talker);
    is_int(rc, 1, "a message that was changed is noticed");
    rc = pass_on(change_bytes, true, LARGE, &talker);
    is_int(rc, 1, "a long one, in which a bit was changed, too");
    rc = pass_on(change_tag, true, SMALL, &talker);
    is_int(rc, 1, "so is another tag");
    rc = pass_on(repeat, true, SMALL, &talker);
    is_int(rc, 1, "a message that comes twice");
    rc = pass_on(leave_out, true, SMALL, &talker);
    is_int(rc, 1, "one that does not come");
    rc = pass_on(make_up, true, SMALL, &talker);
    is_int(rc, 1, "and one that was made up");
}

/* --- strangers --- */

enum { MEMBERS = 20, BEFORE = 900, STRANGERS = 2500 };

static int member_of_many(struct vel_comm_listener *door, int rank,
                          const char *const *at)
{
    struct vel_comm *comm = NULL;
    int rc =
        vel_comm_sock_create(door, rank, MEMBERS, at, token, LIMIT_MS, &comm, &err);

    if (rc == 0)
        rc = vel_comm_barrier(comm, &err);
    if (rc < 0)
        fprintf(stderr, "# member %d: %s\n", rank, err.text);
    vel_comm_destroy(comm);
    return rc < 0;
}

static void strangers(void)
{
    struct vel_comm_listener *doors[MEMBERS];
    const char *at[MEMBERS];
    pid_t pids[MEMBERS];
    static int fds[STRANGERS];
    int failed = 0;

    for (int i = 0; i < MEMBERS; i++) {
        if (vel_comm_sock_listen("tcp:127.0.0.1:0", &doors[i], &err) < 0)
            bail_out("%s", err.text);
        at[i] = vel_comm_listener_endpoint(doors[i]);
    }
    for (int i = 0; i < STRANGERS; i++) {
        if (vel_sock_connect(at[0], LIMIT_MS, &fds[i], &err) < 0)
            bail_out("%s", err.text);
        for (int k = 0; i == BEFORE && k < MEMBERS; k++) {
            fflush(NULL);
            pids[k] = fork();
            if (pids[k] == 0)
                _exit(member_of_many(doors[k], k, at));
        }
    }
    for (int k = 0; k < MEMBERS; k++)
        failed += end_of(pids[k]) != 0;
    is_int(failed, 0, "%d members meet at once while %d strangers knock", MEMBERS,
           STRANGERS);
    for (int i = 0; i < STRANGERS; i++)
        vel_sock_close(fds[i]);
    for (int i = 0; i < MEMBERS; i++)
        vel_comm_listener_destroy(doors[i]);
}

int main(void)
{
    relays();
    strangers();
    return done_testing();
}
