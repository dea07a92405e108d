/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "record/record.h"
#include "tap/files.h"
#include "tap/recordlab.h"
#include "tap/tap.h"
#include "tap/viewlab.h"

enum { SEEDS = 400 };

static void must(int rc, const struct vel_err *err)
{
    if (rc < 0)
        bail_out("%s", err->text);
}

static void look(const struct viewlab *lab, struct vel_view *view)
{
    struct vel_err err = {0};

    must(vel_view_make(&lab->of, view, &err), &err);
}

/* --- what must hold of any view --- */

static bool restores_the_right_ones(const struct viewlab *lab,
                                    const struct vel_view *view)
{
    for (size_t i = 0; i < lab->n; i++) {
        const struct viewlab_dataset *d = &lab->dataset[i];
        const struct vel_view_dataset *found = vel_view_find_dataset(view, d->id);

        if (!found != !viewlab_is_restored(lab, d))
            return false;
        if (found && found->is_cached != viewlab_is_cached(lab, d))
            return false;
    }
    return true;
}

static size_t node_number(const struct vel_view *view, int node)
{
    return (size_t)atoi(*(char **)vel_vec_at(&view->nodes, (size_t)node) + 1);
}

/* What it calls cached has every rank once, and each is on a node that came and has it,
 * or is rebuilt from others of its set who are. */
static bool gives_all_members(const struct viewlab *lab, const struct vel_view *view)
{
    for (size_t i = 0; i < view->datasets.n; i++) {
        const struct vel_view_dataset *d = vel_vec_at(&view->datasets, i);
        const struct viewlab_dataset *made = &lab->dataset[d->about.id - 1];
        size_t set, place;

        for (int r = 0; d->is_cached && r < d->about.ranks; r++) {
            bool is_there = false;

            if (!vel_view_find_place(d, r, &set, &place))
                return false;
            const struct vel_view_set *s = vel_vec_at(&d->sets, set);
            const struct vel_view_place *p = vel_vec_at(&s->places, place);
            for (size_t n = 0; n < lab->nodes; n++)
                is_there |= !lab->is_away[n] && viewlab_holds(lab, made, n, r);
            is_there &= made->encoding[d->encoding[1]].is_there[r];
            if (is_there != (p->node >= 0) ||
                (is_there && !viewlab_holds(lab, made, node_number(view, p->node), r)))
                return false;
        }
    }
    return true;
}

static bool gives_reasons(const struct viewlab *lab, const struct vel_view *view)
{
    for (size_t i = 0; i < lab->n; i++) {
        const struct viewlab_dataset *d = &lab->dataset[i];
        const struct vel_view_lost *lost = vel_view_find_lost(view, d->id);
        bool should = viewlab_is_known(lab, d) && !viewlab_is_restored(lab, d) &&
                      !viewlab_is_alive(d);

        if (!lost != !should || (lost && !*lost->why))
            return false;
    }
    return true;
}

static bool has_name(const struct viewlab_dataset *d, int rank, size_t i)
{
    return rank < d->ranks && d->names >> i & 1;
}

/* Every name of a dataset that the caches give is there, with the newest that has it.
 */
static bool names_the_newest(const struct viewlab *lab, const struct vel_view *view)
{
    for (int r = 0; r < VIEWLAB_RANKS; r++)
        for (size_t i = 0; i < VIEWLAB_NAMES; i++) {
            const struct vel_view_name *name =
                vel_view_find_name(view, viewlab_name(r, i));
            int64_t cached = 0, restored = 0, lost = 0;

            for (size_t k = 0; k < lab->n; k++) {
                const struct viewlab_dataset *d = &lab->dataset[k];

                if (!has_name(d, r, i))
                    continue;
                cached = viewlab_is_cached(lab, d) ? d->id : cached;
                restored = viewlab_is_restored(lab, d) ? d->id : restored;
                lost = vel_view_find_lost(view, d->id) && !d->is_dropped ? d->id : lost;
            }
            if ((name ? name->id : 0) < cached || (name ? name->id : 0) > restored)
                return false;
            if (name && (name->lost > lost || (name->lost && name->lost < name->id)))
                return false;
            if (name && name->id &&
                (name->rank != r || name->size != (uint64_t)name->id ||
                 !has_name(&lab->dataset[name->id - 1], r, i)))
                return false;
        }
    return true;
}

static bool is_same(const struct vel_view *a, const struct vel_view *b)
{
    struct vel_buf x, y;
    struct vel_err err = {0};
    bool same;

    vel_buf_init(&x);
    vel_buf_init(&y);
    must(vel_view_encode(a, &x, &err), &err);
    must(vel_view_encode(b, &y, &err), &err);
    same = x.len == y.len && memcmp(x.data, y.data, x.len) == 0;
    vel_buf_fini(&x);
    vel_buf_fini(&y);
    return same;
}

