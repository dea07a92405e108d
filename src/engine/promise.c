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
#include "brain/seal.h"
#include "meta/cache.h"
#include "recover/recovery.h"
#include "red/redfile.h"

/* A part that this rank promises something for: its own, or one that it speaks for. */
struct part {
    int rank;
    const char *dir;
    struct vel_place place;
};

/* --- who sits where --- */

/* What a rank tells: how many parts, of each the numbers below, and behind them the
 * name of its node. */
enum { SEATS_HEAD = 4, SEAT = 4 + 4 + 4 };

static int take_told(const char *told, size_t len, struct vel_seal *ret,
                     struct vel_err *err)
{
    struct vel_le_reader r;
    char *node;
    uint32_t n;
    size_t head;
    int rc = 0;

    vel_le_read_init(&r, told, len);
    n = vel_le_get32(&r);
    head = SEATS_HEAD + n * (size_t)SEAT;
    node = strndup(told + head, len - head);
    if (!node)
        return vel_out_of_memory(err, "who sits where");
    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        struct vel_seal_member member = {.rank = vel_le_get32(&r), .node = node};

        member.set = vel_le_get32(&r);
        member.place = vel_le_get32(&r);
        if (!vel_seal_find(ret, member.rank))
            rc = vel_seal_add(ret, &member, err);
    }
    free(node);
    return rc;
}

static int take_seats(const struct vel_buf *told, const size_t *lens, int tellers,
                      struct vel_seal *ret, struct vel_err *err)
{
    const char *at = told->data;
    int rc = 0;

    for (int i = 0; rc == 0 && i < tellers; at += lens[i++])
        rc = take_told(at, lens[i], ret, err);
    return rc;
}

static int tell_seats(const struct vel_session *s, const struct part *parts, size_t n,
                      struct vel_buf *ret, struct vel_err *err)
{
    uint8_t bytes[SEAT];
    struct vel_le_writer w;

    vel_le_write_init(&w, bytes, SEATS_HEAD);
    vel_le_put32(&w, (uint32_t)n);
    vel_buf_append(ret, bytes, SEATS_HEAD);
    for (size_t i = 0; i < n; i++) {
        vel_le_write_init(&w, bytes, SEAT);
        vel_le_put32(&w, (uint32_t)parts[i].rank);
        vel_le_put32(&w, parts[i].place.set);
        vel_le_put32(&w, parts[i].place.rank);
        vel_buf_append(ret, bytes, SEAT);
    }
    vel_buf_append(ret, s->node, strlen(s->node));
    return vel_buf_status(ret, err);
}

/* Collective. Rank 0 gets them all. */
static int gather_seats(struct vel_session *s, const struct part *parts, size_t n,
                        struct vel_seal *ret, struct vel_err *err)
{
    struct vel_buf mine, told;
    size_t *lens = NULL;
    int rc;

    vel_buf_init(&mine);
    vel_buf_init(&told);
    rc = vel_comm_agree(s->world, tell_seats(s, parts, n, &mine, err), err);
    if (rc == 0)
        rc = vel_comm_gather(s->world, 0, mine.data, mine.len, &told, &lens, err);
    if (rc == 0 && s->world->rank == 0)
        rc = take_seats(&told, lens, s->world->size, ret, err);
    rc = vel_comm_agree(s->world, rc, err);
    free(lens);
    vel_buf_fini(&told);
    vel_buf_fini(&mine);
    return rc;
}

/* --- the promise --- */

bool vel_session_is_plain(const struct vel_session *s,
                          const struct vel_dataset *dataset)
{
    return s->conf->global_restart || dataset->ranks != s->world->size;
}

/* Tell the whole of it; seats stay as they are but for what is the same for all. */
static int settle(struct vel_session *s, struct vel_seal *seats,
                  const struct vel_reddesc *desc, const struct vel_dataset *dataset,
                  unsigned owed, struct vel_err *err)
{
    struct vel_buf bytes;
    int rc;

    for (size_t i = 0; i < seats->members.n; i++) {
        struct vel_seal_member *member = vel_vec_at(&seats->members, i);

        member->level = desc->index;
        member->scheme = desc->scheme;
        member->failures = (int64_t)desc->m;
        member->bytes = dataset->bytes / dataset->ranks;
    }
    seats->id = dataset->id;
    seats->about = *dataset; /* borrowed */
    seats->what = owed;
    seats->is_plain = vel_session_is_plain(s, dataset);
    vel_buf_init(&bytes);
    rc = vel_seal_encode(seats, &bytes, err);
    if (rc == 0)
        rc = s->background->ops->settle(s->background, dataset->id, bytes.data,
                                        bytes.len, err);
    vel_buf_fini(&bytes);
    seats->about = (struct vel_dataset){0};
    return rc;
}

