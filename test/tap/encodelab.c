/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "jobs/muster.h"
#include "sys/clock.h"
#include "tap/encodelab.h"
#include "tap/redlab.h"
#include "tap/tap.h"

enum { LINKS = ENCODELAB_NODES * 4, MEMBERS_MOST = 4 };

static const char *const node_names[ENCODELAB_NODES] = {
    "n0", "n1", "n2",  "n3",  "n4",  "n5",  "n6",  "n7",
    "n8", "n9", "n10", "n11", "n12", "n13", "n14", "n15"};

static void must(int rc, const struct vel_err *err)
{
    if (rc < 0)
        bail_out("encodelab: %s", err->text);
}

void encodelab_plain(struct encodelab *lab, int64_t dataset, size_t nodes, size_t ranks)
{
    for (size_t s = 0; s < ranks / nodes; s++) {
        struct encodelab_set *set = &lab->sets[lab->n_sets++];

        *set = (struct encodelab_set){
            .dataset = dataset, .number = (uint32_t)s, .n = nodes};
        for (size_t i = 0; i < nodes; i++) {
            set->rank[i] = (uint32_t)(s * nodes + i);
            set->node[i] = i;
        }
    }
}

char *encodelab_dir(const struct encodelab *lab, int64_t dataset, uint32_t rank)
{
    char *dir = malloc(strlen(lab->root) + 64);

    sprintf(dir, "%s/d%d/m%u", lab->root, (int)dataset, rank);
    return dir;
}

static uint32_t sets_of(const struct encodelab *lab, int64_t dataset)
{
    uint32_t n = 0;

    for (size_t s = 0; s < lab->n_sets; s++)
        n += lab->sets[s].dataset == dataset;
    return n;
}

/* --- a node
 * --------------------------------------------------------------------------------- */

static int io_all(int fd, void *bytes, size_t len, bool is_write)
{
    char *at = bytes;

    while (len > 0) {
        ssize_t n = is_write ? send(fd, at, len, MSG_NOSIGNAL) : recv(fd, at, len, 0);

        if (n <= 0)
            return -1;
        at += n;
        len -= (size_t)n;
    }
    return 0;
}

static int reply_take(const struct vel_msg *reply, uint8_t *ret_token,
                      char **ret_endpoints, struct vel_err *err)
{
    if (reply->kind == VEL_MSG_NO)
        return vel_fail(err, (enum vel_status)(-(int)reply->u.no.status), "%s",
                        reply->u.no.text);
    memcpy(ret_token, reply->u.met.token.at, VEL_COMM_TOKEN);
    *ret_endpoints = strdup(reply->u.met.endpoints);
    return 0;
}

/* One question at a time over the worker's connection: parts of one set on one node
 * have a turn each, told apart by seq. */
struct turn {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    bool is_reading;
    struct vel_buf replies[MEMBERS_MOST]; /* by seq */
    int fd;
    uint64_t last;
};

/* The next answer, whosever it is. */
static int hear(int fd, struct vel_buf *ret, uint64_t *ret_seq)
{
    uint8_t head[VEL_MSG_HEAD];
    struct vel_msg_head h;

    if (io_all(fd, head, sizeof head, false) < 0 || vel_msg_head(head, &h, NULL) < 0)
        return -1;
    vel_buf_append(ret, head, sizeof head);
    if (vel_buf_reserve(ret, h.len) < 0 ||
        io_all(fd, ret->data + ret->len, h.len, false) < 0)
        return -1;
    ret->len += h.len;
    *ret_seq = h.seq;
    return 0;
}

/* With the lock, which is free while the answer is waited for. */
static int read_one(struct turn *t)
{
    struct vel_buf one;
    uint64_t seq = 0;

    vel_buf_init(&one);
    t->is_reading = true;
    pthread_mutex_unlock(&t->lock);
    int rc = hear(t->fd, &one, &seq);
    pthread_mutex_lock(&t->lock);
    t->is_reading = false;
    if (rc == 0)
        vel_buf_append(&t->replies[seq % MEMBERS_MOST], one.data, one.len);
    vel_buf_fini(&one);
    pthread_cond_broadcast(&t->moved);
    return rc;
}

static int lab_meet(void *arg, const char *node, const struct vel_msg_meet *meet,
                    uint8_t ret_token[VEL_COMM_TOKEN], char **ret_endpoints,
                    struct vel_err *err)
{
    struct turn *t = arg;
    struct vel_msg msg = {.kind = VEL_MSG_MEET, .u.meet = *meet}, reply;
    struct vel_buf bytes;

