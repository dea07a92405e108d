/* SPDX-License-Identifier: BSD-3-Clause */
/* coll - collectives over small things: barrier, folds, agreement, broadcast.
 *
 * All are built from messages between two members and take about log2(size) of them in
 * a row. Numbers travel as they are in memory: members share one byte order.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/coll.h"
#include "comm/tags.h"

int vel_coll_begin(struct vel_comm *comm, struct vel_err *err)
{
    size_t none = 0;
    return vel_comm_wait_any(comm, NULL, 0, &none, err);
}

int vel_coll_end(struct vel_comm *comm, int rc, const struct vel_err *cause,
                 struct vel_err *err)
{
    if (rc < 0) {
        vel_comm_fail(comm, cause);
        if (err != NULL)
            *err = *cause;
    }
    return rc;
}

int vel_coll_swap(struct vel_comm *comm, uint32_t tag, int to, const void *out,
                  size_t out_len, int from, void *in, size_t in_len,
                  struct vel_err *err)
{
    struct vel_req *reqs[2] = {NULL, NULL};
    int rc = vel_comm_irecv(comm, from, tag, in, in_len, &reqs[0], err);
    if (rc == 0)
        rc = vel_comm_isend(comm, to, tag, out, out_len, &reqs[1], err);
    if (rc == 0)
        rc = vel_comm_wait_all(comm, reqs, 2, err);
    vel_comm_cancel_all(comm, reqs, 2);
    return rc;
}

/* Dissemination: after the round of distance d, each has heard of the 2d members that
 * end with itself. */