static bool ignores_order(struct viewlab *lab, const struct vel_view *view,
                          struct vel_rng *rng)
{
    struct vel_view other;
    bool same;

    viewlab_shuffle(lab, rng);
    look(lab, &other);
    same = is_same(view, &other);
    vel_view_fini(&other);
    return same;
}

static bool survives_its_record(const struct vel_view *view)
{
    struct vel_buf bytes;
    struct vel_view again;
    struct vel_err err = {0};
    bool same;

    vel_buf_init(&bytes);
    must(vel_view_encode(view, &bytes, &err), &err);
    same = vel_view_decode(bytes.data, bytes.len, &again, &err) == 0;
    if (same) {
        same = is_same(view, &again);
        vel_view_fini(&again);
    }
    vel_buf_fini(&bytes);
    return same;
}

/* Inventories go over the wire, so what they tell must be the same behind it. */
static bool survives_the_wire(struct viewlab *lab, const struct vel_view *view)
{
    struct vel_inventory told[VIEWLAB_NODES];
    struct vel_view_of of = lab->of;
    struct vel_view other;
    struct vel_err err = {0};
    bool same;

    of.nodes = told;
    for (size_t i = 0; i < of.n_nodes; i++) {
        struct vel_buf bytes;

        vel_buf_init(&bytes);
        must(vel_inventory_encode(&lab->told[i], &bytes, &err), &err);
        must(vel_inventory_decode(bytes.data, bytes.len, &told[i], &err), &err);
        vel_buf_fini(&bytes);
    }
    must(vel_view_make(&of, &other, &err), &err);
    same = is_same(view, &other);
    vel_view_fini(&other);
    for (size_t i = 0; i < of.n_nodes; i++)
        vel_inventory_fini(&told[i]);
    return same;
}

static void properties(void)
{
    size_t right[7] = {0}, restored = 0, lost = 0;
    struct vel_rng rng;

    vel_rng_init(&rng, 1);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct viewlab lab;
        struct vel_view view;

        viewlab_make(&lab, seed);
        look(&lab, &view);
        right[0] += restores_the_right_ones(&lab, &view);
        right[1] += gives_all_members(&lab, &view);
        right[2] += gives_reasons(&lab, &view);
        right[3] += names_the_newest(&lab, &view);
        right[4] += survives_its_record(&view);
        right[5] += survives_the_wire(&lab, &view);
        right[6] += ignores_order(&lab, &view, &rng);
        restored += view.datasets.n;
        lost += view.lost.n;
        vel_view_fini(&view);
        viewlab_fini(&lab);
    }
    note("%zu datasets restored, %zu lost", restored, lost);
    is_int(right[0], SEEDS,
           "just what is sealed and whole, or on the prefix, is restored");
    is_int(right[1], SEEDS, "every expected member of it is there or can be rebuilt");
    is_int(right[2], SEEDS,
           "what is not restored has a reason, and what lives is left alone");
    is_int(right[3], SEEDS,
           "a name has the newest restored dataset with it, or is lost");
    is_int(right[4], SEEDS, "the record tells it all");
    is_int(right[5], SEEDS, "inventories that were sent give the same view");
    is_int(right[6], SEEDS, "so do the same facts in any order");
}

/* --- what never became a dataset --- */

/* Of files that were begun and given up, or whose like was closed before they were: the
 * seal of their key has no dataset. */
static void void_seals(void)
{
    struct viewlab lab;
    struct vel_view view;

    viewlab_plain(&lab);
    lab.over[lab.of.n_over++] = "before";
    for (size_t i = 0; i < 2; i++)
        lab.seals[lab.of.n_seals++] = (struct vel_view_seal){
            .launch = "before", .seal.verdict = VEL_VERDICT_VOID};
    look(&lab, &view);
    ok(view.datasets.n == 1 && view.lost.n == 0,
       "files that were given up before they were a dataset are none that is lost");
    ok(survives_its_record(&view), "and the view that says so can be read");
    vel_view_fini(&view);
    viewlab_fini(&lab);
}

/* --- sentences --- */