    (void)node;
    vel_buf_init(&bytes);
    pthread_mutex_lock(&t->lock);
    msg.seq = ++t->last;
    struct vel_buf *mine = &t->replies[msg.seq % MEMBERS_MOST];
    int rc = vel_msg_encode(&msg, &bytes, err);
    if (rc == 0 && io_all(t->fd, bytes.data, bytes.len, true) < 0)
        rc = vel_fail(err, VEL_ELOST, "the lab is gone");
    while (rc == 0 && mine->len == 0) {
        if (t->is_reading) {
            pthread_cond_wait(&t->moved, &t->lock);
            continue;
        }
        if (read_one(t) < 0)
            rc = vel_fail(err, VEL_ELOST, "the lab is gone");
    }
    if (rc == 0)
        rc = vel_msg_decode(mine->data, mine->len, &reply, err);
    if (rc == 0)
        rc = reply_take(&reply, ret_token, ret_endpoints, err);
    vel_buf_clear(mine);
    pthread_mutex_unlock(&t->lock);
    vel_buf_fini(&bytes);
    return rc;
}

bool encodelab_has(const struct encodelab_set *set, size_t node)
{
    for (size_t i = 0; i < set->n; i++)
        if (set->node[i] == node)
            return true;
    return false;
}

struct told {
    struct vel_encode job;
    struct vel_encode_member members[ENCODELAB_NODES];
    struct vel_encode_part parts[MEMBERS_MOST];
    char *dirs[MEMBERS_MOST];
};

static const struct vel_encode_ops ops = {.meet = lab_meet};

static void told_init(struct told *t, struct encodelab_node *node,
                      const struct encodelab_set *set, const uint8_t *id,
                      unsigned attempt, struct turn *turn)
{
    const struct encodelab *lab = node->lab;

    *t = (struct told){.job = {.dataset = set->dataset,
                               .set = set->number,
                               .sets = sets_of(lab, set->dataset),
                               .attempt = attempt,
                               .id = id,
                               .scheme = lab->scheme,
                               .m = lab->m,
                               .members = t->members,
                               .n = set->n,
                               .parts = t->parts,
                               .fs = node->fs,
                               .label = ENCODELAB_LABEL,
                               .memory = 1 << 20,
                               .listen = lab->listen,
                               .limit_ms = lab->limit_ms,
                               .busy_ms = lab->busy_ms,
                               .ops = &ops,
                               .arg = turn}};
    for (size_t i = 0; i < set->n; i++) {
        t->members[i] = (struct vel_encode_member){.node = node_names[set->node[i]],
                                                   .rank = set->rank[i]};
        if (set->node[i] != node->node)
            continue;
        char *dir = encodelab_dir(lab, set->dataset, set->rank[i]);
        t->dirs[t->job.n_parts] = dir;
        t->parts[t->job.n_parts++] =
            (struct vel_encode_part){.place = i,
                                     .dir = dir,
                                     .is_empty = set->is_empty[i],
                                     .descriptor = "empty",
                                     .descriptor_len = 5};
    }
}

static void told_fini(struct told *t)
{
    for (size_t i = 0; i < t->job.n_parts; i++)
        free(t->dirs[i]);
}

int encodelab_encode(struct encodelab_node *node, const struct encodelab_set *set,
                     const uint8_t *id, unsigned attempt,
                     enum vel_encode_outcome *ret_outcome, struct vel_err *err)
{
    struct turn turn = {.fd = node->fd};
    struct told told;

    pthread_mutex_init(&turn.lock, NULL);
    pthread_cond_init(&turn.moved, NULL);
    for (int i = 0; i < MEMBERS_MOST; i++)
        vel_buf_init(&turn.replies[i]);
    told_init(&told, node, set, id, attempt, &turn);
    int rc = vel_encode_set(&told.job, ret_outcome, err);
    told_fini(&told);
    for (int i = 0; i < MEMBERS_MOST; i++)
        vel_buf_fini(&turn.replies[i]);
    pthread_cond_destroy(&turn.moved);
    pthread_mutex_destroy(&turn.lock);
    return rc;
}

int encodelab_settle(struct encodelab_node *node, const struct encodelab_set *set,
                     const uint8_t *id, struct vel_err *err)
{
    struct told told;

    told_init(&told, node, set, id, 0, NULL);
    int rc = vel_encode_settle(&told.job, err);
    told_fini(&told);
    return rc;
}

/* --- the leader of all
 * ---------------------------------------------------------------------- */

struct host {
    struct vel_muster *muster;
    struct pollfd fds[LINKS];
    size_t n;
};

static void answer(void *arg, uint64_t link, const struct vel_msg *msg)
{
    struct host *h = arg;
    struct vel_buf bytes;
    struct vel_err err = {0};

    vel_buf_init(&bytes);
    must(vel_msg_encode(msg, &bytes, &err), &err);
    io_all(h->fds[link].fd, bytes.data, bytes.len, true); /* it may be gone */
    vel_buf_fini(&bytes);
}

