/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm/sock_comm.h"
#include "tap/clocks.h"
#include "tap/sockjob.h"
#include "tap/tap.h"

enum { MEMBERS_MOST = 64, PATH_MOST = 1100, FDS = 256 };

struct job {
    int n;
    const struct vel_comm_sock_conf *conf;
    struct vel_comm_listener *listeners[MEMBERS_MOST];
    const char *endpoints[MEMBERS_MOST];
};

static int *pids; /* shared by all members of the job that runs */

int sockjob_pid(int rank)
{
    return pids[rank];
}

static int member_run(const struct job *job, int rank,
                      int (*member)(struct vel_comm *comm, void *arg), void *arg)
{
    static const uint8_t token[VEL_COMM_TOKEN] = "sockjob";
    struct vel_comm *comm = NULL;
    struct vel_err err = {0};
    pids[rank] = getpid();
    tap_clock_of(rank);
    int rc = vel_comm_sock_meet(job->listeners[rank], rank, job->n, job->endpoints,
                                token, job->conf, &comm, &err);
    if (rc < 0) {
        fprintf(stderr, "# member %d: %s\n", rank, err.text);
        return 1;
    }
    rc = member(comm, arg);
    if (rc != 0)
        fprintf(stderr, "# member %d of %d: %d\n", rank, job->n, rc);
    vel_comm_destroy(comm);
    return rc != 0;
}

int sockjob_run_conf(int n, const char *kind, const struct vel_comm_sock_conf *conf,
                     int (*member)(struct vel_comm *comm, void *arg), void *arg)
{
    static int jobs;
    struct job job = {.n = n, .conf = conf};
    int failed = 0, status = 0;
    size_t room = MEMBERS_MOST * sizeof *pids;

    pids = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (pids == MAP_FAILED || n > MEMBERS_MOST)
        bail_out("a job of %d members cannot be made", n);
    jobs++;
    for (int i = 0; i < n; i++) {
        char endpoint[PATH_MOST] = "tcp:127.0.0.1:0";
        struct vel_err err = {0};
        if (strcmp(kind, "unix") == 0)
            snprintf(endpoint, sizeof endpoint, "unix:%s/s%d.%d", tap_dir(), jobs, i);
        if (vel_comm_sock_listen(endpoint, &job.listeners[i], &err) < 0)
            bail_out("%s", err.text);
        job.endpoints[i] = vel_comm_listener_endpoint(job.listeners[i]);
    }
    fflush(NULL);
    pid_t mine[MEMBERS_MOST];
    for (int i = 0; i < n; i++) {
        mine[i] = fork();
        if (mine[i] < 0)
            bail_out("fork failed");
        if (mine[i] == 0)
            _exit(member_run(&job, i, member, arg));
    }
    for (int i = 0; i < n; i++)
        failed += waitpid(mine[i], &status, 0) < 0 || status != 0;
    for (int i = 0; i < n; i++)
        vel_comm_listener_destroy(job.listeners[i]);
    munmap(pids, room);
    pids = NULL;
    return failed;
}

int sockjob_run_limit(int n, const char *kind, unsigned limit_ms,
                      int (*member)(struct vel_comm *comm, void *arg), void *arg)
{
    const struct vel_comm_sock_conf conf = {.limit_ms = limit_ms};

    return sockjob_run_conf(n, kind, &conf, member, arg);
}

int sockjob_run(int n, const char *kind,
                int (*member)(struct vel_comm *comm, void *arg), void *arg)
{
    return sockjob_run_limit(n, kind, 30000, member, arg);
}

/* Every connection of this process; the listeners, which all members share, are none.
 */
static size_t connections(int fds[FDS])
{
    size_t n = 0;

    for (int fd = 0; fd < FDS; fd++) {
        struct sockaddr_storage peer;
        socklen_t len = sizeof peer;

        if (getpeername(fd, (struct sockaddr *)&peer, &len) == 0)
            fds[n++] = fd;
    }
    return n;
}

/* As far as it is taken, within `wait_ms` each time: it may be full, since its reader
 * has had enough. False: not all of it. */
static bool say_to(int fd, const void *bytes, size_t len, int wait_ms)
{
    const char *at = bytes;

    while (len > 0) {
        struct pollfd ready = {.fd = fd, .events = POLLOUT};
        bool is_ready = poll(&ready, 1, wait_ms) > 0;
        ssize_t sent = is_ready ? send(fd, at, len, MSG_NOSIGNAL) : -1;

        if (sent < 0)
            return false;
        at += sent;
        len -= (size_t)sent;
    }
    return true;
}

void sockjob_say(const void *bytes, size_t len)
{
    int fds[FDS];
    size_t n = connections(fds);

    for (size_t i = 0; i < n; i++)
        say_to(fds[i], bytes, len, -1);
}

void sockjob_say_frame(struct vel_comm *comm, const struct frame *frame,
                       const void *bytes, unsigned times)
{
    const struct sock_mesh *mesh = ((struct sock *)comm)->mesh;
    int wait_ms = times > 1 ? 0 : -1;

    for (int i = 0; i < mesh->size; i++) {
        struct sock_peer *p = &mesh->peers[i];
        struct frame f = *frame;
        bool goes_on = p->fd >= 0;

        if (bytes)
            f.sum = vel_frame_sum(&p->says, bytes, f.len);
        for (unsigned k = 0; goes_on && k < times; k++) {
            uint8_t header[FRAME_LEN];

            vel_frame_encode(&f, &p->says, header);
            goes_on = say_to(p->fd, header, sizeof header, wait_ms) &&
                      (!bytes || say_to(p->fd, bytes, (size_t)f.len, wait_ms));
            p->says.n++;
        }
    }
}

void sockjob_hang_up(int rank)
{
    int fds[FDS];
    size_t n = connections(fds);
    char end[16];

    snprintf(end, sizeof end, ".%d", rank);
    for (size_t i = 0; i < n; i++) {
        struct sockaddr_un peer = {0};
        socklen_t len = sizeof peer - 1;

        getpeername(fds[i], (struct sockaddr *)&peer, &len);
        const char *dot = strrchr(peer.sun_path, '.');
        if (peer.sun_family == AF_UNIX && dot != NULL && strcmp(dot, end) == 0)
            shutdown(fds[i], SHUT_WR);
    }
}
