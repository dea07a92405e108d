/* SPDX-License-Identifier: BSD-3-Clause */
/* What the background is to do for a dataset, promised: by each rank to the leader of
 * its node, and the whole of it by rank 0 (doc/protocol-leader.txt, 11). */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/le.h"
#include "base/log.h"
#include "engine/session_in.h"
#include "engine/settlement.h"
#include "meta/cache.h"
#include "red/redfile.h"

/* --- who sits where --- */

/* What a rank tells: two numbers, and behind them the name of its node. */
enum { SEAT_HEAD = 4 + 4 };

static int add_node(struct vel_settlement *seats, const char *name, size_t len,
                    uint32_t *ret_node)
{
    char **nodes;

    /* ranks of a node are often neighbours */
    for (size_t i = seats->n_nodes; i-- > 0;)
        if (strlen(seats->nodes[i]) == len && memcmp(seats->nodes[i], name, len) == 0) {
            *ret_node = (uint32_t)i;
            return 0;
        }
    nodes = realloc(seats->nodes, (seats->n_nodes + 1) * sizeof *nodes);
    if (!nodes)
        return VEL_ENOMEM;
    seats->nodes = nodes;
    nodes[seats->n_nodes] = strndup(name, len);
    if (!nodes[seats->n_nodes])
        return VEL_ENOMEM;
    *ret_node = (uint32_t)seats->n_nodes++;
    return 0;
}

static int take_seats(const struct vel_buf *told, const size_t *lens, int ranks,
                      struct vel_settlement *ret)
{
    const char *at = told->data;

    ret->dataset.ranks = ranks;
    ret->seats = calloc((size_t)ranks, sizeof *ret->seats);
    for (int i = 0; ret->seats && i < ranks; at += lens[i++]) {
        struct vel_le_reader r;

        vel_le_read_init(&r, at, lens[i]);
        ret->seats[i].set = vel_le_get32(&r);
        ret->seats[i].place = vel_le_get32(&r);
        if (add_node(ret, (const char *)r.at, r.left, &ret->seats[i].node) < 0)
            return VEL_ENOMEM;
    }
    return ret->seats ? 0 : VEL_ENOMEM;
}

/* Collective. Rank 0 gets them all. */
static int gather_seats(struct vel_session *s, const struct vel_place *place,
                        struct vel_settlement *ret, struct vel_err *err)
{
    struct vel_buf mine, told;
    size_t *lens = NULL;
    uint8_t head[SEAT_HEAD];
    struct vel_le_writer w;
    int rc;

    vel_buf_init(&mine);
    vel_buf_init(&told);
    vel_le_write_init(&w, head, sizeof head);
    vel_le_put32(&w, place->set);
    vel_le_put32(&w, place->rank);
    vel_buf_append(&mine, head, sizeof head);
    vel_buf_append(&mine, s->node, strlen(s->node));
    rc = vel_comm_agree(s->world, vel_buf_status(&mine, err), err);
    if (rc == 0)
        rc = vel_comm_gather(s->world, 0, mine.data, mine.len, &told, &lens, err);
    if (rc == 0 && s->world->rank == 0 &&
        take_seats(&told, lens, s->world->size, ret) < 0)
        rc = vel_out_of_memory(err, "who sits where");
    rc = vel_comm_agree(s->world, rc, err);
    free(lens);
    vel_buf_fini(&told);
    vel_buf_fini(&mine);
    return rc;
}

/* --- the promise --- */

/* It borrows. */
static int settle(struct vel_session *s, const struct vel_settlement *seats,
                  const struct vel_reddesc *desc, const struct vel_dataset *dataset,
                  unsigned owed, struct vel_err *err)
{
    struct vel_settlement whole = *seats;
    struct vel_buf bytes;
    int rc;

    whole.dataset = *dataset;
    whole.level = desc->index;
    whole.scheme = desc->scheme;
    whole.m = desc->m;
    whole.is_encoded = owed & VEL_OWE_ENCODE;
    whole.is_flushed = owed & VEL_OWE_FLUSH;
    vel_buf_init(&bytes);
    rc = vel_settlement_encode(&whole, &bytes, err);
    if (rc == 0)
        rc = s->background->ops->settle(s->background, dataset->id, bytes.data,
                                        bytes.len, err);
    vel_buf_fini(&bytes);
    return rc;
}

/* Those of a level are asked for once. */
static int seats_of(struct vel_session *s, const struct vel_place *place, int level,
                    struct vel_settlement *own, const struct vel_settlement **ret,
                    struct vel_err *err)
{
    int rc = 0;

    *ret = level < 0 ? own : &s->seats[level];
    if (level < 0)
        return gather_seats(s, place, own, err);
    if (!s->is_seated[level])
        rc = gather_seats(s, place, &s->seats[level], err);
    s->is_seated[level] |= rc == 0;
    return rc;
}

