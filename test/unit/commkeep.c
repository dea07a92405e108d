/* SPDX-License-Identifier: BSD-3-Clause */
/* Members that work for longer than the limit are not taken for dead; members that do
 * not come back at all are. Work is imitated by a pause: nothing depends on how long it
 * really is, but that it is longer than the limit. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "config.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/clock.h"
#include "tap/sockjob.h"
#include "tap/tap.h"

enum { N = 3, LIMIT_MS = 1500, LONG_MS = 2 * LIMIT_MS, FOR_EVER_MS = 60000 };
/* where all have much to do: beside hundreds of threads that run, as tests of large
 * communicators are, a thread that wakes up may wait for its turn for a second */
enum { FULL_LIMIT_MS = 3 * LIMIT_MS, FULL_LONG_MS = FULL_LIMIT_MS + LIMIT_MS };
enum { BIG = 24 << 20 }; /* more than the system keeps of a connection */

static const char *const names[] = {"node a", "node b", "node c"};

static void work(unsigned ms)
{
    vel_clock_sleep(vel_clock_system(), ms * VEL_CLOCK_MS);
}

/* Rank 1 works, rank 0 waits for it, rank 2 for rank 0. */
static int one_works(struct vel_comm *comm, void *unused)
{
    char byte = 0;

    (void)unused;
    if (comm->rank == 1)
        work(LONG_MS);
    int rc = comm->rank == 1
                 ? vel_comm_send(comm, 0, 1, &byte, 1, NULL)
                 : vel_comm_recv(comm, comm->rank == 0 ? 1 : 0, 1, &byte, 1, NULL);
    if (rc == 0 && comm->rank == 0)
        rc = vel_comm_send(comm, 2, 1, &byte, 1, NULL);
    return rc == 0 ? vel_comm_barrier(comm, NULL) : rc;
}

/* Rank 1 works while it is being sent more than its system keeps, and while it has not
 * sent all of what it has to send: neither side may give the other up. */
static int works_in_the_middle(struct vel_comm *comm, void *unused)
{
    struct vel_req *reqs[2] = {NULL};
    struct vel_err err = {0};
    char *out = calloc(1, BIG), *in = malloc(BIG);
    int peer = comm->rank == 0 ? 1 : 0, rc = 0;

    (void)unused;
    if (comm->rank < 2) {
        rc = vel_comm_isend(comm, peer, 1, out, BIG, &reqs[0], &err);
        if (rc == 0 && comm->rank == 1)
            work(FULL_LONG_MS);
        if (rc == 0)
            rc = vel_comm_irecv(comm, peer, 1, in, BIG, &reqs[1], &err);
        if (rc == 0)
            rc = vel_comm_wait_all(comm, reqs, 2, &err);
        vel_comm_cancel_all(comm, reqs, 2);
    }
    if (rc == 0)
        rc = vel_comm_barrier(comm, &err);
    if (rc < 0)
        fprintf(stderr, "# member %d: %s\n", comm->rank, err.text);
    free(out);
    free(in);
    return rc;
}

/* What everybody says when rank 1 never comes: 0 when it is `want`, with its name. */
static int missed(struct vel_comm *comm, enum vel_status want)
{
    struct vel_err err = {0};
    int rc = vel_comm_barrier(comm, &err);

    fprintf(stderr, "# member %d: %s\n", comm->rank, err.text);
    return rc != (int)want || strncmp(err.text, "rank 1 (node b): ", 17) != 0;
}

static int works_for_ever(struct vel_comm *comm, void *unused)
{
    (void)unused;
    if (comm->rank == 1)
        work(LONG_MS); /* longer than it may */
    return missed(comm, VEL_ETIMEOUT);
}

/* Not before all others have their communicator. */
static int after_all(struct vel_comm *comm, int signal)
{
    char byte = 0;

    if (comm->rank != 1)
        return vel_comm_send(comm, 1, 1, &byte, 1, NULL);
    for (int i = 0; i < N; i++)
        if (i != 1 && vel_comm_recv(comm, i, 1, &byte, 1, NULL) < 0)
            return 1;
    return kill(getpid(), signal);
}

/* Both of the others have missed it before it is killed: its end closes its
 * connections, and who had still waited for it would hear of that. */
static int stands_still(struct vel_comm *comm, void *done)
{
    atomic_int *missed_it = done;

    if (after_all(comm, SIGSTOP) < 0)
        return 1;
    int bad = missed(comm, VEL_ETIMEOUT);
    if (atomic_fetch_add(missed_it, 1) + 1 == N - 1)
        kill(sockjob_pid(1), SIGKILL);
    return bad;
}

static int dies_at_work(struct vel_comm *comm, void *unused)
{
    (void)unused;
    return after_all(comm, SIGKILL) < 0 || missed(comm, VEL_ELOST);
}

/* All stand still for longer than the limit, as on a machine that does, and those who
 * wait go on long before the one that they wait for. */
