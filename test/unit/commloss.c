/* SPDX-License-Identifier: BSD-3-Clause */
/* Members that are lost, silent, or none: everyone learns it, within the limit. */
#include "config.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm/sock_wire.h"
#include "sys/sock.h"
#include "tap/sockjob.h"
#include "tap/tap.h"

enum { N = 4, LIMIT_MS = 1500 };

struct loss {
    int signal;
    int victim;
    enum vel_status status;
};

/* 0 when the victim is the only one that does not return, and the others know it. */
static int lose(struct vel_comm *comm, void *arg)
{
    const struct loss *loss = arg;
    struct vel_err err = {0}, again = {0};
    char name[32];
    char byte = 0;
    snprintf(name, sizeof name, "rank %d (", loss->victim);

    if (comm->rank == loss->victim) {
        /* not before all others are past what they need this one for */
        for (int i = 0; i < N; i++) {
            if (i != comm->rank && vel_comm_recv(comm, i, 2, &byte, 1, NULL) < 0)
                return 1;
        }
        kill(getpid(), loss->signal);
        return 2;
    }
    if (vel_comm_send(comm, loss->victim, 2, &byte, 1, NULL) < 0)
        return 1;
    /* a chain: each waits for the one before, the first for the victim */
    int rc = vel_comm_recv(comm, (comm->rank + N - 1) % N, 1, &byte, 1, &err);
    /* who stands still is ended by the others, once it does not matter any more */
    kill(sockjob_pid(loss->victim), SIGKILL);
    fprintf(stderr, "# member %d: %s\n", comm->rank, err.text);
    /* a member that stands still is killed by the first who gives it up: the others may
     * find its connection closed before their own limit */
    bool is_told =
        rc == (int)loss->status || (loss->signal == SIGSTOP && rc == VEL_ELOST);
    if (!is_told || strncmp(err.text, name, strlen(name)) != 0)
        return 3;
    if (vel_comm_barrier(comm, &again) != rc || strcmp(again.text, err.text) != 0)
        return 4;
    return 0;
}

static int leave(struct vel_comm *comm, void *unused)
{
    struct vel_err err = {0};
    char byte = 0;
    (void)unused;
    if (vel_comm_barrier(comm, NULL) < 0 || comm->rank == 1)
        return 0;
    if (comm->rank == 0) /* still works with those who are there */
        return vel_comm_recv(comm, 2, 1, &byte, 1, NULL) < 0 ||
               vel_comm_send(comm, 3, 1, &byte, 1, NULL) < 0;
    if (comm->rank == 2 && vel_comm_send(comm, 0, 1, &byte, 1, NULL) < 0)
        return 1;
    /* a wait that fails breaks the communicator for all: not before the others are done
     */
    if (comm->rank == 3 && vel_comm_recv(comm, 0, 1, &byte, 1, NULL) < 0)
        return 1;
    if (comm->rank == 3)
        return vel_comm_recv(comm, 1, 1, &byte, 1, &err) != VEL_ELOST ||
               strstr(err.text, "rank 1 (") == NULL;
    return 0;
}

/* A message that is too long to be kept, but not for the connection: rank 0 is gone
 * before rank 1 asks for it. Until then rank 1 looks at its connections, by talking to
 * rank 2. */
static int say_and_leave(struct vel_comm *comm, void *unused)
{
    enum { SIZE = 100000 };
    static char bytes[SIZE];
    char is_over = 0;
    (void)unused;
    if (comm->rank == 0)
        return vel_comm_send(comm, 1, 1, bytes, SIZE, NULL) < 0;
    for (bool is_last = false; !is_last && !is_over;) {
        is_last = comm->rank == 1 && kill(sockjob_pid(0), 0) < 0;
        if (comm->rank == 1) {
            if (vel_comm_send(comm, 2, 2, &is_last, 1, NULL) < 0 ||
                vel_comm_recv(comm, 2, 3, &is_over, 1, NULL) < 0)
                return 1;
        } else if (vel_comm_recv(comm, 1, 2, &is_over, 1, NULL) < 0 ||
                   vel_comm_send(comm, 1, 3, &is_over, 1, NULL) < 0) {
            return 1;
        }
    }
    return comm->rank == 1 && vel_comm_recv(comm, 0, 1, bytes, SIZE, NULL) < 0;
}

/* So many bytes of others come. */
static void hear(int fd, int n)
{
    char byte;

    for (int heard = 0; heard < n;)
        heard += read(fd, &byte, 1) == 1;
}

/* Rank 0 gives up what it has half sent: all learn that, also who was receiving it.
 * Rank 1 takes nothing before it is half sent: it would be whole else, now and then. */
