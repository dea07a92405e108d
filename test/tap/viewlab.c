/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap/tap.h"
#include "tap/viewlab.h"

static const char *const launches[] = {"A", "B", "C"};

const char *viewlab_name(int rank, size_t i)
{
    static char names[8][32];
    static unsigned turn;
    char *name = names[turn++ % 8];

    snprintf(name, sizeof names[0], "out/file-%zu.%d", i, rank);
    return name;
}

/* Ranks are dealt to sets of at most as many members as there are nodes: rank r is on
 * node r mod nodes, and in set r / nodes. */
static size_t sets_of(const struct viewlab *lab, const struct viewlab_dataset *d)
{
    return ((size_t)d->ranks + lab->nodes - 1) / lab->nodes;
}

static size_t members_of(const struct viewlab *lab, const struct viewlab_dataset *d,
                         size_t set)
{
    size_t left = (size_t)d->ranks - set * lab->nodes;

    return left < lab->nodes ? left : lab->nodes;
}

static void make_dataset(struct viewlab *lab, struct viewlab_dataset *d, int64_t id,
                         struct vel_rng *rng)
{
    *d = (struct viewlab_dataset){
        .id = id,
        .ranks = 1 + (int)vel_rng_below(rng, VIEWLAB_RANKS),
        .encodings = 1 + (int)vel_rng_below(rng, VIEWLAB_ENCODINGS),
        .names = 1 + (unsigned)vel_rng_below(rng, (1 << VIEWLAB_NAMES) - 1),
        .maker = vel_rng_below(rng, 2) ? launches[vel_rng_below(rng, 3)] : NULL,
        .is_dropped = vel_rng_below(rng, 12) == 0,
        .has_entry = vel_rng_below(rng, 2),
        .place = (enum vel_place_on_prefix)vel_rng_below(rng, VEL_ON_PREFIX + 1),
    };
    if (d->maker) {
        d->is_over = strcmp(d->maker, "C") != 0;
        d->verdict = vel_rng_below(rng, 6) == 0 ? (int)vel_rng_below(rng, 4) : 1;
        if (vel_rng_below(rng, 6) == 0)
            d->verdict = 0; /* it is in no ledger */
        d->is_short = vel_rng_below(rng, 10) == 0;
        d->is_session = vel_rng_below(rng, 4) == 0;
    }
    for (int e = 0; e < d->encodings; e++)
        d->encoding[e].scheme = e ? VEL_XOR : VEL_SINGLE;
    for (int e = 0; e < d->encodings; e++)
        for (int r = 0; r < d->ranks; r++)
            d->encoding[e].is_there[r] = vel_rng_below(rng, 25) != 0;
    for (int r = 0; r < d->ranks; r++)
        d->is_copied[r] = vel_rng_below(rng, 4) == 0;
    /* a set of one cannot be XOR */
    for (size_t s = 0; s < sets_of(lab, d); s++)
        if (members_of(lab, d, s) < 2)
            d->encodings = 1;
}

bool viewlab_holds(const struct viewlab *lab, const struct viewlab_dataset *d,
                   size_t node, int rank)
{
    return (size_t)rank % lab->nodes == node ||
           (d->is_copied[rank] && ((size_t)rank + 1) % lab->nodes == node);
}

/* --- what nodes tell --- */

static void must(bool is_done)
{
    if (!is_done)
        bail_out("viewlab: out of memory");
}

static void tell_list(const struct viewlab_dataset *d, int rank, struct vel_vec *lists)
{
    struct vel_stock_list *list = vel_vec_push(lists, NULL);

    must(list);
    list->rank = rank;
    vel_vec_init(&list->files, sizeof(struct vel_stock_file));
    for (size_t i = 0; i < VIEWLAB_NAMES; i++) {
        struct vel_stock_file file = {.name = strdup(viewlab_name(rank, i)),
                                      .size = (uint64_t)d->id};

        if (d->names >> i & 1)
            must(vel_vec_push(&list->files, &file));
        else
            free(file.name);
    }
}

static void tell_encoding(const struct viewlab *lab, const struct viewlab_dataset *d,
                          int e, int rank, struct vel_stock *stock)
{
    struct vel_stock_encoding *to = vel_vec_insert(&stock->encodings, 0, NULL);
    size_t set = (size_t)rank / lab->nodes, member = (size_t)rank % lab->nodes;
    size_t n = members_of(lab, d, set);

    must(to);
    *to = (struct vel_stock_encoding){.id = {(uint8_t)d->id, (uint8_t)e},
                                      /* sets of one are encoded each by itself */
                                      .sequence = 2 * (uint64_t)e + set % 2,
                                      .scheme = d->encoding[e].scheme,
                                      .n = (uint32_t)n,
                                      .m = d->encoding[e].scheme == VEL_XOR,
                                      .member = (uint32_t)member,
                                      .set = (uint32_t)set,
                                      .sets = (uint32_t)sets_of(lab, d),
                                      .is_whole = true};
    vel_vec_init(&to->lists, sizeof(struct vel_stock_list));
    for (size_t k = 0; k <= to->m; k++)
        tell_list(d, (int)(set * lab->nodes + (member + n - k) % n), &to->lists);
}

