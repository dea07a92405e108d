/* SPDX-License-Identifier: BSD-3-Clause */
/* exchange - messages between members of whom no receiver knows.
 *
 * A parcel for the member at distance d travels once for every bit set in d: in round k
 * each member hands all parcels whose remaining way has bit k to the member 2^k ranks
 * on. So everyone has one partner per round, there are ceil(log2(size)) rounds whatever
 * the size, and nobody holds a table of all members.
 */
#include "config.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/le.h"
#include "comm/coll.h"
#include "comm/tags.h"

struct transit {
    int from;
    int to;
    uint64_t number; /* of the sender's parcels */
    size_t len;
    char *bytes;
    bool is_ours; /* the bytes are freed by us */
};

enum { LABEL_LEN = 4 + 4 + 8 + 8 }; /* in front of a parcel on its way */

static int transit_order(const void *a, const void *b)
{
    const struct transit *x = a, *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static void transits_fini(struct vel_vec *held)
{
    for (size_t i = 0; i < held->n; i++) {
        struct transit *t = vel_vec_at(held, i);
        if (t->is_ours)
            free(t->bytes);
    }
    vel_vec_fini(held);
}

static int transits_begin(struct vel_vec *held, const struct vel_comm *comm,
                          const struct vel_vec *out, struct vel_err *err)
{
    for (size_t i = 0; i < out->n; i++) {
        const struct vel_parcel *p = vel_vec_at(out, i);
        if (p->peer < 0 || p->peer >= comm->size)
            return vel_fail(err, VEL_EINVAL,
                            "exchanging: a parcel for rank %d: the ranks are 0 to %d",
                            p->peer, comm->size - 1);
        struct transit t = {.from = comm->rank,
                            .to = p->peer,
                            .number = i,
                            .len = p->len,
                            .bytes = p->bytes};
        if (vel_vec_push(held, &t) == NULL)
            return vel_out_of_memory(err, "an exchange");
    }
    return 0;
}

static bool transit_goes(const struct transit *t, const struct vel_comm *comm,
                         int64_t step)
{
    int64_t way = ((int64_t)t->to - comm->rank + comm->size) % comm->size;
    return (way & step) != 0;
}

/* Move those that go in this round from `held` into `load`. */
static int load_pack(struct vel_vec *held, const struct vel_comm *comm, int64_t step,
                     struct vel_buf *load, struct vel_err *err)
{
    size_t kept = 0;
    for (size_t i = 0; i < held->n; i++) {
        struct transit *t = vel_vec_at(held, i);
        if (!transit_goes(t, comm, step)) {
            *(struct transit *)vel_vec_at(held, kept++) = *t;
            continue;
        }
        uint8_t label[LABEL_LEN];
        struct vel_le_writer w;
        vel_le_write_init(&w, label, sizeof label);
        vel_le_put32(&w, (uint32_t)t->from);
        vel_le_put32(&w, (uint32_t)t->to);
        vel_le_put64(&w, t->number);
        vel_le_put64(&w, t->len);
        vel_buf_append(load, label, sizeof label);
        if (t->len > 0)
            vel_buf_append(load, t->bytes, t->len);
        if (t->is_ours)
            free(t->bytes);
    }
    held->n = kept;
    return vel_buf_status(load, err);
}

static int load_unpack(struct vel_vec *held, const struct vel_comm *comm, int from,
                       const char *bytes, size_t len, struct vel_err *err)
{
    struct vel_le_reader r;
    vel_le_read_init(&r, bytes, len);
    while (r.left > 0) {
        uint32_t sender = vel_le_get32(&r), to = vel_le_get32(&r);
        struct transit t = {.from = (int)sender, .to = (int)to, .is_ours = true};
        t.number = vel_le_get64(&r);
        uint64_t size = vel_le_get64(&r);
        const void *at = size <= r.left ? vel_le_get_bytes(&r, (size_t)size) : NULL;
        if (at == NULL || r.is_short || sender >= (uint32_t)comm->size ||
            to >= (uint32_t)comm->size)
            return vel_fail(err, VEL_ECORRUPT,
                            "exchanging: what rank %d handed on makes no sense", from);
        t.len = (size_t)size;
        t.bytes = malloc(t.len > 0 ? t.len : 1);
        if (t.bytes != NULL && t.len > 0)
            memcpy(t.bytes, at, t.len);
        if (t.bytes == NULL || vel_vec_push(held, &t) == NULL) {
            free(t.bytes);
            return vel_out_of_memory(err, "a parcel of an exchange");
        }
    }
    return 0;
}

/* Both partners learn the length first; an empty load is not sent. */
static int load_swap(struct vel_comm *comm, int to, const struct vel_buf *load,
                     int from, char **ret_bytes, size_t *ret_len, struct vel_err *err)
{
    uint64_t mine = load->len, theirs = 0;
    struct vel_req *reqs[2] = {NULL, NULL};
    char *bytes = NULL;
    int rc = vel_coll_swap(comm, VEL_TAG_EXCHANGE, to, &mine, sizeof mine, from,
                           &theirs, sizeof theirs, err);
    if (rc == 0 && theirs > 0) {
        bytes = theirs < SIZE_MAX / 2 ? malloc((size_t)theirs) : NULL;
        if (bytes == NULL)
            rc = vel_out_of_memory(err, "the parcels of an exchange");
        else
            rc = vel_comm_irecv(comm, from, VEL_TAG_EXCHANGE, bytes, (size_t)theirs,
                                &reqs[0], err);
    }
    if (rc == 0 && mine > 0)
        rc = vel_comm_isend(comm, to, VEL_TAG_EXCHANGE, load->data, load->len, &reqs[1],
                            err);
    if (rc == 0)
        rc = vel_comm_wait_all(comm, reqs, 2, err);
    vel_comm_cancel_all(comm, reqs, 2);
    if (rc < 0) {
        free(bytes);
        return rc;
    }
    *ret_bytes = bytes;
    *ret_len = (size_t)theirs;
    return 0;
}

static int exchange_round(struct vel_comm *comm, int64_t step, struct vel_vec *held,
                          struct vel_err *err)
{
    int64_t size = comm->size;
    int to = (int)((comm->rank + step) % size);
    int from = (int)((comm->rank - step + size) % size);
    struct vel_buf load;
    char *bytes = NULL;
    size_t len = 0;

    vel_buf_init(&load);
    int rc = load_pack(held, comm, step, &load, err);
    if (rc == 0)
        rc = load_swap(comm, to, &load, from, &bytes, &len, err);
    vel_buf_fini(&load);
    if (rc == 0)
        rc = load_unpack(held, comm, from, bytes, len, err);
    free(bytes);
    return rc;
}

/* All is where it belongs: hand it over, each with bytes of its own. */
static int transits_deliver(struct vel_vec *held, const struct vel_comm *comm,
                            struct vel_vec *ret_in, struct vel_err *err)
{
    vel_vec_sort(held, transit_order);
    for (size_t i = 0; i < held->n; i++) {
        struct transit *t = vel_vec_at(held, i);
        if (t->to != comm->rank)
            return vel_fail(err, VEL_ECORRUPT,
                            "exchanging: a parcel for rank %d came to rank %d", t->to,
                            comm->rank);
        struct vel_parcel p = {.peer = t->from, .bytes = t->bytes, .len = t->len};
        if (!t->is_ours) {
            p.bytes = malloc(t->len > 0 ? t->len : 1);
            if (p.bytes != NULL && t->len > 0)
                memcpy(p.bytes, t->bytes, t->len);
            t->bytes = p.bytes;
            t->is_ours = true;
        }
        if (p.bytes == NULL || vel_vec_push(ret_in, &p) == NULL)
            return vel_out_of_memory(err, "the parcels of an exchange");
        t->is_ours = false;
    }
    return 0;
}

int vel_comm_exchange(struct vel_comm *comm, const struct vel_vec *out,
                      struct vel_vec *ret_in, struct vel_err *err)
{
    struct vel_err cause = {0};
    struct vel_vec held, in;
    vel_vec_init(&held, sizeof(struct transit));
    vel_vec_init(&in, sizeof(struct vel_parcel));

    int rc = vel_coll_begin(comm, &cause);
    if (rc == 0)
        rc = transits_begin(&held, comm, out, &cause);
    for (int64_t step = 1; rc == 0 && step < comm->size; step *= 2)
        rc = exchange_round(comm, step, &held, &cause);
    if (rc == 0)
        rc = transits_deliver(&held, comm, &in, &cause);
    if (rc == 0)
        *ret_in = in;
    else
        vel_parcels_fini(&in);
    transits_fini(&held);
    return vel_coll_end(comm, rc, &cause, err);
}

void vel_parcels_fini(struct vel_vec *parcels)
{
    for (size_t i = 0; i < parcels->n; i++)
        free(((struct vel_parcel *)vel_vec_at(parcels, i))->bytes);
    vel_vec_fini(parcels);
}