/* Those of a level are asked for once. */
static int seats_of(struct vel_session *s, const struct part *own, int level,
                    struct vel_seal **ret, struct vel_err *err)
{
    int rc = 0;

    *ret = &s->seats[level];
    if (!s->is_seated[level])
        rc = gather_seats(s, own, 1, &s->seats[level], err);
    s->is_seated[level] |= rc == 0;
    return rc;
}

/* Collective. All owe for their parts, and rank 0 settles it. */
static int promise(struct vel_session *s, const struct vel_filemap *map,
                   const struct vel_reddesc *desc, const struct part *parts, size_t n,
                   int level, unsigned owed, struct vel_err *err)
{
    const struct vel_dataset *d = &map->dataset;
    const struct vel_background_ops *ops = s->background->ops;
    struct vel_seal own, *seats = &own;
    unsigned before;
    int rc;

    vel_seal_init(&own);
    rc = level < 0 ? gather_seats(s, parts, n, &own, err)
                   : seats_of(s, parts, level, &seats, err);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = ops->owe(s->background, d->id, parts[i].rank, owed, parts[i].dir, &before,
                      err);
    rc = vel_comm_agree(s->world, rc, err);
    s->is_settling = rc == 0;
    if (rc == 0) {
        if (s->world->rank == 0)
            rc = settle(s, seats, desc, d, owed, err);
        rc = vel_comm_agree(s->world, rc, err);
    }
    vel_seal_fini(&own);
    return rc;
}

int vel_session_promise(struct vel_session *s, const struct vel_filemap *map,
                        const char *dir, int level, unsigned owed, struct vel_err *err)
{
    struct vel_reddesc desc;
    int rc = vel_reddesc_from_node(map->descriptor, &desc, err);
    bool has_desc = rc == 0;

    rc = vel_comm_agree(s->world, rc, err);
    if (rc == 0) {
        const struct part own = {s->world->rank, dir, desc.place};

        rc = promise(s, map, &desc, &own, 1, level, owed, err);
    }
    if (has_desc)
        vel_reddesc_fini(&desc);
    return rc;
}

/* Where a part of other ranks is in its set, as its redundancy file says. */
static int find_place(struct vel_session *s, struct part *part, struct vel_err *err)
{
    struct vel_vec red = {0};
    int rc = vel_redfile_scan(s->fs, part->dir, VEL_CACHE_LABEL, (uint32_t)part->rank,
                              &red, err);

    if (rc < 0)
        return rc;
    if (red.n) {
        part->place.set = vel_redfile_at(&red, 0)->header.set;
        part->place.rank = vel_redfile_at(&red, 0)->header.member;
    }
    vel_redfiles_fini(&red);
    return 0;
}

/* A dataset of other ranks: each owes for the parts that it speaks for. */
static int promise_parts(struct vel_session *s, const struct vel_held *held,
                         unsigned owed, struct vel_err *err)
{
    const struct vel_brought_part *p = held->parts.items;
    struct part *parts = calloc(held->parts.n + 1, sizeof *parts);
    struct vel_reddesc desc;
    int rc = parts ? vel_reddesc_from_node(held->map.descriptor, &desc, err)
                   : vel_out_of_memory(err, "a promise");
    bool has_desc = parts && rc == 0;

    for (size_t i = 0; rc == 0 && i < held->parts.n; i++) {
        parts[i] = (struct part){.rank = p[i].rank, .dir = p[i].dir};
        rc = find_place(s, &parts[i], err);
    }
    rc = vel_comm_agree(s->world, rc, err);
    if (rc == 0)
        rc = promise(s, &held->map, &desc, parts, held->parts.n, -1, owed, err);
    if (has_desc)
        vel_reddesc_fini(&desc);
    free(parts);
    return rc;
}

int vel_session_owe_flush(struct vel_session *s, struct vel_held *held,
                          struct vel_err *err)
{
    unsigned owed = held->owed | VEL_OWE_FLUSH;
    int rc;

    if (held->owed & VEL_OWE_FLUSH || held->entry.place == VEL_ON_PREFIX)
        return 0;
    if (!held->dir && !held->parts.n && held->map.dataset.ranks == s->world->size)
        return vel_session_finish_held(s, held, err); /* it was written there */
    rc = held->dir ? vel_session_promise(s, &held->map, held->dir, -1, owed, err)
                   : promise_parts(s, held, owed, err);
    if (rc == 0)
        held->owed = owed;
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

    if (!before)
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
    if (!held->dir && owed & VEL_OWE_FLUSH) /* other ranks are to read it there */
        rc = promise_parts(s, held, owed = before, &why);
    else if (!held->dir)
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
    int rc = vel_session_take_back(s, held->map.dataset.id, VEL_OWE_NOTHING, held->dir,
                                   NULL, err);

    rc = vel_comm_agree(s->world, rc, err);
    if (rc == 0)
        held->owed = VEL_OWE_NOTHING;
    return rc;
}