static void tell_part(const struct viewlab *lab, const struct viewlab_dataset *d,
                      int rank, struct vel_inventory *inventory)
{
    struct vel_stock *stock = vel_vec_push(&inventory->held, NULL);
    char name[] = "heat";
    const struct vel_dataset about = {.id = d->id,
                                      .name = name,
                                      .version = d->id,
                                      .use = VEL_USE_CHECKPOINT,
                                      .ranks = d->ranks,
                                      .nodes = (int)lab->nodes};

    must(stock);
    stock->id = d->id;
    stock->rank = rank;
    vel_vec_init(&stock->encodings, sizeof(struct vel_stock_encoding));
    stock->has_about = vel_dataset_copy(&about, &stock->about, NULL) == 0;
    for (int e = 0; e < d->encodings; e++)
        if (d->encoding[e].is_there[rank])
            tell_encoding(lab, d, e, rank, stock);
}

static void tell_records(struct viewlab *lab, size_t i)
{
    const struct viewlab_dataset *d = &lab->dataset[i];
    struct vel_view_of *of = &lab->of;
    struct vel_view_seal *seal = &lab->seals[of->n_seals];

    if (d->maker)
        lab->makers[of->n_makers++] =
            (struct vel_view_maker){.first = d->id,
                                    .last = d->id,
                                    .launch = d->maker,
                                    .is_session = d->is_session};
    if (d->is_dropped)
        lab->dropped[of->n_dropped++] = d->id;
    if (d->has_entry)
        lab->entries[of->n_entries++] =
            (struct vel_entry){.dataset = {.id = d->id,
                                           .name = (char *)"heat",
                                           .use = VEL_USE_CHECKPOINT,
                                           .ranks = d->ranks,
                                           .nodes = (int)lab->nodes},
                               .place = d->place};
    if (!d->verdict)
        return;
    vel_seal_init(&seal->seal);
    seal->launch = d->maker;
    seal->seal.id = d->id;
    seal->seal.template = strdup("");
    seal->seal.verdict = (enum vel_verdict)d->verdict;
    seal->seal.what = viewlab_gives_way(d) ? 0 : VEL_OWED_FLUSH;
    for (int r = 0; r < d->ranks + d->is_short; r++) {
        const struct vel_seal_member member = {.rank = r, .node = (char *)"node"};

        if (vel_seal_add(&seal->seal, &member, NULL) < 0)
            bail_out("no memory");
    }
    of->n_seals++;
}

/* Those that came first, then the others. */
static void tell_all(struct viewlab *lab)
{
    size_t at = 0;

    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < lab->nodes; i++) {
            char name[24];

            if (lab->is_away[i] != round)
                continue;
            snprintf(name, sizeof name, "n%zu", i);
            must(vel_inventory_init(&lab->told[at], name, NULL) == 0);
            for (size_t d = 0; d < lab->n; d++)
                for (int r = 0; r < lab->dataset[d].ranks; r++)
                    if (viewlab_holds(lab, &lab->dataset[d], i, r))
                        tell_part(lab, &lab->dataset[d], r, &lab->told[at]);
            at++;
            lab->n_came += !round;
        }
    lab->over[0] = "A";
    lab->over[1] = "B";
    lab->of = (struct vel_view_of){.launch = "L",
                                   .nodes = lab->told,
                                   .n_nodes = lab->n_came,
                                   .entries = lab->entries,
                                   .seals = lab->seals,
                                   .makers = lab->makers,
                                   .over = lab->over,
                                   .n_over = 2,
                                   .dropped = lab->dropped};
    for (size_t i = 0; i < lab->n; i++)
        tell_records(lab, i);
}

void viewlab_make(struct viewlab *lab, uint64_t seed)
{
    struct vel_rng rng;

    *lab = (struct viewlab){.nodes = 2};
    vel_rng_init(&rng, seed);
    lab->nodes += vel_rng_below(&rng, VIEWLAB_NODES - 1);
    lab->n = 1 + vel_rng_below(&rng, VIEWLAB_DATASETS);
    for (size_t i = 0; i < lab->nodes; i++)
        lab->is_away[i] = vel_rng_below(&rng, 5) == 0;
    for (size_t i = 0; i < lab->n; i++)
        make_dataset(lab, &lab->dataset[i], (int64_t)i + 1, &rng);
    tell_all(lab);
}

