/* SPDX-License-Identifier: BSD-3-Clause */
/* Can the parts that are there give all of a dataset? */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "red/plan.h"
#include "view/view_in.h"

enum { TOLD_MOST = 8 }; /* ranks in a sentence */

/* a rank of an encoding, for looking whether all are there once */
static int by_rank(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;

    return (x > y) - (x < y);
}

/* --- one set --- */

struct set_at_hand {
    const struct vel_stock_encoding *model;
    bool is_lost[VEL_SET_MAX];
    int rank[VEL_SET_MAX]; /* below 0: nobody tells */
    int node[VEL_SET_MAX];
};

static bool fits(const struct vel_stock_encoding *a, const struct vel_stock_encoding *b)
{
    return a->n == b->n && a->m == b->m && a->scheme == b->scheme && a->sets == b->sets;
}

/* Who is there, and whose lists tell of the others. A part whose files are not whole
 * still has its lists. */
static void fill_set(struct set_at_hand *s, const struct vel_view_ref *refs, size_t n)
{
    for (size_t i = 0; i < s->model->n; i++) {
        s->is_lost[i] = true;
        s->rank[i] = s->node[i] = -1;
    }
    for (size_t i = 0; i < n; i++) {
        const struct vel_stock_encoding *e = refs[i].encoding;

        if (!fits(e, s->model) || !e->is_whole || !s->is_lost[e->member])
            continue;
        s->is_lost[e->member] = false;
        s->rank[e->member] = refs[i].held->rank;
        s->node[e->member] = refs[i].node;
    }
    for (size_t i = 0; i < n; i++) {
        const struct vel_stock_encoding *e = refs[i].encoding;
        const struct vel_stock_list *l = e->lists.items;

        for (size_t k = 0; fits(e, s->model) && k < e->lists.n; k++) {
            size_t place = (e->member + e->n - k) % e->n;

            if (s->rank[place] < 0)
                s->rank[place] = l[k].rank;
        }
    }
}

/* "set 1 of 4: members 2, 3 of a set of 4 are lost, and XOR here bears the loss of 1
 * (rank 5 of node n2, rank 7)" */
static void tell_set(const struct vel_view_making *making, const struct set_at_hand *s,
                     const char *sentence, struct vel_buf *why)
{
    size_t told = 0;

    vel_buf_printf(why, "set %u of %u: %s", (unsigned)s->model->set + 1,
                   (unsigned)s->model->sets, sentence);
    for (size_t i = 0; i < s->model->n && told < TOLD_MOST; i++) {
        const char *node;

        if (!s->is_lost[i] || s->rank[i] < 0)
            continue;
        node = vel_view_node_of(making, s->rank[i]);
        vel_buf_printf(why, "%srank %d%s%s", told++ ? ", " : " (", s->rank[i],
                       node ? " of node " : "", node ? node : "");
    }
    vel_buf_puts(why, told ? ")" : "");
}

static int keep_set(const struct set_at_hand *s, struct vel_view_dataset *d,
                    struct vel_err *err)
{
    struct vel_view_set *set = vel_vec_push(&d->sets, NULL);

    if (!set)
        return vel_out_of_memory(err, "a view");
    set->m = s->model->m;
    vel_vec_init(&set->places, sizeof(struct vel_view_place));
    for (size_t i = 0; i < s->model->n; i++) {
        struct vel_view_place place = {.rank = s->rank[i], .node = s->node[i]};

        if (!vel_vec_push(&set->places, &place))
            return vel_out_of_memory(err, "a view");
    }
    return 0;
}

/* One set of an encoding: 1 when it can be made whole, 0 with *why when not. */
static int weigh_set(const struct vel_view_making *making,
                     const struct vel_view_ref *refs, size_t n,
                     struct vel_view_dataset *d, struct vel_buf *why,
                     struct vel_err *err)
{
    struct set_at_hand s = {.model = refs[0].encoding};
    struct vel_err lost = {0};
    int rc;

    fill_set(&s, refs, n);
    struct vel_layout layout = {
        .scheme = s.model->scheme, .n = s.model->n, .m = s.model->m};
    rc = vel_plan_check(&layout, s.is_lost, &lost);
    for (size_t i = 0; rc == 0 && i < s.model->n; i++)
        if (s.rank[i] < 0)
            rc = vel_fail(&lost, VEL_EINVAL, "nobody tells whose member %zu is", i);
    if (rc == 0) {
        rc = keep_set(&s, d, err);
        return rc < 0 ? rc : 1;
    }
    tell_set(making, &s, lost.text, why);
    return 0;
}

/* --- one encoding --- */

/* Is everybody who is expected there, and nobody twice? */
static int weigh_ranks(const struct vel_view_making *making,
                       const struct vel_view_dataset *d, struct vel_buf *why,
                       struct vel_err *err)
{
    const struct vel_seal *seal = making->seal;
    const struct vel_view_set *set = d->sets.items;
    struct vel_vec ranks;
    bool is_whole = true, is_there;
    size_t expected;