static void sentences(void)
{
    char heat[] = "heat", name[] = "ck/1", why[] = "set 1 of 1: member 2 is lost";
    struct vel_view view = {.launch = NULL};
    struct vel_view_lost lost = {.id = 5, .reason = VEL_VIEW_INCOMPLETE, .why = why};
    struct vel_view_dataset d = {.about = {.id = 4, .name = heat}};
    struct vel_view_name is_lost = {.name = name, .lost = 5};
    struct vel_buf text;

    vel_vec_init(&view.lost, sizeof lost);
    vel_vec_init(&view.datasets, sizeof d);
    vel_vec_push(&view.lost, &lost);
    vel_buf_init(&text);
    vel_view_tell_lost(&view, &is_lost, &text);
    is_str(vel_buf_text(&text),
           "ck/1 is part of dataset 5, which is lost: set 1 of 1: member 2 is lost; "
           "nothing can be restored",
           "a lost name tells which dataset, and why");
    vel_vec_push(&view.datasets, &d);
    vel_buf_clear(&text);
    vel_view_tell_lost(&view, &is_lost, &text);
    ok(strstr(vel_buf_text(&text), "the newest that can be restored is heat (4)"),
       "and what can be restored instead");
    vel_buf_fini(&text);
    vel_vec_fini(&view.lost);
    vel_vec_fini(&view.datasets);
}

/* --- records that lie --- */

static int decode_view(const void *bytes, size_t len, struct vel_err *err)
{
    struct vel_view view;
    int rc = vel_view_decode(bytes, len, &view, err);

    if (rc == 0)
        vel_view_fini(&view);
    return rc;
}

static int decode_inventory(const void *bytes, size_t len, struct vel_err *err)
{
    struct vel_inventory inventory;
    int rc = vel_inventory_decode(bytes, len, &inventory, err);

    if (rc == 0)
        vel_inventory_fini(&inventory);
    return rc;
}

static void hostile_view(void)
{
    static const struct recordlab_damage damages[] = {
        {"\"launch\"", "\"lunch\"", "launch"},
        {"\"failures\":1", "\"failures\":2", "loses 2"},
        {"[0,0,1,1]", "[0,0,1]", "3 numbers"},
        {"[0,0,1,1]", "[0,0,1,9]", "from -1 to 1"},
        {"[0,0,1,1]", "[0,0,1,-2]", "from -1 to 1"},
        {"\"XOR\"", "\"ROX\"", "no scheme"},
        {"\"encoding\":\"01", "\"encoding\":\"0g", "not 16 bytes in hexadecimal"},
        {"out/file-0.0", "../file-0.0", "no name of a cached file"},
        {"out/file-0.0", "zz/file-0.0", "in no order"},
        {"\"n0\"", "\"n/0\"", "no name of a node"},
        {"\"dataset\":1", "\"dataset\":2", "not there"},
    };
    struct viewlab lab;
    struct vel_view view;
    struct vel_buf bytes;
    struct vel_err err = {0};

    viewlab_plain(&lab);
    look(&lab, &view);
    vel_buf_init(&bytes);
    must(vel_view_encode(&view, &bytes, &err), &err);
    recordlab_refused(&bytes, VEL_VIEW_TYPE, decode_view, damages,
                      sizeof damages / sizeof damages[0]);
    vel_buf_fini(&bytes);
    vel_view_fini(&view);
    viewlab_fini(&lab);
}

static void hostile_inventory(void)
{
    static const struct recordlab_damage damages[] = {
        {"\"members\":2", "\"members\":257", "members"},
        {"\"members\":2", "\"members\":1", "failures"},
        {"\"failures\":1", "\"failures\":0", "loses 0"},
        {"\"member\":0", "\"member\":2", "member"},
        {"\"set\":0", "\"set\":1", "set"},
        {"\"scheme\":\"XOR\"", "\"scheme\":\"ROX\"", "no scheme"},
        {"out/file-0.0", "/ut/file-0.0", "no name of a cached file"},
        {"\"sizes\":[1]", "\"sizes\":[]", "as many sizes"},
        {"\"sizes\":[1]", "\"sizes\":[-1]", "integer from 0"},
        {"\"node\":\"n0\"", "\"node\":\"../\"", "no name of a node"},
        {"\"dataset\":1", "\"dataset\":0", "dataset"},
        {"\"id\":1", "\"id\":2", "another dataset"},
    };
    struct viewlab lab;
    struct vel_buf bytes;
    struct vel_err err = {0};

    viewlab_plain(&lab);
    vel_buf_init(&bytes);
    must(vel_inventory_encode(&lab.told[0], &bytes, &err), &err);
    recordlab_refused(&bytes, "held", decode_inventory, damages,
                      sizeof damages / sizeof damages[0]);
    vel_buf_fini(&bytes);
    viewlab_fini(&lab);
}

int main(void)
{
    properties();
    void_seals();
    sentences();
    hostile_view();
    hostile_inventory();
    return done_testing();
}
