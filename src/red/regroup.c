/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/le.h"
#include "red/plan.h"
#include "red/redfile.h"
#include "red/regroup.h"

enum { PLACE = 6 * 4 };

/* what a redundancy file says of one rank: where it sat in which set */
struct place {
    uint32_t set, sets;
    uint32_t scheme, n, m;
    uint32_t member;
};

struct step {
    struct vel_regroup *g;
    struct vel_comm *all;
    const struct vel_red_header *mine; /* of the encoding at hand; NULL: I have none */
    struct vel_encoding encoding;
    uint32_t sets;
    struct place place;
    bool has_place;
    struct vel_comm *comm; /* of the set */
    struct vel_err *err;
};

/* --- which encoding
 * -------------------------------------------------------------------------- */

static struct vel_redfile *newest_left(const struct vel_regroup *g, bool **ret_tried)
{
    for (size_t i = 0; i < g->found.n; i++) {
        *ret_tried = vel_vec_at(&g->tried, i);
        if (!**ret_tried)
            return vel_redfile_at(&g->found, i);
    }
    return NULL;
}

/* identity, sequence, scheme and number of sets, as the lowest rank that has it says */
static int announce(struct step *s, int64_t root, const struct vel_red_header *newest)
{
    uint8_t bytes[VEL_ENCODING_ID + 16];
    struct vel_le_writer w;
    struct vel_le_reader r;
    struct vel_buf buf;
    int rc;

    vel_buf_init(&buf);
    if (s->all->rank == root) {
        vel_le_write_init(&w, bytes, sizeof bytes);
        vel_le_put_bytes(&w, newest->id, sizeof newest->id);
        vel_le_put64(&w, newest->sequence);
        vel_le_put32(&w, newest->layout.scheme);
        vel_le_put32(&w, newest->sets);
        vel_buf_append(&buf, bytes, sizeof bytes);
    }
    rc = vel_comm_agree(s->all, vel_buf_status(&buf, s->err), s->err);
    if (rc == 0)
        rc = vel_comm_bcast(s->all, (int)root, &buf, s->err);
    if (rc == 0) {
        vel_le_read_init(&r, buf.data, buf.len);
        const void *id = vel_le_get_bytes(&r, VEL_ENCODING_ID);
        if (id)
            memcpy(s->encoding.id, id, VEL_ENCODING_ID);
        s->encoding.sequence = vel_le_get64(&r);
        s->encoding.scheme = vel_le_get32(&r);
        s->sets = vel_le_get32(&r);
        if (r.is_short)
            rc = vel_fail(s->err, VEL_ECORRUPT, "an encoding was announced cut short");
    }
    vel_buf_fini(&buf);
    return rc;
}

/* Encodings of one sequence have different identities when a crash came between: one
 * after the other, in whatever order, as long as all take the same. */
static int choose(struct step *s)
{
    bool *tried;
    struct vel_redfile *newest = newest_left(s->g, &tried);
    int64_t sequence = newest ? (int64_t)newest->header.sequence : -1, top = sequence;
    int rc = vel_comm_allreduce(s->all, VEL_COMM_MAX, &top, 1, s->err);

    if (rc == 0 && top < 0)
        rc = vel_fail(s->err, VEL_ENOENT, "no rank has a redundancy file named %s.*",
                      s->g->where->label);
    if (rc < 0)
        return rc;
    int64_t root = sequence == top ? s->all->rank : s->all->size;
    rc = vel_comm_allreduce(s->all, VEL_COMM_MIN, &root, 1, s->err);
    if (rc == 0)
        rc = announce(s, root, newest ? &newest->header : NULL);
    for (size_t i = 0; rc == 0 && i < s->g->found.n; i++) {
        const struct vel_redfile *redfile = vel_redfile_at(&s->g->found, i);

        if (memcmp(redfile->header.id, s->encoding.id, VEL_ENCODING_ID) != 0)
            continue;
        *(bool *)vel_vec_at(&s->g->tried, i) = true;
        if (!s->mine)
            s->mine = &redfile->header;
    }
    return rc;
}

/* --- who sat where
 * --------------------------------------------------------------------------- */

static int put_parcel(struct vel_vec *out, uint32_t rank, const struct place *place,
                      struct vel_err *err)
{
    struct vel_parcel parcel = {
        .peer = (int)rank, .bytes = malloc(PLACE), .len = PLACE};
    struct vel_le_writer w;

