/* SPDX-License-Identifier: BSD-3-Clause */
/* The places of a persisted descriptor are input: that each is held by one rank is
 * found out before anybody relies on it. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/le.h"
#include "topo/reddesc_ring.h"

/* What a member tells the others: its rank in world, then the name of its node. */
enum { CARD_RANK = 4 };

struct ring {
    struct vel_comm *comm;
    struct vel_buf cards; /* of all members */
    size_t *lens;
    int *members;
    struct vel_neighbour lhs, rhs;
};

static void ring_fini(struct ring *ring)
{
    vel_comm_destroy(ring->comm);
    vel_buf_fini(&ring->cards);
    free(ring->lens);
    free(ring->members);
    free(ring->lhs.node);
    free(ring->rhs.node);
}

static int check_place(const struct ring *ring, const struct vel_place *place,
                       struct vel_err *err)
{
    if ((uint32_t)ring->comm->size != place->ranks)
        return vel_fail(err, VEL_ECORRUPT,
                        "redundancy set %u of %u has %u members, and descriptors of %d "
                        "of them are here",
                        place->set, place->sets, place->ranks, ring->comm->size);
    if ((uint32_t)ring->comm->rank != place->rank)
        return vel_fail(err, VEL_ECORRUPT,
                        "place %u of redundancy set %u is held by two ranks",
                        place->rank, place->set);
    return 0;
}

/* Collective over the set. */
static int exchange_cards(struct ring *ring, int rank, const char *node,
                          struct vel_err *err)
{
    unsigned char number[CARD_RANK];
    struct vel_le_writer w;
    struct vel_buf card;

    vel_le_write_init(&w, number, sizeof number);
    vel_le_put32(&w, (uint32_t)rank);
    vel_buf_init(&card);
    vel_buf_append(&card, number, sizeof number);
    vel_buf_puts(&card, node);
    int rc = vel_comm_agree(ring->comm, vel_buf_status(&card, err), err);
    if (rc == 0)
        rc = vel_comm_allgather(ring->comm, card.data, card.len, &ring->cards,
                                &ring->lens, err);
    vel_buf_fini(&card);
    return rc;
}

static int read_cards(struct ring *ring, int world_size, struct vel_err *err)
{
    uint32_t n = (uint32_t)ring->comm->size, me = (uint32_t)ring->comm->rank;

    ring->lhs.place = (me + n - 1) % n;
    ring->rhs.place = (me + 1) % n;
    ring->members = calloc(n, sizeof *ring->members);
    if (!ring->members)
        return vel_out_of_memory(err, "describing a redundancy set");
    const char *card = ring->cards.data;
    for (uint32_t i = 0; i < n; card += ring->lens[i++]) {
        struct vel_le_reader r;

        vel_le_read_init(&r, card, ring->lens[i]);
        uint32_t rank = vel_le_get32(&r);
        if (r.is_short || r.left == 0 || rank >= (uint32_t)world_size)
            return vel_fail(err, VEL_ECORRUPT,
                            "place %u of a redundancy set told no rank of this run", i);
        ring->members[i] = (int)rank;
        if (i == ring->lhs.place)
            ring->lhs.node = strndup(card + CARD_RANK, ring->lens[i] - CARD_RANK);
        if (i == ring->rhs.place)
            ring->rhs.node = strndup(card + CARD_RANK, ring->lens[i] - CARD_RANK);
    }
    ring->lhs.rank = ring->members[ring->lhs.place];
    ring->rhs.rank = ring->members[ring->rhs.place];
    return ring->lhs.node && ring->rhs.node
               ? 0
               : vel_out_of_memory(err, "describing a redundancy set");
}

static void move_in(struct ring *ring, struct vel_reddesc *desc)
{
    free(desc->lhs.node);
    free(desc->rhs.node);
    desc->comm = ring->comm;
    desc->members = ring->members;
    desc->lhs = ring->lhs;
    desc->rhs = ring->rhs;
    ring->comm = NULL;
    ring->members = NULL;
    ring->lhs.node = ring->rhs.node = NULL;
}

int vel_reddesc_connect(struct vel_comm *world, const char *node,
                        struct vel_reddesc *desc, struct vel_err *err)
{
    struct ring ring = {.comm = NULL};