static int give_up(struct vel_comm *comm, void *arg)
{
    enum { SIZE = 32 << 20 };
    const int *pipes = arg; /* rank 0 to rank 1 */
    struct vel_req *req = NULL;
    struct vel_err err = {0};
    char *bytes = calloc(1, SIZE);
    vel_comm_barrier(comm, NULL); /* then all have their comm */
    if (comm->rank == 0) {
        int rc = vel_comm_isend(comm, 1, 1, bytes, SIZE, &req, NULL);
        bool is_told = write(pipes[1], "", 1) == 1;
        if (rc == 0)
            vel_comm_cancel_all(comm, &req, 1);
        if (rc < 0 || !is_told)
            return 2;
    }
    if (comm->rank == 1) {
        hear(pipes[0], 1);
        vel_comm_recv(comm, 0, 1, bytes, SIZE, &err);
    }
    int rc = vel_comm_barrier(comm, &err);
    free(bytes);
    fprintf(stderr, "# member %d: %s\n", comm->rank, err.text);
    return rc != VEL_ECANCEL ||
           strcmp(err.text, "rank 0 gave up a message in the middle") != 0;
}

/* Rank 2 sends what rank 0 does not expect, and is gone before rank 0 looks; rank 1,
 * which still has its connection, learns what was wrong, not that somebody went. */
static int lie_and_hang_up(struct vel_comm *comm, void *arg)
{
    const int *pipes = arg; /* rank 2 to rank 0, and the others to rank 2 */
    static const char bytes[5];
    char byte = 0;
    struct vel_err err = {0};

    alarm(60); /* who waits for one that has failed */
    if (vel_comm_barrier(comm, NULL) < 0)
        return 1;
    if (comm->rank == 2) {
        hear(pipes[2], 2); /* they need it no more */
        bool has_said = vel_comm_send(comm, 0, 1, bytes, sizeof bytes, NULL) == 0;
        sockjob_hang_up(0);
        bool is_told = write(pipes[1], "", 1) == 1;
        hear(pipes[2], 2); /* not a look at the connections before they are done */
        return !has_said || !is_told;
    }
    if (write(pipes[3], "", 1) != 1)
        return 1;
    if (comm->rank == 0)
        hear(pipes[0], 1);
    int rc = vel_comm_recv(comm, comm->rank == 0 ? 2 : 0, 1, &byte, 1, &err);
    fprintf(stderr, "# member %d: %s\n", comm->rank, err.text);
    if (write(pipes[3], "", 1) != 1)
        return 1;
    return rc != VEL_ECORRUPT || strstr(err.text, "message from rank 2") == NULL;
}

static void cause_comes_first(void)
{
    int pipes[4];

    if (pipe(pipes) < 0 || pipe(pipes + 2) < 0)
        bail_out("pipe failed");
    is_int(sockjob_run(3, "unix", lie_and_hang_up, pipes), 0,
           "what was wrong is what all learn, not that a connection was closed after");
    for (int i = 0; i < 4; i++)
        close(pipes[i]);
}

static void members_are_lost(const char *kind)
{
    struct loss killed = {SIGKILL, 1, VEL_ELOST}, stopped = {SIGSTOP, 2, VEL_ETIMEOUT};
    int pipes[2];

    if (pipe(pipes) < 0)
        bail_out("pipe failed");
    is_int(sockjob_run_limit(N, kind, 20000, lose, &killed), 1,
           "%s: a killed member ends all waits, and all know its name", kind);
    is_int(sockjob_run_limit(N, kind, LIMIT_MS, lose, &stopped), 1,
           "%s: a stopped member ends all waits at the limit", kind);
    is_int(sockjob_run(N, kind, leave, NULL), 0,
           "%s: who left in good order is missed only by who waits for it", kind);
    is_int(sockjob_run(N, kind, give_up, pipes), 0,
           "%s: the cause comes behind a message that was given up", kind);
    is_int(sockjob_run(3, kind, say_and_leave, NULL), 0,
           "%s: what a member said before it left is there", kind);
    close(pipes[0]);
    close(pipes[1]);
}

/* A whole conversation of a stranger: what it says, and whether it was closed for it.
 */
static int stranger_is_refused(const char *endpoint, const void *bytes, size_t len)
{
    struct iovec part = {(void *)bytes, len};
    struct pollfd ready = {.events = POLLOUT};
    char answer[256];
    size_t moved = 0;
    if (vel_sock_connect(endpoint, 5000, &ready.fd, NULL) < 0)
        return 0;
    vel_sock_poll(&ready, 1, 5000, NULL);
    int rc = len > 0 ? vel_sock_send(ready.fd, &part, 1, &moved, NULL) : 0;
    ready.events = POLLIN;
    while (rc == 0) {
        ready.revents = 0;
        vel_sock_poll(&ready, 1, 5000, NULL);
        if (ready.revents == 0)
            break;
        rc = vel_sock_recv(ready.fd, answer, sizeof answer, &moved, NULL);
    }
    vel_sock_close(ready.fd);
    return rc < 0;
}

static const uint8_t token[VEL_COMM_TOKEN] = "right", wrong[VEL_COMM_TOKEN] = "wrong";