    if (!parcel.bytes || !vel_vec_push(out, &parcel)) {
        free(parcel.bytes);
        return vel_out_of_memory(err, "finding the sets of an earlier run");
    }
    vel_le_write_init(&w, parcel.bytes, PLACE);
    vel_le_put32(&w, place->set);
    vel_le_put32(&w, place->sets);
    vel_le_put32(&w, place->scheme);
    vel_le_put32(&w, place->n);
    vel_le_put32(&w, place->m);
    vel_le_put32(&w, place->member);
    return 0;
}

/* my place, and what I tell those whose lists I keep */
static int tell(struct step *s, struct vel_vec *out)
{
    const struct vel_red_header *h = s->mine;
    int rc = 0;

    if (!h)
        return 0;
    s->has_place = true;
    s->place = (struct place){.set = h->set,
                              .sets = h->sets,
                              .scheme = h->layout.scheme,
                              .n = (uint32_t)h->layout.n,
                              .m = (uint32_t)h->layout.m,
                              .member = h->member};
    for (size_t i = 1; rc == 0 && i < h->lists; i++) {
        struct place theirs = s->place;

        theirs.member = (uint32_t)((h->member + h->layout.n - i) % h->layout.n);
        if (h->list[i].rank >= (uint32_t)s->all->size)
            return vel_fail(s->err, VEL_EINVAL,
                            "the files of rank %" PRIu32
                            " were protected too, and this run has only %d ranks",
                            h->list[i].rank, s->all->size);
        rc = put_parcel(out, h->list[i].rank, &theirs, s->err);
    }
    return rc;
}

static bool same_place(const struct place *a, const struct place *b)
{
    return a->set == b->set && a->sets == b->sets && a->scheme == b->scheme &&
           a->n == b->n && a->m == b->m && a->member == b->member;
}

static int hear(struct step *s, const struct vel_vec *in)
{
    for (size_t i = 0; i < in->n; i++) {
        const struct vel_parcel *parcel = (struct vel_parcel *)in->items + i;
        struct vel_le_reader r;
        struct place place;

        vel_le_read_init(&r, parcel->bytes, parcel->len);
        place.set = vel_le_get32(&r);
        place.sets = vel_le_get32(&r);
        place.scheme = vel_le_get32(&r);
        place.n = vel_le_get32(&r);
        place.m = vel_le_get32(&r);
        place.member = vel_le_get32(&r);
        if (r.is_short || (s->has_place && !same_place(&place, &s->place)))
            return vel_fail(s->err, VEL_EINVAL,
                            "rank %d and others have different redundancy files for "
                            "rank %d",
                            parcel->peer, s->all->rank);
        s->place = place;
        s->has_place = true;
    }
    if (s->has_place && (s->place.sets != s->sets || s->place.set > INT_MAX ||
                         s->place.scheme != s->encoding.scheme))
        return vel_fail(s->err, VEL_EINVAL,
                        "rank %d was in set %" PRIu32 " of %" PRIu32
                        ", and others tell of %" PRIu32 " sets",
                        s->all->rank, s->place.set, s->place.sets, s->sets);
    return 0;
}

static int find_places(struct step *s)
{
    struct vel_vec out, in;

    vel_vec_init(&out, sizeof(struct vel_parcel));
    vel_vec_init(&in, sizeof(struct vel_parcel));
    int rc = vel_comm_agree(s->all, tell(s, &out), s->err);
    if (rc == 0) {
        rc = vel_comm_exchange(s->all, &out, &in, s->err);
        if (rc == 0)
            rc = vel_comm_agree(s->all, hear(s, &in), s->err);
    }
    vel_parcels_fini(&out);
    vel_parcels_fini(&in);
    return rc;
}

/* --- is everybody there
 * ---------------------------------------------------------------------- */

/* Which members have nothing, for the sentence: ranks that know their place by others,
 * and places that nobody knows. The set cannot be filled in any case. */