void viewlab_plain(struct viewlab *lab)
{
    struct viewlab_dataset *d = &lab->dataset[0];

    *lab = (struct viewlab){.nodes = 2, .n = 1};
    *d = (struct viewlab_dataset){.id = 1, .ranks = 2, .encodings = 1, .names = 1};
    d->encoding[0] =
        (struct viewlab_encoding){.scheme = VEL_XOR, .is_there = {true, true}};
    tell_all(lab);
}

void viewlab_fini(struct viewlab *lab)
{
    for (size_t i = 0; i < lab->nodes; i++)
        vel_inventory_fini(&lab->told[i]);
    for (size_t i = 0; i < lab->of.n_seals; i++)
        vel_seal_fini(&lab->seals[i].seal);
}

static void shuffle(void *items, size_t n, size_t size, struct vel_rng *rng)
{
    char *at = items, keep[1024];

    for (size_t i = n; size <= sizeof keep && i > 1; i--) {
        size_t k = vel_rng_below(rng, i);

        memcpy(keep, at + k * size, size);
        memmove(at + k * size, at + (i - 1) * size, size);
        memcpy(at + (i - 1) * size, keep, size);
    }
}

void viewlab_shuffle(struct viewlab *lab, struct vel_rng *rng)
{
    struct vel_view_of *of = &lab->of;

    shuffle(lab->told, lab->n_came, sizeof lab->told[0], rng);
    for (size_t i = 0; i < lab->n_came; i++)
        shuffle(lab->told[i].held.items, lab->told[i].held.n, sizeof(struct vel_stock),
                rng);
    shuffle(lab->entries, of->n_entries, sizeof lab->entries[0], rng);
    shuffle(lab->seals, of->n_seals, sizeof lab->seals[0], rng);
    shuffle(lab->makers, of->n_makers, sizeof lab->makers[0], rng);
    shuffle(lab->dropped, of->n_dropped, sizeof lab->dropped[0], rng);
    shuffle(lab->over, of->n_over, sizeof lab->over[0], rng);
}

/* --- the truth --- */

bool viewlab_gives_way(const struct viewlab_dataset *d)
{
    return d->verdict == 2 && d->id % 2;
}

bool viewlab_is_alive(const struct viewlab_dataset *d)
{
    return d->maker && !d->is_over;
}

static bool is_lost(const struct viewlab *lab, const struct viewlab_dataset *d, int e,
                    size_t rank)
{
    bool is_away = true;

    for (size_t i = 0; i < lab->nodes; i++)
        is_away &= lab->is_away[i] || !viewlab_holds(lab, d, i, (int)rank);
    return is_away || !d->encoding[e].is_there[rank];
}

static bool is_published(const struct viewlab_dataset *d)
{
    return d->has_entry && (d->place == VEL_ON_PREFIX || d->place == VEL_ON_STAGED);
}

/* Its seal says no; or there is none, and nothing that it would not have without. A
 * session's needs none. */
static bool is_barred(const struct viewlab_dataset *d)
{
    if (!d->maker || d->is_session)
        return false;
    return d->verdict ? d->verdict != 1 : !is_published(d);
}

bool viewlab_is_cached(const struct viewlab *lab, const struct viewlab_dataset *d)
{
    bool is_any = false;

    if (d->is_dropped || viewlab_is_alive(d) || is_barred(d) ||
        (d->maker && d->verdict && d->is_short))
        return false;
    for (int e = 0; e < d->encodings; e++) {
        bool is_whole = true;

        for (size_t s = 0; s < sets_of(lab, d); s++) {
            size_t lost = 0, n = members_of(lab, d, s);

            for (size_t k = 0; k < n; k++)
                lost += is_lost(lab, d, e, s * lab->nodes + k);
            is_whole &= lost <= (size_t)(e ? 1 : 0);
        }
        is_any |= is_whole;
    }
    return is_any;
}

bool viewlab_is_restored(const struct viewlab *lab, const struct viewlab_dataset *d)
{
    if (d->is_dropped || viewlab_is_alive(d) || is_barred(d))
        return false;
    return is_published(d) || viewlab_is_cached(lab, d);
}

bool viewlab_is_known(const struct viewlab *lab, const struct viewlab_dataset *d)
{
    for (int r = 0; r < d->ranks; r++)
        for (size_t i = 0; i < lab->nodes; i++)
            if (!lab->is_away[i] && viewlab_holds(lab, d, i, r))
                return true;
    return d->verdict || is_published(d);
}
