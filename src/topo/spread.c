/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "topo/sortnet.h"
#include "topo/spread.h"

/* One for all: messages between two ranks keep their order. */
enum { TAG = 0 };

static bool rank_exists(const struct vel_comm *comm, int rank)
{
    return rank >= 0 && rank < comm->size;
}

int vel_spread_swap(struct vel_comm *comm, int to, const void *out, int from, void *in,
                    size_t len, struct vel_err *err)
{
    struct vel_req *reqs[2] = {NULL, NULL};
    int rc = 0;

    if (rank_exists(comm, from))
        rc = vel_comm_irecv(comm, from, TAG, in, len, &reqs[0], err);
    if (rc == 0 && rank_exists(comm, to))
        rc = vel_comm_isend(comm, to, TAG, out, len, &reqs[1], err);
    if (rc == 0)
        rc = vel_comm_wait_all(comm, reqs, 2, err);
    vel_comm_cancel_all(comm, reqs, 2);
    return rc;
}

int vel_spread_post(struct vel_comm *comm, int to, const void *out, void *in,
                    size_t len, bool *ret_came, struct vel_err *err)
{
    struct vel_vec parcels, came;
    uint8_t bytes[VEL_SPREAD_SCAN];
    int rc = 0;

    assert(len <= sizeof bytes);
    memcpy(bytes, out, len);
    vel_vec_init(&parcels, sizeof(struct vel_parcel));
    vel_vec_init(&came, sizeof(struct vel_parcel));
    const struct vel_parcel parcel = {.peer = to, .bytes = bytes, .len = len};
    if (to != -1 && vel_vec_push(&parcels, &parcel) == NULL)
        rc = vel_out_of_memory(err, "a record to send");
    if (rc == 0)
        rc = vel_comm_exchange(comm, &parcels, &came, err);
    const struct vel_parcel *first = came.n > 0 ? vel_vec_at(&came, 0) : NULL;
    if (rc == 0 && (came.n > 1 || (first && first->len != len)))
        rc = vel_fail(err, VEL_ECORRUPT,
                      "%zu records, the first of %zu bytes from rank %d, where one of "
                      "%zu bytes can be",
                      came.n, first->len, first->peer, len);
    if (rc == 0) {
        if (first)
            memcpy(in, first->bytes, len);
        *ret_came = first != NULL;
    }
    vel_parcels_fini(&came);
    vel_vec_fini(&parcels);
    return rc;
}

int vel_spread_deliver(struct vel_comm *comm, int to, const void *out, void *in,
                       size_t len, bool is_expected, struct vel_err *err)
{
    bool came = false;
    int rc = vel_spread_post(comm, to, out, in, len, &came, err);

    if (rc == 0 && came != is_expected)
        rc = vel_fail(err, VEL_ECORRUPT, "a record for rank %d %s", comm->rank,
                      came ? "came unasked" : "did not come");
    return rc;
}

/* In the round of distance d each hands on what it knows of the d ranks that end with
 * itself. */
int vel_spread_scan(struct vel_comm *comm, enum vel_spread_way way, void *record,
                    size_t len, vel_spread_fold_f *fold, struct vel_err *err)
{
    uint8_t before[VEL_SPREAD_SCAN];
    int rc = 0;

    assert(len <= sizeof before);
    for (int64_t d = 1; rc == 0 && d < comm->size; d *= 2) {
        int64_t step = way == VEL_SPREAD_UP ? d : -d;
        int64_t to = comm->rank + step, from = comm->rank - step;
        rc = vel_spread_swap(comm, to < comm->size ? (int)to : -1, record,
                             from < comm->size ? (int)from : -1, before, len, err);
        if (rc == 0 && from >= 0 && from < comm->size)
            fold(record, before);
    }
    return rc;
}

int vel_spread_sort(struct vel_comm *comm, void *record, void *spare, size_t len,
                    struct vel_err *err)
{
    struct vel_sortnet net;

    for (bool more = vel_sortnet_begin(&net, comm->size); more;
         more = vel_sortnet_next(&net)) {
        int peer = vel_sortnet_partner(&net, comm->rank);
        int rc = vel_spread_swap(comm, peer, record, peer, spare, len, err);
        if (rc < 0)
            return rc;
        /* both decide by the same comparison: one keeps what the other gives away */
        if (peer >= 0 && (memcmp(spare, record, len) < 0) == (peer > comm->rank))
            memcpy(record, spare, len);
    }
    return 0;
}