static int barrier_run(struct vel_comm *comm, struct vel_err *err)
{
    int64_t size = comm->size;
    for (int64_t d = 1; d < size; d *= 2) {
        int to = (int)((comm->rank + d) % size);
        int from = (int)((comm->rank - d + size) % size);
        int rc = vel_coll_swap(comm, VEL_TAG_BARRIER, to, NULL, 0, from, NULL, 0, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

int vel_comm_barrier(struct vel_comm *comm, struct vel_err *err)
{
    struct vel_err cause = {0};
    int rc = vel_coll_begin(comm, &cause);
    if (rc == 0)
        rc = barrier_run(comm, &cause);
    return vel_coll_end(comm, rc, &cause, err);
}

/* How numbers are folded. */
struct folds {
    enum vel_comm_fold first, rest;
};

static void fold_into(const struct folds *folds, int64_t *values, const int64_t *more,
                      size_t n)
{
    for (size_t i = 0; i < n; i++) {
        enum vel_comm_fold fold = i == 0 ? folds->first : folds->rest;

        if (fold == VEL_COMM_SUM)
            values[i] = (int64_t)((uint64_t)values[i] + (uint64_t)more[i]);
        else if ((fold == VEL_COMM_MIN) == (more[i] < values[i]))
            values[i] = more[i];
    }
}

/* Recursive doubling among the first `even` members, the largest power of two; those
 * behind it give their numbers to a partner before and get the result after. */
static int allreduce_run(struct vel_comm *comm, const struct folds *folds,
                         int64_t *values, int64_t *more, size_t n, struct vel_err *err)
{
    size_t len = n * sizeof *values;
    int even = 1, rank = comm->rank, rc = 0;
    while (even <= comm->size / 2)
        even *= 2;
    if (rank >= even) {
        rc = vel_comm_send(comm, rank - even, VEL_TAG_FOLD, values, len, err);
        if (rc == 0)
            rc = vel_comm_recv(comm, rank - even, VEL_TAG_FOLD, values, len, err);
        return rc;
    }
    if (rank + even < comm->size) {
        rc = vel_comm_recv(comm, rank + even, VEL_TAG_FOLD, more, len, err);
        if (rc == 0)
            fold_into(folds, values, more, n);
    }
    for (int d = 1; rc == 0 && d < even; d *= 2) {
        rc = vel_coll_swap(comm, VEL_TAG_FOLD, rank ^ d, values, len, rank ^ d, more,
                           len, err);
        if (rc == 0)
            fold_into(folds, values, more, n);
    }
    if (rc == 0 && rank + even < comm->size)
        rc = vel_comm_send(comm, rank + even, VEL_TAG_FOLD, values, len, err);
    return rc;
}

int vel_coll_fold(struct vel_comm *comm, enum vel_comm_fold first,
                  enum vel_comm_fold rest, int64_t *values, size_t n,
                  struct vel_err *err)
{
    const struct folds folds = {first, rest};
    struct vel_err cause = {0};
    int64_t few[16], *work = NULL, *more = few;
    int rc = vel_coll_begin(comm, &cause);

    /* folded aside, so that a failure leaves the caller's numbers as they were */
    if (2 * n > sizeof few / sizeof few[0]) {
        work = calloc(n, 2 * sizeof *work);
        more = work;
    }
    if (more == NULL)
        rc = vel_out_of_memory(&cause, "numbers to fold");
    if (rc == 0 && n > 0) {
        memcpy(more + n, values, n * sizeof *values);
        rc = allreduce_run(comm, &folds, more + n, more, n, &cause);
    }
    if (rc == 0 && n > 0)
        memcpy(values, more + n, n * sizeof *values);
    free(work);
    return vel_coll_end(comm, rc, &cause, err);
}

int vel_comm_allreduce(struct vel_comm *comm, enum vel_comm_fold fold, int64_t *values,
                       size_t n, struct vel_err *err)
{
    return vel_coll_fold(comm, fold, fold, values, n, err);
}

/* A binomial tree; `place` counts from the root. */
int vel_coll_bcast_bytes(struct vel_comm *comm, int root, uint32_t tag, void *bytes,
                         size_t len, struct vel_err *err)
{
    int64_t size = comm->size, place = (comm->rank - root + size) % size, d = 1;
    int rc = 0;
    while (d < size && (place & d) == 0)
        d *= 2;
    if (place != 0)
        rc =
            vel_comm_recv(comm, (int)((place - d + root) % size), tag, bytes, len, err);
    struct vel_req *reqs[32] = {NULL};
    size_t n = 0;
    for (d /= 2; rc == 0 && d > 0; d /= 2) {
        if (place + d < size)
            rc = vel_comm_isend(comm, (int)((place + d + root) % size), tag, bytes, len,
                                &reqs[n++], err);
    }
    if (rc == 0)
        rc = vel_comm_wait_all(comm, reqs, n, err);
    vel_comm_cancel_all(comm, reqs, n);
    return rc;
}

static int bcast_run(struct vel_comm *comm, int root, struct vel_buf *buf,
                     struct vel_buf *fresh, struct vel_err *err)
{
    struct vel_buf *use = comm->rank == root ? buf : fresh;
    uint64_t len = use->len;
    int rc = vel_coll_bcast_bytes(comm, root, VEL_TAG_BCAST, &len, sizeof len, err);
    if (rc < 0 || len == 0)
        return rc;
    if (use == fresh) {
        if (len > SIZE_MAX / 2 || vel_buf_reserve(fresh, (size_t)len) < 0)
            return vel_out_of_memory(err, "the bytes of a broadcast");
        fresh->len = (size_t)len;
        fresh->data[fresh->len] = '\0';
    }
    return vel_coll_bcast_bytes(comm, root, VEL_TAG_BCAST, use->data, (size_t)len, err);
}

int vel_comm_bcast(struct vel_comm *comm, int root, struct vel_buf *buf,
                   struct vel_err *err)
{
    struct vel_err cause = {0};
    struct vel_buf fresh;
    vel_buf_init(&fresh);
    int rc = vel_coll_begin(comm, &cause);
    if (rc == 0)
        rc = bcast_run(comm, root, buf, &fresh, &cause);
    if (rc == 0 && comm->rank != root) {
        struct vel_buf old = *buf;
        *buf = fresh;
        fresh = old;
    }
    vel_buf_fini(&fresh);
    return vel_coll_end(comm, rc, &cause, err);
}
