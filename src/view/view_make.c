/* SPDX-License-Identifier: BSD-3-Clause */
/* How a view is made. Everything that was told is sorted first, so that the same facts
 * in any order give the same view; nothing here reads a clock or a file. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "view/missed.h"
#include "view/view_in.h"

/* --- what was told --- */

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int compare_ids(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* See struct vel_view_making. */
static int compare_refs(const void *a, const void *b)
{
    const struct vel_view_ref *x = a, *y = b;
    const struct vel_stock_encoding *d = x->encoding, *e = y->encoding;
    int order = compare_numbers((uint64_t)y->held->id, (uint64_t)x->held->id);

    if (!order && (!d || !e))
        order = (e != NULL) - (d != NULL);
    if (!order && d) {
        order = compare_numbers(y->newest, x->newest);
        if (!order)
            order = memcmp(d->id, e->id, sizeof d->id);
        if (!order)
            order = compare_numbers(d->set, e->set);
        if (!order)
            order = compare_numbers(d->member, e->member);
    }
    if (!order)
        order = (x->node > y->node) - (x->node < y->node);
    if (!order)
        order = (x->held->rank > y->held->rank) - (x->held->rank < y->held->rank);
    return order
               ? order
               : (x->held->index > y->held->index) - (x->held->index < y->held->index);
}

/* Encodings together, each with its highest number first. */
static int compare_encodings(const void *a, const void *b)
{
    const struct vel_view_ref *x = a, *y = b;
    int order = compare_numbers((uint64_t)y->held->id, (uint64_t)x->held->id);

    if (!order && (!x->encoding || !y->encoding))
        return (y->encoding != NULL) - (x->encoding != NULL);
    if (!order)
        order = memcmp(x->encoding->id, y->encoding->id, sizeof x->encoding->id);
    return order ? order
                 : compare_numbers(y->encoding->sequence, x->encoding->sequence);
}

static bool is_of_same(const struct vel_view_ref *a, const struct vel_view_ref *b)
{
    return a->held->id == b->held->id && a->encoding && b->encoding &&
           memcmp(a->encoding->id, b->encoding->id, sizeof a->encoding->id) == 0;
}

static void sort_refs(struct vel_vec *all)
{
    struct vel_view_ref *refs = all->items;

    vel_vec_sort(all, compare_encodings);
    for (size_t i = 0; i < all->n; i++)
        if (i > 0 && is_of_same(&refs[i - 1], &refs[i]))
            refs[i].newest = refs[i - 1].newest;
        else
            refs[i].newest = refs[i].encoding ? refs[i].encoding->sequence : 0;
    vel_vec_sort(all, compare_refs);
}

static int add_nodes(struct vel_view_making *making, struct vel_err *err)
{
    const struct vel_view_of *of = making->of;
    struct vel_vec *nodes = &making->view->nodes;

    for (size_t i = 0; i < of->n_nodes; i++) {
        bool is_there;
        size_t at = vel_vec_place(nodes, &of->nodes[i].node, compare_texts, &is_there);
        char *name = is_there ? NULL : strdup(of->nodes[i].node);

        if (!is_there && (!name || !vel_vec_insert(nodes, at, &name))) {
            free(name);
            return vel_out_of_memory(err, "a view");
        }
    }
    return 0;
}

static int add_held(struct vel_view_making *making, const struct vel_stock *held,
                    int node, struct vel_err *err)
{
    struct vel_view_ref ref = {.held = held, .node = node};
    const struct vel_stock_encoding *e = held->encodings.items;
    bool is_added = true;

    if (held->encodings.n == 0)
        is_added = vel_vec_push(&making->refs, &ref);
    for (size_t i = 0; is_added && i < held->encodings.n; i++) {
        ref.encoding = &e[i];
        is_added = vel_vec_push(&making->refs, &ref);
    }
    return is_added ? 0 : vel_out_of_memory(err, "a view");
}

static int add_refs(struct vel_view_making *making, struct vel_err *err)
{
    const struct vel_view_of *of = making->of;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < of->n_nodes; i++) {
        const struct vel_stock *h = of->nodes[i].held.items;
        bool is_there;
        size_t node = vel_vec_place(&making->view->nodes, &of->nodes[i].node,
                                    compare_texts, &is_there);

        for (size_t k = 0; rc == 0 && k < of->nodes[i].held.n; k++)
            rc = add_held(making, &h[k], (int)node, err);
    }
    sort_refs(&making->refs);
    return rc;
}