    vel_vec_init(&ranks, sizeof(int));
    for (size_t s = 0; s < d->sets.n; s++)
        for (size_t i = 0; i < set[s].places.n; i++)
            if (!vel_vec_push(&ranks, &vel_view_place_at(&set[s], i)->rank)) {
                vel_vec_fini(&ranks);
                return vel_out_of_memory(err, "a view");
            }
    vel_vec_sort(&ranks, by_rank);
    for (size_t i = 1; is_whole && i < ranks.n; i++)
        if (by_rank(vel_vec_at(&ranks, i - 1), vel_vec_at(&ranks, i)) == 0) {
            vel_buf_printf(why, "rank %d is in two places of its sets",
                           *(int *)vel_vec_at(&ranks, i));
            is_whole = false;
        }
    expected = seal && seal->members.n ? seal->members.n : (size_t)d->about.ranks;
    for (size_t i = 0; is_whole && i < expected; i++) {
        int rank =
            seal && seal->members.n ? (int)vel_seal_member(seal, i)->rank : (int)i;

        vel_vec_place(&ranks, &rank, by_rank, &is_there);
        if (!is_there)
            vel_buf_printf(why, "rank %d, which is part of it, is in none of its sets",
                           rank);
        is_whole = is_there;
    }
    vel_vec_fini(&ranks);
    return is_whole;
}

/* What it is, as one of the parts of this encoding tells. */
static int take_about(const struct vel_view_ref *refs, size_t n,
                      struct vel_view_dataset *d, struct vel_buf *why,
                      struct vel_err *err)
{
    for (size_t i = 0; i < n; i++)
        if (refs[i].held->has_about) {
            int rc = vel_dataset_copy(&refs[i].held->about, &d->about, err);

            d->index = refs[i].held->index;
            return rc < 0 ? rc : 1;
        }
    vel_buf_puts(why, "no part tells what dataset it is");
    return 0;
}

static int weigh_sets(const struct vel_view_making *making,
                      const struct vel_view_ref *refs, size_t n,
                      struct vel_view_dataset *d, struct vel_buf *why,
                      struct vel_err *err)
{
    uint32_t sets = refs[0].encoding->sets;
    size_t at = 0;
    int rc = 1;

    for (uint32_t s = 0; rc == 1 && s < sets; s++) {
        size_t first = at;

        while (at < n && refs[at].encoding->set == s)
            at++;
        if (at == first) {
            vel_buf_printf(why, "nothing is left of set %u of %u", (unsigned)s + 1,
                           (unsigned)sets);
            return 0;
        }
        rc = weigh_set(making, refs + first, at - first, d, why, err);
    }
    return rc;
}

/* 1: *d can be restored with it; 0: not, and *why says so. */
static int weigh_encoding(const struct vel_view_making *making,
                          const struct vel_view_ref *refs, size_t n,
                          struct vel_view_dataset *d, struct vel_buf *why,
                          struct vel_err *err)
{
    int rc = take_about(refs, n, d, why, err);

    if (rc == 1)
        rc = weigh_sets(making, refs, n, d, why, err);
    if (rc == 1)
        rc = weigh_ranks(making, d, why, err);
    if (rc == 1) {
        d->is_cached = true;
        d->scheme = refs[0].encoding->scheme;
        memcpy(d->encoding, refs[0].encoding->id, sizeof d->encoding);
    }
    return rc;
}

static bool same_encoding(const struct vel_view_ref *a, const struct vel_view_ref *b)
{
    return a->encoding && b->encoding &&
           memcmp(a->encoding->id, b->encoding->id, VEL_ENCODING_ID) == 0;
}

/* The newest encoding that can be made whole; *why of the newest one when none can. */
int vel_view_weigh(struct vel_view_making *making, const struct vel_view_ref *refs,
                   size_t n, struct vel_view_dataset *d, struct vel_buf *why,
                   struct vel_err *err)
{
    int rc = 0;

    if (n == 0)
        vel_buf_puts(why, "no cache that was looked at holds any of it");
    else if (!refs[0].encoding)
        vel_buf_puts(why, VEL_VIEW_NEVER);
    for (size_t at = 0, end; rc == 0 && at < n && refs[at].encoding; at = end) {
        struct vel_buf other;

        for (end = at + 1; end < n && same_encoding(&refs[at], &refs[end]);)
            end++;
        vel_buf_init(&other);
        rc = weigh_encoding(making, refs + at, end - at, d, at ? &other : why, err);
        vel_buf_fini(&other);
        making->used = refs + at;
        making->n_used = rc == 1 ? end - at : 0;
        if (rc != 1)
            vel_view_dataset_fini(d);
        if (rc != 1)
            vel_view_dataset_init(d);
    }
    return rc < 0 ? rc : 0;
}
