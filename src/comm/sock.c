/* SPDX-License-Identifier: BSD-3-Clause */
/* sock - one communicator over connections that several may share. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/le.h"
#include "base/siphash.h"
#include "comm/sock_comm.h"

static void sock_fail(struct vel_comm *comm, const struct vel_err *cause)
{
    struct sock *s = (struct sock *)comm;
    vel_mesh_enter(s->mesh);
    if (!s->has_told && vel_mesh_status(s->mesh, s->id, NULL) == 0)
        vel_mesh_fail(s->mesh, s->id, s->members, comm->size, cause);
    s->has_told = true;
    vel_mesh_leave(s->mesh);
}

/* 0, or why the comm is broken; the others are told. */
static int sock_status(struct sock *s, struct vel_err *err)
{
    struct vel_err cause = {0};
    int rc = vel_mesh_status(s->mesh, s->id, &cause);
    if (rc == 0)
        return 0;
    if (!s->has_told && s->mesh->broken.status == 0)
        vel_mesh_fail(s->mesh, s->id, s->members, s->comm.size, &cause);
    s->has_told = true;
    return vel_fail(err, rc, "%s", cause.text);
}

static int sock_start(struct sock *s, const struct vel_req *init,
                      struct vel_req **ret_req, struct vel_err *err)
{
    int rc = sock_status(s, err);
    if (rc < 0)
        return rc;
    struct vel_req *req = malloc(sizeof *req);
    if (req == NULL)
        return vel_out_of_memory(err, "a message");
    *req = *init;
    req->comm = s->id;
    req->peer = s->members[init->peer];
    rc = init->is_recv ? vel_mesh_recv(s->mesh, req, err)
                       : vel_mesh_send(s->mesh, req, err);
    if (rc < 0) {
        vel_mesh_forget(s->mesh, req);
        free(req);
        return rc;
    }
    *ret_req = req;
    return 0;
}

static int sock_enter_start(struct vel_comm *comm, const struct vel_req *init,
                            struct vel_req **ret_req, struct vel_err *err)
{
    struct sock *s = (struct sock *)comm;
    vel_mesh_enter(s->mesh);
    int rc = sock_start(s, init, ret_req, err);
    vel_mesh_leave(s->mesh);
    return rc;
}

static int sock_isend(struct vel_comm *comm, int to, uint32_t tag, const void *bytes,
                      size_t len, struct vel_req **ret_req, struct vel_err *err)
{
    struct vel_req init = {.peer = to, .tag = tag, .bytes = (char *)bytes, .len = len};
    return sock_enter_start(comm, &init, ret_req, err);
}

static int sock_irecv(struct vel_comm *comm, int from, uint32_t tag, void *bytes,
                      size_t len, struct vel_req **ret_req, struct vel_err *err)
{
    struct vel_req init = {
        .is_recv = true, .peer = from, .tag = tag, .bytes = bytes, .len = len};
    return sock_enter_start(comm, &init, ret_req, err);
}

static bool done_take(struct vel_req **reqs, size_t n, size_t *ret_done)
{
    bool is_empty = true;
    for (size_t i = 0; i < n; i++) {
        if (reqs[i] == NULL)
            continue;
        is_empty = false;
        if (reqs[i]->is_done) {
            free(reqs[i]);
            reqs[i] = NULL;
            *ret_done = i;
            return true;
        }
    }
    if (is_empty)
        *ret_done = n;
    return is_empty;
}

/* The first who is waited for. */
static int awaited(struct vel_req *const *reqs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (reqs[i] != NULL && !reqs[i]->is_done)
            return reqs[i]->peer;
    }
    return -1;
}

static int sock_wait(struct sock *s, struct vel_req **reqs, size_t n, size_t *ret_done,
                     struct vel_err *err)
{
    uint64_t since = vel_clock_monotonic(vel_clock_system());
    int rc = sock_status(s, err);
    while (rc == 0 && !done_take(reqs, n, ret_done)) {
        s->mesh->awaits = awaited(reqs, n);
        rc = vel_mesh_move(s->mesh, s->mesh->limit_ms, err);
        s->mesh->awaits = -1;
        /* who has told why it leaves has not just left */
        int why = sock_status(s, err);
        rc = why < 0 ? why : rc;
        for (size_t i = 0; rc == 0 && i < n; i++) {
            if (reqs[i] != NULL && !reqs[i]->is_done)
                rc = vel_mesh_expect(s->mesh, reqs[i]->peer, since, err);
        }
    }
    return rc;
}

static int sock_wait_any(struct vel_comm *comm, struct vel_req **reqs, size_t n,
                         size_t *ret_done, struct vel_err *err)
{
    struct sock *s = (struct sock *)comm;
    vel_mesh_enter(s->mesh);
    int rc = sock_wait(s, reqs, n, ret_done, err);
    vel_mesh_leave(s->mesh);
    return rc;
}