/* --- the rules for one dataset --- */

static bool is_over(const struct vel_view_of *of, const char *launch)
{
    for (size_t i = 0; i < of->n_over; i++)
        if (strcmp(of->over[i], launch) == 0)
            return true;
    return false;
}

static bool is_dropped(const struct vel_view_of *of, int64_t id)
{
    for (size_t i = 0; i < of->n_dropped; i++)
        if (of->dropped[i] == id)
            return true;
    return false;
}

static const struct vel_entry *entry_of(const struct vel_view_of *of, int64_t id)
{
    for (size_t i = 0; i < of->n_entries; i++)
        if (of->entries[i].dataset.id == id)
            return &of->entries[i];
    return NULL;
}

/* That of its maker: only one can be. */
static const struct vel_view_seal *seal_of(const struct vel_view_of *of, int64_t id,
                                           const char *maker)
{
    for (size_t i = 0; i < of->n_seals; i++) {
        const struct vel_view_seal *seal = &of->seals[i];

        if (seal->seal.id == id && (!maker || strcmp(seal->launch, maker) == 0))
            return seal;
    }
    return NULL;
}

/* Of one that is gone nobody is the maker any more. */
static const struct vel_view_maker *claim_of(const struct vel_view_of *of, int64_t id)
{
    if (of->gone && vel_ranges_has(of->gone, id))
        return NULL;
    for (size_t i = 0; i < of->n_makers; i++)
        if (of->makers[i].first <= id && id <= of->makers[i].last)
            return &of->makers[i];
    return NULL;
}

static bool is_gone(const struct vel_view_of *of, int64_t id)
{
    const struct vel_view_maker *claim = claim_of(of, id);

    return claim && claim->is_gone;
}

static const char *maker_of(const struct vel_view_of *of, int64_t id)
{
    const struct vel_view_maker *claim = claim_of(of, id);
    const struct vel_view_seal *seal = claim ? NULL : seal_of(of, id, NULL);

    if (claim)
        return claim->launch;
    return seal ? seal->launch : NULL;
}

const char *vel_view_node_of(const struct vel_view_making *making, int rank)
{
    const struct vel_seal_member *member =
        making->seal ? vel_seal_find(making->seal, rank) : NULL;

    return member ? member->node : NULL;
}

/* What speaks against it whatever is left of it; 0: nothing. */
static enum vel_view_reason rule(const struct vel_view_making *making,
                                 const char *maker, bool is_leaders,
                                 struct vel_buf *why)
{
    const struct vel_view_maker *claim = claim_of(making->of, making->id);
    const struct vel_seal *seal = making->seal;
    const struct vel_entry *entry = entry_of(making->of, making->id);

    if (is_dropped(making->of, making->id)) {
        vel_buf_puts(why, "it was dropped");
        return VEL_VIEW_DROPPED;
    }
    if (claim ? claim->is_session : !maker && !is_leaders)
        return 0; /* its redundancy files are its seal */
    if ((!seal || is_gone(making->of, making->id)) && entry &&
        vel_entry_is_fetchable(entry))
        return 0; /* it was sealed, or it would not be there */
    if (!seal) {
        if (maker)
            vel_buf_printf(why, "launch %s ended before it was sealed", maker);
        else
            vel_buf_puts(why, "nobody has sealed it");
        return VEL_VIEW_UNSEALED;
    }
    if (seal->verdict == VEL_VERDICT_SEALED)
        return 0;
    vel_buf_puts(why, seal->verdict == VEL_VERDICT_PARTIAL
                          ? "its program ended before all had written their part"
                          : "it was given up before all had written their part");
    if (vel_seal_gives_way(seal))
        vel_buf_puts(why, ", and older files of its names are whole");
    return seal->verdict == VEL_VERDICT_PARTIAL && !vel_seal_gives_way(seal)
               ? VEL_VIEW_PARTIAL
               : VEL_VIEW_VOID;
}