/* Two members meet while strangers knock at the door of the first. */
static void strangers_are_refused(void)
{
    struct vel_comm_listener *doors[2];
    const char *at[2];
    struct vel_comm *comm = NULL;
    uint8_t hello[HELLO_LEN + VEL_PROOF] = {0}, old[sizeof hello];
    struct hello words = {.from = 1, .to = 0, .size = 2};
    int status = 0;
    for (int i = 0; i < 2; i++) {
        vel_comm_sock_listen("tcp:127.0.0.1:0", &doors[i], NULL);
        at[i] = vel_comm_listener_endpoint(doors[i]);
    }
    vel_hello_encode(&words, hello);
    memcpy(old, hello, sizeof old);
    old[4] = 9;
    pid_t first = fork();
    if (first == 0) {
        char byte = 0;
        int rc = vel_comm_sock_create(doors[0], 0, 2, at, token, 20000, &comm, NULL);
        rc = rc < 0 ? rc : vel_comm_recv(comm, 1, 1, &byte, 1, NULL);
        vel_comm_destroy(comm);
        _exit(rc < 0);
    }
    static const uint8_t garbage[600] = "GET / HTTP/1.1";
    ok(stranger_is_refused(at[0], garbage, sizeof garbage), "garbage is refused");
    ok(stranger_is_refused(at[0], old, sizeof old), "another version is refused");
    ok(stranger_is_refused(at[0], hello, sizeof hello), "a wrong proof is refused");
    struct vel_err err = {0};
    is_int(vel_comm_sock_create(doors[1], 1, 2, at, wrong, 20000, &comm, &err),
           VEL_ELOST, "a wrong token is refused");
    ok(strstr(err.text, "rank 0 (tcp:127.0.0.1:") != NULL, "and said: %s", err.text);
    char byte = 0;
    is_int(vel_comm_sock_create(doors[1], 1, 2, at, token, 20000, &comm, NULL), 0,
           "the right member is let in after all of them");
    is_int(vel_comm_send(comm, 0, 1, &byte, 1, NULL), 0, "and works");
    vel_comm_destroy(comm);
    waitpid(first, &status, 0);
    is_int(status, 0, "so does the one they disturbed");
    for (int i = 0; i < 2; i++)
        vel_comm_listener_destroy(doors[i]);
}

static void frames_are_checked(void)
{
    struct frame good = {
        .kind = FRAME_DATA, .comm = 5, .from = 3, .tag = 7, .len = 9, .sum = 11};
    const struct vel_mac first = {{1}, 0};
    struct frame got, f;
    uint8_t bytes[FRAME_LEN];
    struct vel_mac mac = first;
    vel_frame_encode(&good, &first, bytes);
    ok(vel_frame_decode(bytes, 3, &mac, &got, NULL) == 0 && got.len == 9 &&
           got.tag == 7 && got.sum == 11,
       "a frame is what was encoded");
    is_int(vel_frame_decode(bytes, 3, &mac, &got, NULL), VEL_ECORRUPT, "but once");
    mac = first;
    is_int(vel_frame_decode(bytes, 2, &mac, &got, NULL), VEL_ECORRUPT,
           "nobody speaks for another");
    int taken = 0;
    for (size_t i = 0; i < FRAME_LEN * 8; i++) {
        bytes[i / 8] ^= (uint8_t)(1 << i % 8);
        mac = first;
        taken += vel_frame_decode(bytes, 3, &mac, &got, NULL) == 0;
        bytes[i / 8] ^= (uint8_t)(1 << i % 8);
    }
    is_int(taken, 0, "a frame with any bit changed is refused");
    f = good;
    f.len = UINT64_MAX;
    vel_frame_encode(&f, &first, bytes);
    mac = first;
    is_int(vel_frame_decode(bytes, 3, &mac, &got, NULL), VEL_ECORRUPT,
           "a huge length too");
    f = (struct frame){.kind = FRAME_ALARM, .from = 3, .len = VEL_ERR_TEXT};
    vel_frame_encode(&f, &first, bytes);
    mac = first;
    is_int(vel_frame_decode(bytes, 3, &mac, &got, NULL), VEL_ECORRUPT,
           "a long alarm too");
}

static void endpoints_are_checked(void)
{
    struct vel_comm_listener *door = NULL;
    struct vel_err err = {0};
    char path[300];
    memset(path, 'x', sizeof path);
    memcpy(path, "unix:/tmp/", 10);
    path[sizeof path - 1] = '\0';
    is_int(vel_comm_sock_listen(path, &door, &err), VEL_EINVAL,
           "a long path is refused");
    ok(strstr(err.text, "shorter directory") != NULL, "with a remedy");
    is_int(vel_comm_sock_listen("udp:1", &door, NULL), VEL_EINVAL,
           "so is another kind");
    is_int(vel_comm_sock_listen("tcp:localhost:1", &door, NULL), VEL_EINVAL, "a name");
    is_int(vel_comm_sock_listen("tcp:127.0.0.1:70000", &door, NULL), VEL_EINVAL,
           "and a port that does not exist");
}

int main(void)
{
    int fds = tap_open_fds();
    members_are_lost("unix");
    members_are_lost("tcp");
    cause_comes_first();
    strangers_are_refused();
    frames_are_checked();
    endpoints_are_checked();
    is_int(tap_open_fds(), fds, "no descriptor stays open");
    return done_testing();
}
