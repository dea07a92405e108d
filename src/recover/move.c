/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/le.h"
#include "base/log.h"
#include "recover/move.h"
#include "recover/stream.h"

/* Who wants what from me: in rounds that begin behind my own rank, so that the requests
 * of one node do not all meet at the same reader. */
struct request {
    int rank; /* who asks, and whose part it is */
    int64_t id;
    size_t store;
    int64_t index;
    int turn;
};

static int by_turn(const void *a, const void *b)
{
    return ((const struct request *)a)->turn - ((const struct request *)b)->turn;
}

static int ask(const struct vel_caches *c, const struct vel_offer *offer,
               struct vel_vec *ret_requests, struct vel_err *err)
{
    struct vel_vec out, in = {0};
    struct request request;
    struct vel_parcel parcel = {.bytes = &request, .len = sizeof request};
    int rc = 0, size = c->of.world->size;

    vel_vec_init(&out, sizeof(struct vel_parcel));
    memset(&request, 0, sizeof request);
    if (offer) {
        request.rank = c->of.world->rank;
        request.id = offer->id;
        request.store = offer->store;
        request.index = offer->index;
        parcel.peer = offer->holder;
        if (!vel_vec_push(&out, &parcel))
            rc = vel_out_of_memory(err, "moving files");
    }
    rc = vel_comm_agree(c->of.world, rc, err);
    if (rc == 0)
        rc = vel_comm_exchange(c->of.world, &out, &in, err);
    vel_vec_fini(&out);
    if (rc < 0)
        return rc;
    for (size_t i = 0; rc == 0 && i < in.n; i++) {
        const struct vel_parcel *p = vel_vec_at(&in, i);

        if (p->len != sizeof request) {
            rc = vel_fail(err, VEL_ECORRUPT, "rank %d asks for no part", p->peer);
            break;
        }
        memcpy(&request, p->bytes, sizeof request);
        request.rank = p->peer;
        request.turn = (p->peer - c->of.world->rank + size) % size;
        if (!vel_vec_push(ret_requests, &request))
            rc = vel_out_of_memory(err, "moving files");
    }
    vel_parcels_fini(&in);
    rc = vel_comm_agree(c->of.world, rc, err);
    vel_vec_sort(ret_requests, by_turn);
    return rc;
}

static struct vel_throttle *limit(const struct vel_caches *c, size_t store)
{
    return c->of.throttles ? &c->of.throttles[store] : NULL;
}

/* The next part that is wanted from me, opened; one that cannot be read becomes a
 * stream that says so. */
static int next_out(const struct vel_caches *c, const struct vel_vec *requests,
                    size_t *turn, struct vel_stream_out **ret, struct vel_err *err)
{
    const struct request *r;
    char *dir;
    int rc;

    *ret = NULL;
    if (*turn == requests->n)
        return 0;
    r = vel_vec_at(requests, (*turn)++);
    if (r->store >= c->of.stores->n)
        return vel_fail(err, VEL_ECORRUPT, "rank %d asks for a part of no store",
                        r->rank);
    dir = vel_caches_part_dir(c, r->store, r->index, r->id, r->rank);
    rc = dir ? vel_stream_out_open(c->of.world, r->rank, c->of.fs, dir, c->of.piece,
                                   limit(c, r->store), ret, err)
             : vel_out_of_memory(err, "moving files");
    free(dir);
    return rc;
}

/* Both directions at once, so that no circle of ranks waits for itself. */
static int exchange_parts(const struct vel_caches *c, const struct vel_vec *requests,
                          struct vel_stream_in *in, struct vel_err *err)
{
    struct vel_stream_out *out = NULL;
    size_t turn = 0, done;
    int rc = next_out(c, requests, &turn, &out, err);

    while (rc == 0 && (out || (in && !vel_stream_in_is_done(in)))) {
        struct vel_req *reqs[2] = {out ? vel_stream_out_pending(out) : NULL,
                                   in ? vel_stream_in_pending(in) : NULL};

        rc = vel_comm_wait_any(c->of.world, reqs, 2, &done, err);
        if (rc < 0)
            break;
        if (done == 1) {
            rc = vel_stream_in_step(in, err);
            continue;
        }
        rc = vel_stream_out_step(out, err);
        if (rc == 0 && vel_stream_out_is_done(out)) {
            vel_stream_out_close(out);
            rc = next_out(c, requests, &turn, &out, err);
        }
    }
    vel_stream_out_close(out);
    if (rc < 0)
        vel_comm_fail(c->of.world, err);
    return rc;
}

int vel_move(const struct vel_caches *caches, const struct vel_wanted *wanted,
             bool *ret_came, struct vel_err *err)
{
    struct vel_vec requests;
    struct vel_stream_in *in = NULL;
    struct vel_err why = {0};
    int rc;

    *ret_came = false;
    vel_vec_init(&requests, sizeof(struct request));
    rc = ask(caches, wanted->offer, &requests, err);
    if (rc == 0 && wanted->offer)
        rc = vel_stream_in_open(caches->of.world, wanted->offer->holder, caches->of.fs,
                                wanted->dir, limit(caches, wanted->offer->store), &in,
                                err);
    rc = vel_comm_agree(caches->of.world, rc, err);
    if (rc == 0)
        rc = exchange_parts(caches, &requests, in, err);
    rc = vel_comm_agree(caches->of.world, rc, err);
    if (rc == 0 && in) {
        *ret_came = vel_stream_in_finish(in, &why) == 0;
        if (!*ret_came)
            vel_log(VEL_LOG_WARN,
                    "files of dataset %" PRId64 " did not come from rank %d: %s",
                    wanted->offer->id, wanted->offer->holder, why.text);
    }
    vel_stream_in_close(in);
    vel_vec_fini(&requests);
    return rc;
}