static int lose(struct vel_view_making *making, enum vel_view_reason reason,
                struct vel_buf *why, struct vel_err *err)
{
    struct vel_view_lost lost = {
        .id = making->id, .reason = reason, .why = vel_buf_take(why, NULL)};

    if (lost.why && vel_vec_push(&making->view->lost, &lost))
        return 0;
    free(lost.why);
    return vel_out_of_memory(err, "a view");
}

static int keep(struct vel_view_making *making, struct vel_view_dataset *d,
                const struct vel_entry *entry, struct vel_err *err)
{
    int rc = d->is_cached ? 0 : vel_dataset_copy(&entry->dataset, &d->about, err);

    d->is_published = entry && vel_entry_is_fetchable(entry);
    if (rc == 0 && !vel_vec_push(&making->view->datasets, d))
        rc = vel_out_of_memory(err, "a view");
    if (rc < 0)
        vel_view_dataset_fini(d);
    return rc;
}

/* It cannot be restored by what was seen: may the rest of it, or all, lie where nobody
 * looked? Who removes the parts of one that is nowhere else says that it is gone. */
static bool is_unseen(const struct vel_view_making *making, size_t n,
                      struct vel_buf *why)
{
    struct vel_buf away;
    bool is =
        making->seal && claim_of(making->of, making->id) && !vel_view_has_newer(making);

    vel_buf_init(&away);
    if (is && vel_view_put_away(making->view, making->seal, &away) > 0)
        vel_buf_printf(why, "; %s did not tell", vel_buf_text(&away));
    else
        is = is && n == 0;
    vel_buf_fini(&away);
    return is;
}

/* n refs of it; none when only records tell of it */
static int decide(struct vel_view_making *making, const struct vel_view_ref *refs,
                  size_t n, struct vel_buf *why, struct vel_err *err)
{
    const struct vel_entry *entry = entry_of(making->of, making->id);
    const char *maker = maker_of(making->of, making->id);
    const struct vel_view_seal *sealed = seal_of(making->of, making->id, maker);
    struct vel_view_dataset d;
    enum vel_view_reason reason;
    int rc;

    making->seal = sealed ? &sealed->seal : NULL;
    if (maker && !is_over(making->of, maker))
        return 0;
    if (n == 0 && entry && entry->replaced)
        return 0; /* nothing of it is missed: newer files have its names */
    reason = rule(making, maker, n > 0 && refs[0].held->about.is_leaders, why);
    if (reason == VEL_VIEW_DROPPED)
        return lose(making, reason, why, err);
    if (!reason && !(entry && vel_entry_is_fetchable(entry)) &&
        vel_view_is_written_anew(making, why))
        reason = VEL_VIEW_INCOMPLETE;
    vel_view_dataset_init(&d);
    rc = reason ? 0 : vel_view_weigh(making, refs, n, &d, why, err);
    if (rc == 0 && d.is_cached)
        rc = vel_view_note_names(making, making->used, making->n_used, true, err);
    else if (rc == 0 && !reason && entry && vel_entry_is_fetchable(entry))
        rc = vel_view_note_names(making, refs, n, true, err);
    else if (rc == 0) {
        if (!reason)
            reason = is_unseen(making, n, why) ? VEL_VIEW_UNSEEN : VEL_VIEW_INCOMPLETE;
        rc = vel_view_note_names(making, refs, n, false, err);
        return rc < 0 ? rc : lose(making, reason, why, err);
    }
    if (rc < 0) {
        vel_view_dataset_fini(&d);
        return rc;
    }
    return keep(making, &d, entry, err);
}

/* --- all datasets --- */

static int note_id(struct vel_vec *ids, int64_t id, struct vel_err *err)
{
    return vel_vec_push(ids, &id) ? 0 : vel_out_of_memory(err, "a view");
}