static void sock_cancel(struct vel_comm *comm, struct vel_req *req)
{
    struct sock *s = (struct sock *)comm;
    struct vel_err cause = {0};
    vel_mesh_enter(s->mesh);
    if (vel_mesh_is_moving(s->mesh, req)) {
        if (!vel_mesh_cause(s->mesh, s->id, &cause))
            vel_fail(&cause, VEL_ECANCEL, "rank %d gave up a message in the middle",
                     s->mesh->rank);
        vel_mesh_break(s->mesh, &cause, NULL);
    }
    vel_mesh_forget(s->mesh, req);
    vel_mesh_leave(s->mesh);
    free(req);
}

static void sock_destroy(struct vel_comm *comm)
{
    struct sock *s = (struct sock *)comm;
    vel_mesh_release(s->mesh);
    free(s->members);
    free(s);
}

/* A child's identity, the same on all its members. */
static uint64_t child_id(const struct sock *parent, int color)
{
    uint8_t words[24], mac[VEL_SIPHASH_LEN];
    static const uint8_t no_secret[VEL_SIPHASH_KEY] = "velocomm child";
    struct vel_le_writer w;
    struct vel_le_reader r;
    vel_le_write_init(&w, words, sizeof words);
    vel_le_put64(&w, parent->id);
    vel_le_put64(&w, parent->splits);
    vel_le_put64(&w, (uint64_t)color);
    vel_siphash(no_secret, words, sizeof words, mac);
    vel_le_read_init(&r, mac, sizeof mac);
    return vel_le_get64(&r) | 1; /* 0 is for all */
}

struct seat {
    int color;
    int key;
    int rank; /* in the parent */
};

static int seat_order(const void *a, const void *b)
{
    const struct seat *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* The members of the parent with this color, in their order there. */
static int sock_child(struct sock *parent, const struct vel_buf *all, int color,
                      struct vel_comm **ret_comm, struct vel_err *err)
{
    struct seat *seats = calloc((size_t)parent->comm.size, sizeof *seats);
    int *members = calloc((size_t)parent->comm.size, sizeof *members);
    int n = 0, mine = 0;
    if (seats == NULL || members == NULL) {
        free(seats);
        free(members);
        return vel_out_of_memory(err, "the members of a communicator");
    }
    for (int r = 0; r < parent->comm.size; r++) {
        struct seat seat;
        memcpy(&seat, all->data + (size_t)r * sizeof seat, sizeof seat);
        seat.rank = r;
        if (seat.color == color)
            seats[n++] = seat;
    }
    qsort(seats, (size_t)n, sizeof *seats, seat_order);
    for (int i = 0; i < n; i++) {
        members[i] = parent->members[seats[i].rank];
        if (seats[i].rank == parent->comm.rank)
            mine = i;
    }
    free(seats);
    parent->mesh->users++;
    int rc = vel_sock_comm_take(parent->mesh, child_id(parent, color), members, mine, n,
                                ret_comm, err);
    if (rc < 0)
        parent->mesh->users--;
    return rc;
}

static int sock_split(struct vel_comm *comm, int color, int key,
                      struct vel_comm **ret_comm, struct vel_err *err)
{
    struct sock *s = (struct sock *)comm;
    struct seat mine = {color < 0 ? -1 : color, key, 0};
    struct vel_comm *child = NULL;
    struct vel_buf all;
    size_t *lens = NULL;
    vel_buf_init(&all);
    int rc = vel_comm_allgather(comm, &mine, sizeof mine, &all, &lens, err);
    if (rc == 0) {
        s->splits++;
        if (all.len != (size_t)comm->size * sizeof mine)
            rc = vel_fail(err, VEL_ECORRUPT, "splitting: members speak differently");
        else if (color >= 0)
            rc = sock_child(s, &all, color, &child, err);
        rc = vel_comm_agree(comm, rc, err);
    }
    if (rc == 0)
        *ret_comm = child;
    else
        vel_comm_destroy(child);
    vel_buf_fini(&all);
    free(lens);
    return rc;
}

static const struct vel_comm_ops sock_ops = {
    .name = "sock",
    .isend = sock_isend,
    .irecv = sock_irecv,
    .wait_any = sock_wait_any,
    .cancel = sock_cancel,
    .split = sock_split,
    .fail = sock_fail,
    .destroy = sock_destroy,
};

int vel_sock_comm_take(struct sock_mesh *mesh, uint64_t id, int *members, int rank,
                       int size, struct vel_comm **ret_comm, struct vel_err *err)
{
    struct sock *s = calloc(1, sizeof *s);
    if (s == NULL) {
        free(members);
        return vel_out_of_memory(err, "a communicator");
    }
    *s = (struct sock){.comm = {.ops = &sock_ops, .rank = rank, .size = size},
                       .mesh = mesh,
                       .id = id,
                       .members = members};
    *ret_comm = &s->comm;
    return 0;
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
