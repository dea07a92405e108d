/* SPDX-License-Identifier: BSD-3-Clause */
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
    struct vel_neighbour lhs, rhs;
};

static void ring_fini(struct ring *ring)
{
    vel_comm_destroy(ring->comm);
    vel_buf_fini(&ring->cards);
    free(ring->lens);
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
    const char *card = ring->cards.data;
    for (uint32_t i = 0; i < n; card += ring->lens[i++]) {
        struct vel_le_reader r;

        vel_le_read_init(&r, card, ring->lens[i]);
        uint32_t rank = vel_le_get32(&r);
        if (r.is_short || r.left == 0 || rank >= (uint32_t)world_size)
            return vel_fail(err, VEL_ECORRUPT,
                            "place %u of a redundancy set told no rank of this run", i);
        if (i == ring->lhs.place) {
            ring->lhs.rank = (int)rank;
            ring->lhs.node = strndup(card + CARD_RANK, ring->lens[i] - CARD_RANK);
        }
        if (i == ring->rhs.place) {
            ring->rhs.rank = (int)rank;
            ring->rhs.node = strndup(card + CARD_RANK, ring->lens[i] - CARD_RANK);
        }
    }
    return ring->lhs.node && ring->rhs.node
               ? 0
               : vel_out_of_memory(err, "describing a redundancy set");
}

static void move_in(struct ring *ring, struct vel_reddesc *desc)
{
    free(desc->lhs.node);
    free(desc->rhs.node);
    desc->comm = ring->comm;
    desc->lhs = ring->lhs;
    desc->rhs = ring->rhs;
    ring->comm = NULL;
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