int vel_session_promise(struct vel_session *s, const struct vel_filemap *map,
                        const char *dir, int level, unsigned owed, struct vel_err *err)
{
    const struct vel_dataset *d = &map->dataset;
    const struct vel_background_ops *ops = s->background->ops;
    struct vel_settlement own = {0};
    const struct vel_settlement *seats = NULL;
    struct vel_reddesc desc;
    unsigned before;
    int rc = vel_reddesc_from_node(map->descriptor, &desc, err);
    bool has_desc = rc == 0;

    rc = vel_comm_agree(s->world, rc, err);
    if (rc == 0)
        rc = seats_of(s, &desc.place, level, &own, &seats, err);
    if (rc == 0) {
        rc = ops->owe(s->background, d->id, s->world->rank, owed, dir, &before, err);
        rc = vel_comm_agree(s->world, rc, err);
    }
    if (rc == 0) {
        if (s->world->rank == 0)
            rc = settle(s, seats, &desc, d, owed, err);
        rc = vel_comm_agree(s->world, rc, err);
    }
    if (has_desc)
        vel_reddesc_fini(&desc);
    vel_settlement_fini(&own);
    return rc;
}

int vel_session_take_back(struct vel_session *s, int64_t id, unsigned what,
                          const char *dir, unsigned *ret_before, struct vel_err *err)
{
    unsigned before = 0;
    int rc = s->background->ops->owe(s->background, id, s->world->rank, what, dir,
                                     &before, err);

    if (rc == 0 && ret_before)
        *ret_before = before;
    return rc;
}

/* What was found of an earlier launch has no redundancy yet, where its level has some.
 */
static bool lacks_scheme(struct vel_session *s, const struct vel_held *held)
{
    struct vel_vec red = {0};
    struct vel_reddesc desc;
    bool lacks = false;

    if (vel_reddesc_from_node(held->map.descriptor, &desc, NULL) < 0)
        return false;
    if (desc.scheme != VEL_SINGLE &&
        vel_redfile_scan(s->fs, held->dir, VEL_CACHE_LABEL, (uint32_t)s->world->rank,
                         &red, NULL) == 0) {
        lacks = red.n && vel_redfile_at(&red, 0)->header.layout.scheme == VEL_SINGLE;
        vel_redfiles_fini(&red);
    }
    vel_reddesc_fini(&desc);
    return lacks;
}

int vel_session_rest(struct vel_session *s, int64_t id, unsigned *ret_before,
                     struct vel_err *err)
{
    unsigned before = 0;
    int64_t all[2];
    int rc = 0;

    *ret_before = 0;
    if (!s->background)
        return 0;
    rc = vel_session_take_back(s, id, VEL_OWE_REST, NULL, &before, err);
    all[0] = !!(before & VEL_OWE_ENCODE);
    all[1] = !!(before & VEL_OWE_FLUSH);
    rc = vel_comm_agree_fold(s->world, rc, VEL_COMM_MAX, all, 2, err);
    if (rc == 0)
        *ret_before = (all[0] ? VEL_OWE_ENCODE : 0) | (all[1] ? VEL_OWE_FLUSH : 0);
    return rc;
}

int vel_session_go_on(struct vel_session *s, int64_t id, unsigned before,
                      struct vel_err *err)
{
    int rc = 0;

    if (!s->background || !before)
        return 0;
    rc = vel_session_take_back(s, id, before, NULL, NULL, err);
    return vel_comm_agree(s->world, rc, err);
}

int vel_session_owe_again(struct vel_session *s, struct vel_held *held, unsigned before,
                          struct vel_err *err)
{
    struct vel_err why = {0};
    int64_t lacks = held->dir && lacks_scheme(s, held);
    unsigned owed = before;
    int rc = vel_comm_allreduce(s->world, VEL_COMM_MAX, &lacks, 1, err);

    if (rc < 0)
        return rc;
    /* what was encoded twice, or is on the prefix, need not be again */
    owed = (owed & VEL_OWE_FLUSH) | (lacks ? VEL_OWE_ENCODE : 0);
    if (held->entry.place == VEL_ON_PREFIX)
        owed &= ~(unsigned)VEL_OWE_FLUSH;
    if (!held->dir)
        rc = vel_session_go_on(s, held->map.dataset.id, before, &why);
    else if (owed)
        rc = vel_session_promise(s, &held->map, held->dir, -1, owed, &why);
    else if (before)
        rc = vel_session_take_back_held(s, held, &why);
    if (rc == 0) {
        held->owed = held->dir ? owed : before;
        return 0;
    }
    vel_log_shared(VEL_LOG_WARN, "%s: it stays as it is", why.text);
    return vel_comm_barrier(s->world, err);
}

int vel_session_take_back_held(struct vel_session *s, struct vel_held *held,
                               struct vel_err *err)
{
    int rc = 0;

    if (!s->background)
        return 0;
    rc = vel_session_take_back(s, held->map.dataset.id, VEL_OWE_NOTHING, held->dir,
                               NULL, err);
    rc = vel_comm_agree(s->world, rc, err);
    if (rc == 0)
        held->owed = VEL_OWE_NOTHING;
    return rc;
}
