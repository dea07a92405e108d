/* SPDX-License-Identifier: BSD-3-Clause */
/* comm - a group of processes that exchange bytes.
 *
 * Three implementations give the same behaviour: self (one member), mpi
 * (src/comm/mpi.c, in libveloc), sock (TCP and Unix sockets). They offer messages
 * between two members; everything collective is built from those once, in comm/coll.c
 * and comm/exchange.c, so that what is tested over one runs over all.
 *
 * Messages between two members arrive in the order they were sent; a tag tells what a
 * message is for, and a receiver names sender, tag and length. Every wait ends: a peer
 * that is gone or silent for longer than the communicator's time limit is VEL_ELOST or
 * VEL_ETIMEOUT, and the sentence names it. After such an error the communicator is
 * broken: every later call on it fails at once with the same cause, and no member is
 * left waiting for longer than the time limit.
 */
#ifndef VEL_COMM_COMM_H
#define VEL_COMM_COMM_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"

struct vel_comm;
struct vel_req;

struct vel_comm_ops {
    const char *name;
    /* the bytes are read until the request is done */
    int (*isend)(struct vel_comm *comm, int to, uint32_t tag, const void *bytes,
                 size_t len, struct vel_req **ret_req, struct vel_err *err);
    /* exactly `len` bytes; a message of another length is VEL_ECORRUPT and breaks the
     * comm */
    int (*irecv)(struct vel_comm *comm, int from, uint32_t tag, void *bytes, size_t len,
                 struct vel_req **ret_req, struct vel_err *err);
    /* wait until one of the requests is done, free it, set its slot NULL and tell
     * which; NULL slots are passed over. *ret_done = n when all slots are NULL. Sleeps,
     * never spins. */
    int (*wait_any)(struct vel_comm *comm, struct vel_req **reqs, size_t n,
                    size_t *ret_done, struct vel_err *err);
    /* give up a request (after an error); its buffer is free afterwards. NULL is
     * nothing. */
    void (*cancel)(struct vel_comm *comm, struct vel_req *req);
    /* collective: members with the same color >= 0 form a new comm, ordered by key,
     * then by rank; color -1: *ret_comm is NULL */
    int (*split)(struct vel_comm *comm, int color, int key, struct vel_comm **ret_comm,
                 struct vel_err *err);
    /* break the comm: later calls fail with this cause, and the others learn of it */
    void (*fail)(struct vel_comm *comm, const struct vel_err *cause);
    void (*destroy)(struct vel_comm *comm);
};

/* The beginning of every implementation's struct; read-only for users. */
struct vel_comm {
    const struct vel_comm_ops *ops;
    int rank;
    int size;
};

/* One member. Never destroyed twice; destroy accepts NULL. */
int vel_comm_self(struct vel_comm **ret_comm, struct vel_err *err);
void vel_comm_destroy(struct vel_comm *comm);

/* The operations, as functions. Tags of users are below 1 << 20. */
int vel_comm_isend(struct vel_comm *comm, int to, uint32_t tag, const void *bytes,
                   size_t len, struct vel_req **ret_req, struct vel_err *err);
int vel_comm_irecv(struct vel_comm *comm, int from, uint32_t tag, void *bytes,
                   size_t len, struct vel_req **ret_req, struct vel_err *err);
int vel_comm_wait_any(struct vel_comm *comm, struct vel_req **reqs, size_t n,
                      size_t *ret_done, struct vel_err *err);
int vel_comm_wait_all(struct vel_comm *comm, struct vel_req **reqs, size_t n,
                      struct vel_err *err);
void vel_comm_cancel_all(struct vel_comm *comm, struct vel_req **reqs, size_t n);
int vel_comm_split(struct vel_comm *comm, int color, int key,
                   struct vel_comm **ret_comm, struct vel_err *err);
int vel_comm_send(struct vel_comm *comm, int to, uint32_t tag, const void *bytes,
                  size_t len, struct vel_err *err);
int vel_comm_recv(struct vel_comm *comm, int from, uint32_t tag, void *bytes,
                  size_t len, struct vel_err *err);

/* This member cannot go on in the middle of something collective (it has no memory for
 * what comes): the communicator is broken with this cause, so that nobody waits for it.
 * The collectives below do this by themselves. */
void vel_comm_fail(struct vel_comm *comm, const struct vel_err *cause);

/* Collective. The only place where a local result becomes everyone's: 0 when rc is 0 on
 * all members, else on all the status of the lowest member that failed, with "rank R: "
 * in front of its sentence (its own sentence stays as it is there). */
int vel_comm_agree(struct vel_comm *comm, int rc, struct vel_err *err);

enum vel_comm_fold { VEL_COMM_SUM, VEL_COMM_MIN, VEL_COMM_MAX };

/* Collective. The same and, when all have come so far, n numbers folded as by
 * vel_comm_allreduce(): for the messages of one of the two. */
int vel_comm_agree_fold(struct vel_comm *comm, int rc, enum vel_comm_fold fold,
                        int64_t *values, size_t n, struct vel_err *err);

/* Collective. Nobody returns before all have called. */
int vel_comm_barrier(struct vel_comm *comm, struct vel_err *err);

/* Collective. Fold n numbers over all members; every member gets the result in
 * `values`. */
int vel_comm_allreduce(struct vel_comm *comm, enum vel_comm_fold fold, int64_t *values,
                       size_t n, struct vel_err *err);

/* Collective. The root's bytes to all: `buf` is replaced by them elsewhere. */
int vel_comm_bcast(struct vel_comm *comm, int root, struct vel_buf *buf,
                   struct vel_err *err);

/* Collective. Each member's bytes, of any length, one behind the other by rank, in *ret
 * at the root (gather) or everywhere (allgather); *ret_lens (size entries, freed by the
 * caller) tells how long each part is. */
int vel_comm_gather(struct vel_comm *comm, int root, const void *bytes, size_t len,
                    struct vel_buf *ret, size_t **ret_lens, struct vel_err *err);
int vel_comm_allgather(struct vel_comm *comm, const void *bytes, size_t len,
                       struct vel_buf *ret, size_t **ret_lens, struct vel_err *err);

/* A message of a sparse exchange. */
struct vel_parcel {
    int peer; /* to, or from */
    void *bytes;
    size_t len;
};

/* Collective. Deliver `out` (items struct vel_parcel, borrowed); *ret_in receives what
 * is for this member, ordered by sender and then as sent, freed by vel_parcels_fini().
 * Cost grows with the messages and log(size), not with size squared. */
int vel_comm_exchange(struct vel_comm *comm, const struct vel_vec *out,
                      struct vel_vec *ret_in, struct vel_err *err);
void vel_parcels_fini(struct vel_vec *parcels);

#endif