static int all_stand_still(struct vel_comm *comm, void *unused)
{
    char byte = 0;
    int rc = vel_comm_barrier(comm, NULL);
    pid_t pid = rc == 0 && comm->rank == 1 ? fork() : -1;

    (void)unused;
    if (pid == 0) {
        for (int i = 0; i < N; i++)
            kill(sockjob_pid(i), SIGSTOP);
        work(2 * LIMIT_MS);
        kill(sockjob_pid(0), SIGCONT);
        kill(sockjob_pid(2), SIGCONT);
        work(LIMIT_MS / 4);
        kill(sockjob_pid(1), SIGCONT);
        _exit(0);
    }
    if (rc == 0 && comm->rank == 1) {
        waitpid(pid, NULL, 0); /* it is stopped in that */
        rc = vel_comm_send(comm, 0, 1, &byte, 1, NULL);
    } else if (rc == 0 && comm->rank == 0) {
        rc = vel_comm_recv(comm, 1, 1, &byte, 1, NULL);
    }
    return rc == 0 ? vel_comm_barrier(comm, NULL) : rc;
}

static bool stands_in_recv;

/* The member's own: one that is to stand still does so when it has read something. */
ssize_t recv(int fd, void *bytes, size_t len, int flags)
{
    union {
        void *symbol;
        ssize_t (*call)(int, void *, size_t, int);
    } next = {dlsym(RTLD_NEXT, "recv")};
    ssize_t got = next.call(fd, bytes, len, flags);

    if (stands_in_recv && got > 0) {
        stands_in_recv = false;
        work(LONG_MS);
    }
    return got;
}

/* Rank 0 stands still between its look at the others and its judgement of rank 1, which
 * works for as long. */
static int stands_still_at_a_look(struct vel_comm *comm, void *unused)
{
    struct vel_err err = {0};
    char byte = 0;
    int rc = 0;

    (void)unused;
    if (comm->rank == 0) {
        stands_in_recv = true;
        rc = vel_comm_send(comm, 2, 1, &byte, 1, &err);
        rc = rc == 0 ? vel_comm_recv(comm, 1, 1, &byte, 1, &err) : rc;
        rc = rc == 0 ? vel_comm_recv(comm, 2, 1, &byte, 1, &err) : rc;
    } else {
        if (comm->rank == 1)
            work(LONG_MS);
        else
            rc = vel_comm_recv(comm, 0, 1, &byte, 1, &err);
        rc = rc == 0 ? vel_comm_send(comm, 0, 1, &byte, 1, &err) : rc;
        if (comm->rank == 2)
            work(LONG_MS);
    }
    if (rc == 0)
        rc = vel_comm_barrier(comm, &err);
    if (rc < 0)
        fprintf(stderr, "# member %d: %s\n", comm->rank, err.text);
    return rc;
}

static int many_leave(struct vel_comm *comm, void *unused)
{
    struct vel_comm *part = NULL;

    (void)unused;
    if (vel_comm_split(comm, comm->rank % 2, 0, &part, NULL) < 0)
        return 1;
    if (comm->rank == 0)
        work(LONG_MS);
    int rc = vel_comm_barrier(part, NULL);
    vel_comm_destroy(part);
    return rc;
}

static void over(const char *kind)
{
    const struct vel_comm_sock_conf
        calm = {.limit_ms = LIMIT_MS, .busy_ms = FOR_EVER_MS, .names = names},
        full = {.limit_ms = FULL_LIMIT_MS, .busy_ms = FOR_EVER_MS, .names = names},
        plain = {.limit_ms = LIMIT_MS, .names = names},
        /* who waits must not be the one that gives up */
        strict = {.limit_ms = LIMIT_MS, .busy_ms = LIMIT_MS, .names = names},
        slow = {.limit_ms = 20000, .busy_ms = FOR_EVER_MS, .names = names};

    is_int(sockjob_run_conf(N, kind, &calm, one_works, NULL), 0,
           "%s: a member that works for long is waited for", kind);
    is_int(sockjob_run_conf(N, kind, &plain, one_works, NULL), N,
           "%s: without a thread that speaks for it, it is not", kind);
    is_int(sockjob_run_conf(N, kind, &full, works_in_the_middle, NULL), 0,
           "%s: the same with messages half sent both ways", kind);
    is_int(sockjob_run_conf(N, kind, &calm, many_leave, NULL), 0,
           "%s: it speaks for the parts of a communicator, too", kind);
    is_int(sockjob_run_conf(N, kind, &strict, works_for_ever, NULL), 0,
           "%s: one that works for longer than it may is named, to itself as well",
           kind);
    atomic_int *missed_it = mmap(NULL, sizeof *missed_it, PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (missed_it == MAP_FAILED)
        bail_out("no memory that processes share");
    is_int(sockjob_run_conf(N, kind, &calm, stands_still, missed_it), 1,
           "%s: a frozen process is lost, thread and all", kind);
    munmap(missed_it, sizeof *missed_it);
    is_int(sockjob_run_conf(N, kind, &plain, all_stand_still, NULL), 0,
           "%s: when all stood still nobody is given up", kind);
    is_int(sockjob_run_conf(N, kind, &plain, stands_still_at_a_look, NULL), 0,
           "%s: nor by one that stood still in the middle of a look", kind);
    is_int(sockjob_run_conf(N, kind, &slow, dies_at_work, NULL), 1,
           "%s: one that dies at work is lost at once", kind);
}

int main(void)
{
    over("unix");
    over("tcp");
    return done_testing();
}