    vel_buf_init(&ring.cards);
    int rc = vel_place_comm(world, &desc->place, &ring.comm, err);
    rc = vel_comm_agree(world, rc, err);
    if (rc == 0)
        rc = vel_comm_agree(world, check_place(&ring, &desc->place, err), err);
    if (rc == 0) {
        rc = exchange_cards(&ring, world->rank, node, err);
        if (rc == 0)
            rc = read_cards(&ring, world->size, err);
        rc = vel_comm_agree(world, rc, err);
    }
    if (rc == 0)
        move_in(&ring, desc);
    ring_fini(&ring);
    return rc;
}

/* --- a persisted descriptor */

/* Collective over world. The numbers that all descriptors of a dataset have in common,
 * and the number of sets as it is. */
static int check_world(struct vel_comm *world, const struct vel_reddesc *desc,
                       struct vel_err *err)
{
    static const char *const names[] = {"GROUPS",       "TYPE",  "SET_SIZE",
                                        "HOP_DISTANCE", "INDEX", "INTERVAL"};
    const int64_t own[] = {desc->place.sets,
                           desc->scheme,
                           (int64_t)desc->set_size,
                           (int64_t)desc->hop_distance,
                           desc->index,
                           desc->interval};
    enum { N = sizeof own / sizeof own[0] };
    int64_t both[2 * N], sets = desc->place.rank == 0;

    for (size_t i = 0; i < N; i++) {
        both[i] = own[i];
        both[N + i] = -own[i];
    }
    int rc = vel_comm_allreduce(world, VEL_COMM_MAX, both, (size_t)2 * N, err);
    if (rc == 0)
        rc = vel_comm_allreduce(world, VEL_COMM_SUM, &sets, 1, err);
    for (size_t i = 0; rc == 0 && i < N; i++)
        if (both[i] != -both[N + i])
            rc = vel_fail(err, VEL_ECORRUPT,
                          "the descriptors of one dataset have %s %lld and %lld",
                          names[i], (long long)-both[N + i], (long long)both[i]);
    if (rc == 0 && sets != desc->place.sets)
        rc = vel_fail(err, VEL_ECORRUPT,
                      "there are descriptors of %lld redundancy sets, and they tell of "
                      "%u",
                      (long long)sets, desc->place.sets);
    return rc;
}

/* Collective over the set, which is not always as large as the others and bears
 * accordingly. */
static int check_set(const struct vel_reddesc *desc, struct vel_err *err)
{
    int64_t both[2] = {(int64_t)desc->m, -(int64_t)desc->m};
    int rc = vel_comm_allreduce(desc->comm, VEL_COMM_MAX, both, 2, err);

    if (rc == 0 && both[0] != -both[1])
        rc = vel_fail(err, VEL_ECORRUPT,
                      "the descriptors of redundancy set %u have LOSSES %lld and %lld",
                      desc->place.set, (long long)-both[1], (long long)both[0]);
    return rc;
}

int vel_reddesc_join(struct vel_comm *world, const struct vel_stores *stores,
                     const struct vel_groups *groups, struct vel_reddesc *desc,
                     struct vel_err *err)
{
    int rc = desc->place.sets > 0
                 ? 0
                 : vel_fail(err, VEL_EINVAL,
                            "level %u is not enabled and has no redundancy sets",
                            desc->index);

    rc = vel_comm_agree(world, rc, err);
    if (rc == 0)
        rc = check_world(world, desc, err);
    if (rc == 0)
        rc = vel_reddesc_connect(world, vel_groups_node(groups), desc, err);
    if (rc < 0)
        return vel_wrap(err, rc, "bringing redundancy sets together");
    rc = vel_comm_agree(world, check_set(desc, err), err);
    if (rc < 0) {
        vel_comm_destroy(desc->comm);
        free(desc->members);
        desc->comm = NULL;
        desc->members = NULL;
        return vel_wrap(err, rc, "bringing redundancy sets together");
    }
    desc->group = vel_groups_find(groups, desc->group_name);
    desc->store = stores ? vel_stores_find(stores, desc->store_name) : NULL;
    return 0;
}