/* A worker says one thing, whole, or ends. */
static bool host_hear(struct host *h, size_t link, size_t node)
{
    uint8_t bytes[4096];
    struct vel_msg_head head;
    struct vel_msg msg;
    struct vel_err why = {0};
    uint64_t now = vel_clock_monotonic(vel_clock_system());

    if (io_all(h->fds[link].fd, bytes, VEL_MSG_HEAD, false) < 0) {
        vel_fail(&why, VEL_ELOST, "the connection was closed");
        vel_muster_gone(h->muster, link, &why);
        return false;
    }
    must(vel_msg_head(bytes, &head, &why), &why);
    if (io_all(h->fds[link].fd, bytes + VEL_MSG_HEAD, head.len, false) < 0)
        return true; /* its end comes next */
    must(vel_msg_decode(bytes, VEL_MSG_HEAD + head.len, &msg, &why), &why);
    vel_muster_come(h->muster, link, node_names[node], &msg, now);
    return true;
}

/* Until all connections have ended. */
static void host_run(struct host *h, unsigned workers)
{
    for (size_t left = h->n; left > 0;) {
        uint64_t now = vel_clock_monotonic(vel_clock_system());
        uint64_t due = vel_muster_due(h->muster);
        int ms = due == UINT64_MAX ? -1
                 : due <= now      ? 0
                                   : (int)((due - now) / VEL_CLOCK_MS) + 1;

        if (poll(h->fds, h->n, ms) < 0 && errno != EINTR)
            bail_out("poll failed");
        vel_muster_tick(h->muster, vel_clock_monotonic(vel_clock_system()));
        for (size_t i = 0; i < h->n; i++) {
            if (h->fds[i].fd < 0 || h->fds[i].revents == 0 ||
                host_hear(h, i, i / workers))
                continue;
            close(h->fds[i].fd);
            h->fds[i].fd = -1;
            left--;
        }
    }
}

struct seat {
    struct encodelab_node node;
    int (*worker)(struct encodelab_node *node, void *arg);
    void *arg;
    int rc;
    pthread_t thread;
    pid_t pid;
};

static void *seat_run(void *arg)
{
    struct seat *s = arg;

    s->rc = s->worker(&s->node, s->arg);
    close(s->node.fd);
    return NULL;
}

/* In a child only its own connection is open. */
static void seat_fork(struct seat *s, const struct host *h, int theirs[LINKS],
                      size_t own)
{
    fflush(NULL);
    s->pid = fork();
    if (s->pid < 0)
        bail_out("fork failed");
    if (s->pid > 0)
        return;
    for (size_t i = 0; i < h->n; i++) {
        close(h->fds[i].fd);
        if (i != own)
            close(theirs[i]);
    }
    seat_run(s);
    _exit(s->rc != 0);
}

int encodelab_run(const struct encodelab *lab, size_t nodes, bool are_processes,
                  int (*worker)(struct encodelab_node *node, void *arg), void *arg)
{
    static const struct vel_muster_ops muster_ops = {.answer = answer};
    unsigned workers = lab->workers ? lab->workers : 1;
    struct host h = {.n = nodes * workers};
    struct seat *seats = calloc(h.n, sizeof *seats);
    int theirs[LINKS], failed = 0;
    struct vel_err err = {0};

    must(vel_muster_create(lab->limit_ms * VEL_CLOCK_MS, &muster_ops, &h, &h.muster,
                           &err),
         &err);
    for (size_t i = 0; i < h.n; i++) {
        int ends[2];

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
            bail_out("socketpair failed");
        h.fds[i] = (struct pollfd){.fd = ends[0], .events = POLLIN};
        theirs[i] = ends[1];
        seats[i] = (struct seat){.node = {.lab = lab,
                                          .node = i / workers,
                                          .worker = (unsigned)(i % workers),
                                          .fd = ends[1],
                                          .fs = redlab_fs()},
                                 .worker = worker,
                                 .arg = arg};
    }
    for (size_t i = 0; i < h.n; i++)
        if (are_processes)
            seat_fork(&seats[i], &h, theirs, i);
        else if (pthread_create(&seats[i].thread, NULL, seat_run, &seats[i]) != 0)
            bail_out("no threads");
    for (size_t i = 0; are_processes && i < h.n; i++)
        close(theirs[i]);
    host_run(&h, workers);
    for (size_t i = 0; i < h.n; i++) {
        if (are_processes) {
            int status = 0;
            failed += waitpid(seats[i].pid, &status, 0) < 0 || status != 0;
        } else {
            pthread_join(seats[i].thread, NULL);
            failed += seats[i].rc != 0;
        }
    }
    vel_muster_destroy(h.muster);
    free(seats);
    return failed;
}