static int name_missing(struct step *s)
{
    const struct place *p = &s->place;
    const struct vel_layout shape = {
        .scheme = (enum vel_scheme)p->scheme, .n = p->n, .m = p->m};
    uint32_t member = s->mine ? p->member : VEL_SET_MAX;
    bool is_lost[VEL_SET_MAX];
    struct vel_buf all;
    size_t *lens = NULL;
    int rc;

    vel_buf_init(&all);
    rc = vel_comm_allgather(s->comm, &member, sizeof member, &all, &lens, s->err);
    memset(is_lost, true, sizeof is_lost);
    for (size_t at = 0; rc == 0 && at + sizeof member <= all.len; at += sizeof member) {
        memcpy(&member, all.data + at, sizeof member);
        if (member < VEL_SET_MAX)
            is_lost[member] = false;
    }
    if (rc == 0)
        rc = vel_plan_check(&shape, is_lost, s->err);
    if (rc == 0)
        rc = vel_fail(s->err, VEL_EINVAL, "the redundancy files contradict each other");
    free(lens);
    vel_buf_fini(&all);
    return vel_wrap(s->err, rc, "set %" PRIu32 " of %" PRIu32, p->set, p->sets);
}

/* Ranks that sat in one set are all there when their places now are those of then. */
static int check_set(struct step *s)
{
    int64_t is_bad;
    int rc;

    if (!s->comm)
        return 0;
    is_bad = (uint32_t)s->comm->size != s->place.n ||
             (uint32_t)s->comm->rank != s->place.member;
    rc = vel_comm_allreduce(s->comm, VEL_COMM_MAX, &is_bad, 1, s->err);
    return rc == 0 && is_bad ? name_missing(s) : rc;
}

static int check_sets(struct step *s)
{
    int64_t sets = s->comm && s->comm->rank == 0;
    int rc = vel_comm_agree(s->all, check_set(s), s->err);

    if (rc == 0)
        rc = vel_comm_allreduce(s->all, VEL_COMM_SUM, &sets, 1, s->err);
    if (rc == 0 && sets != s->sets)
        rc = vel_fail(s->err, VEL_EINVAL,
                      "nothing is left of %" PRId64 " of the %" PRIu32 " %s sets",
                      (int64_t)s->sets - sets, s->sets,
                      vel_scheme_name((enum vel_scheme)s->encoding.scheme));
    return rc;
}

/* --- the steps together
 * ---------------------------------------------------------------------- */

int vel_regroup_open(const struct vel_red_set *where, struct vel_regroup *ret_regroup,
                     struct vel_err *err)
{
    struct vel_regroup g = {.where = where};
    int rc = vel_redfile_scan(where->fs, where->dir, where->label,
                              (uint32_t)where->all->rank, &g.found, err);

    if (rc < 0)
        vel_vec_init(&g.found, sizeof(struct vel_redfile));
    vel_vec_init(&g.tried, sizeof(bool));
    for (size_t i = 0; rc == 0 && i < g.found.n; i++)
        if (!vel_vec_push(&g.tried, NULL))
            rc = vel_out_of_memory(err, "finding the sets of an earlier run");
    rc = vel_comm_agree(where->all, rc, err);
    if (rc < 0)
        vel_regroup_close(&g);
    else
        *ret_regroup = g;
    return rc;
}

void vel_regroup_close(struct vel_regroup *regroup)
{
    vel_redfiles_fini(&regroup->found);
    vel_vec_fini(&regroup->tried);
}

int vel_regroup_next(struct vel_regroup *regroup, struct vel_red_set *set,
                     struct vel_encoding *ret_encoding, struct vel_err *err)
{
    struct step s = {.g = regroup, .all = regroup->where->all, .err = err};
    int rc = choose(&s);

    if (rc == 0)
        rc = find_places(&s);
    if (rc == 0)
        rc = vel_comm_split(s.all, s.has_place ? (int)s.place.set : -1,
                            s.has_place ? (int)s.place.member : 0, &s.comm, err);
    if (rc == 0)
        rc = check_sets(&s);
    if (rc < 0) {
        vel_comm_destroy(s.comm);
        return rc;
    }
    s.encoding.m = s.place.m;
    set->comm = s.comm;
    set->scheme = (enum vel_scheme)s.encoding.scheme;
    set->m = s.place.m;
    set->set = s.place.set;
    set->sets = s.sets;
    set->rank = (uint32_t)s.all->rank;
    *ret_encoding = s.encoding;
    return 0;
}