/* Of whatever something is known that could matter: parts in a cache, files on the
 * prefix, a seal. */
static int list_ids(const struct vel_view_making *making, struct vel_vec *ids,
                    struct vel_err *err)
{
    const struct vel_view_of *of = making->of;
    const struct vel_view_ref *refs = making->refs.items;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < making->refs.n; i++)
        if (i == 0 || refs[i].held->id != refs[i - 1].held->id)
            rc = note_id(ids, refs[i].held->id, err);
    for (size_t i = 0; rc == 0 && i < of->n_entries; i++)
        if (vel_entry_is_fetchable(&of->entries[i]))
            rc = note_id(ids, of->entries[i].dataset.id, err);
    for (size_t i = 0; rc == 0 && i < of->n_seals; i++)
        if (of->seals[i].seal.id > 0) /* a key that was void never had a dataset */
            rc = note_id(ids, of->seals[i].seal.id, err);
    vel_vec_sort(ids, compare_ids);
    return rc;
}

static int decide_all(struct vel_view_making *making, const struct vel_vec *ids,
                      struct vel_err *err)
{
    const struct vel_view_ref *refs = making->refs.items;
    const int64_t *id = ids->items;
    size_t at = 0;
    int rc = 0;

    for (size_t i = ids->n; rc == 0 && i-- > 0;) {
        size_t first = at;
        struct vel_buf why;

        if (i + 1 < ids->n && id[i] == id[i + 1])
            continue;
        while (at < making->refs.n && refs[at].held->id == id[i])
            at++;
        vel_buf_init(&why);
        making->id = id[i];
        rc = decide(making, at > first ? refs + first : NULL, at - first, &why, err);
        vel_buf_fini(&why);
    }
    return rc;
}

/* The highest id of anything, so that what is newer than the view is known as such. */
static int64_t highest(const struct vel_view_of *of, const struct vel_vec *ids)
{
    const int64_t *id = ids->items;
    int64_t most = ids->n ? id[ids->n - 1] : 0;

    for (size_t i = 0; i < of->n_entries; i++)
        if (of->entries[i].dataset.id > most)
            most = of->entries[i].dataset.id;
    for (size_t i = 0; i < of->n_dropped; i++)
        if (of->dropped[i] > most)
            most = of->dropped[i];
    return most;
}

static int note_alive(const struct vel_view_making *making, struct vel_err *err)
{
    const struct vel_view_of *of = making->of;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < of->n_makers; i++)
        if (!is_over(of, of->makers[i].launch))
            rc = note_id(&making->view->alive, of->makers[i].first, err);
    return rc;
}

static int make(struct vel_view_making *making, struct vel_err *err)
{
    struct vel_vec ids;
    int rc = add_nodes(making, err);

    vel_vec_init(&ids, sizeof(int64_t));
    if (rc == 0)
        rc = add_refs(making, err);
    if (rc == 0)
        rc = list_ids(making, &ids, err);
    if (rc == 0)
        rc = decide_all(making, &ids, err);
    if (rc == 0)
        rc = note_alive(making, err);
    if (rc == 0)
        rc = vel_view_settle_names(making, err);
    making->view->highest = highest(making->of, &ids);
    vel_vec_sort(&making->view->alive, compare_ids);
    vel_vec_fini(&ids);
    return rc;
}

int vel_view_make(const struct vel_view_of *of, struct vel_view *ret,
                  struct vel_err *err)
{
    struct vel_view view;
    struct vel_view_making making = {.of = of, .view = &view};
    int rc = vel_view_init(&view, of->launch, err);

    if (rc < 0)
        return rc;
    vel_vec_init(&making.refs, sizeof(struct vel_view_ref));
    vel_vec_init(&making.names, sizeof(struct vel_view_noted));
    rc = make(&making, err);
    vel_vec_fini(&making.names);
    vel_vec_fini(&making.refs);
    if (rc < 0)
        vel_view_fini(&view);
    else
        *ret = view;
    return rc;
}
