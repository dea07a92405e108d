/* SPDX-License-Identifier: BSD-3-Clause */
/* Can a program be restarted from a dataset? As the view has decided it, but for what a
 * view need not tell: that others were not asked, and what is wrong on the prefix. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/ls.h"

enum { TOLD_MOST = 8 };

static const struct vel_inventory *node_at(const struct vel_ls_unit *unit, size_t i)
{
    return vel_vec_at(&unit->nodes, i);
}

static const struct vel_stock *held_at(const struct vel_inventory *in, size_t i)
{
    return vel_vec_at(&in->held, i);
}

/* --- its sets --- */

/* The newest encoding that is there. */
static const struct vel_stock_encoding *newest_of(const struct vel_ls_unit *unit,
                                                  int64_t id)
{
    const struct vel_stock_encoding *newest = NULL;

    for (size_t i = 0; i < unit->nodes.n; i++)
        for (size_t k = 0; k < node_at(unit, i)->held.n; k++) {
            const struct vel_stock *held = held_at(node_at(unit, i), k);
            const struct vel_stock_encoding *e = held->id == id && held->encodings.n
                                                     ? vel_vec_at(&held->encodings, 0)
                                                     : NULL;

            if (e && (!newest || e->sequence > newest->sequence))
                newest = e;
        }
    return newest;
}

/* How many members of each set of an encoding are there, on whatever node. */
static void count_sets(const struct vel_ls_unit *unit, struct vel_ls_row *row,
                       const uint8_t encoding[VEL_ENCODING_ID])
{
    for (size_t i = 0; i < unit->nodes.n; i++)
        for (size_t k = 0; k < node_at(unit, i)->held.n; k++) {
            const struct vel_stock *held = held_at(node_at(unit, i), k);

            for (size_t e = 0; held->id == row->id && e < held->encodings.n; e++) {
                const struct vel_stock_encoding *x = vel_vec_at(&held->encodings, e);
                struct vel_ls_set *set;

                if (memcmp(x->id, encoding, sizeof x->id) != 0 || x->sets > 1 << 24)
                    continue;
                while (row->sets.n < x->sets)
                    vel_ls_push(&row->sets, NULL);
                if (x->set >= row->sets.n)
                    continue;
                set = vel_vec_at(&row->sets, x->set);
                set->members = x->n;
                set->failures = x->m;
                set->whole += x->is_whole && set->whole < x->n;
                row->scheme = x->scheme;
                row->index = held->index;
            }
        }
}

/* --- nodes that nobody asked --- */

static bool is_told(const struct vel_ls_unit *unit, const char *node)
{
    for (size_t i = 0; i < unit->nodes.n; i++)
        if (strcmp(node_at(unit, i)->node, node) == 0)
            return true;
    return false;
}

const struct vel_seal *vel_ls_seal_of(const struct vel_ls_unit *unit, int64_t id)
{
    for (size_t i = 0; i < unit->evidence.seals.n; i++) {
        const struct vel_view_seal *of = vel_vec_at(&unit->evidence.seals, i);

        if (of->seal.id == id)
            return &of->seal;
    }
    return NULL;
}

static void tell_node(struct vel_buf *text, const char *node)
{
    const char *at = strstr(vel_buf_text(text), node);

    if (!at) /* of several ranks once; a name within another is not worth more */
        vel_buf_printf(text, "%s%s", text->len ? ", " : "", node);
}

static int count_holders(const struct vel_ls_unit *unit, int64_t id)
{
    int holders = 0;

    for (size_t i = 0; i < unit->nodes.n; i++) {
        bool holds = false;

        for (size_t k = 0; k < node_at(unit, i)->held.n && !holds; k++)
            holds = held_at(node_at(unit, i), k)->id == id;
        holders += holds;
    }
    return holders;
}

/* May other nodes hold parts of it? Their names, as far as they are known. */
static bool is_guess(const struct vel_ls *ls, const struct vel_ls_unit *unit,
                     const struct vel_ls_row *row, struct vel_buf *ret_nodes)
{
    const struct vel_seal *seal = vel_ls_seal_of(unit, row->id);

    if (unit->is_given)
        return false;
    for (size_t i = 0; seal && i < seal->members.n; i++)
        if (!is_told(unit, vel_seal_member(seal, i)->node))
            tell_node(ret_nodes, vel_seal_member(seal, i)->node);
    for (size_t i = 0; !seal && i < unit->silent.n; i++)
        tell_node(ret_nodes,
                  ((struct vel_ls_silent *)vel_vec_at(&unit->silent, i))->node);
    if (seal || ret_nodes->len)
        return ret_nodes->len > 0;
    if (ls->conf->virtual_nodes > 0) /* all are on this machine */
        return row->about && row->about->nodes > ls->conf->virtual_nodes;
    return !row->about || row->about->nodes > count_holders(unit, row->id);
}

/* --- verdict --- */

/* "ranks 1, 2" */
static void tell_lost_ranks(const struct vel_view_dataset *d, size_t lost,
                            struct vel_buf *why)
{
    size_t told = 0;

    vel_buf_puts(why, lost == 1 ? "rank " : "ranks ");

    for (size_t s = 0; s < d->sets.n; s++) {
        const struct vel_view_set *set = vel_vec_at(&d->sets, s);

        for (size_t i = 0; i < set->places.n; i++) {
            const struct vel_view_place *place = vel_vec_at(&set->places, i);

            if (place->node >= 0)
                continue;
            if (told < TOLD_MOST)
                vel_buf_printf(why, "%s%d", told ? ", " : "", place->rank);
            told++;
        }
    }
    if (told > TOLD_MOST)
        vel_buf_printf(why, " and %zu more", told - TOLD_MOST);
}

static size_t count_losses(const struct vel_view_dataset *d)
{
    size_t lost = 0;

    for (size_t s = 0; s < d->sets.n; s++) {
        const struct vel_view_set *set = vel_vec_at(&d->sets, s);

        for (size_t i = 0; i < set->places.n; i++)
            lost += ((struct vel_view_place *)vel_vec_at(&set->places, i))->node < 0;
    }
    return lost;
}

static void judge_restored(const struct vel_view_dataset *d, struct vel_ls_row *row,
                           struct vel_buf *why)
{
    size_t lost = d->is_cached ? count_losses(d) : 0;

    row->restart = !d->is_cached ? VEL_LS_FROM_PREFIX
                   : lost > 0    ? VEL_LS_FROM_REBUILT
                                 : VEL_LS_FROM_CACHE;
    if (lost == 0)
        return;
    tell_lost_ranks(d, lost, why);
    vel_buf_puts(why, row->is_guess ? lost == 1 ? " is not here" : " are not here"
                      : lost == 1   ? " is lost"
                                    : " are lost");
}

bool vel_ls_is_on_its_way(const struct vel_entry *entry)
{
    return entry->place == VEL_ON_STAGED ||
           (entry->place == VEL_ON_FLUSHING && entry->owner == 0);
}

/* The view has no word for it: nothing of it counts, or its entry alone is left. */
static void judge_entry(const struct vel_ls_row *row, struct vel_buf *why)
{
    const struct vel_entry *entry = row->entry;

    if (row->is_damaged)
        vel_buf_puts(why, VEL_LS_BAD_ON_PREFIX);
    else if (row->is_unreadable)
        vel_buf_puts(why, "its record cannot be read, and no cache that was looked at "
                          "holds any of it");
    else if (entry && entry->replaced)
        vel_buf_printf(why,
                       "dataset %" PRId64 " has put its files in the place of its own",
                       entry->replaced);
    else if (entry && entry->failed)
        vel_buf_puts(why, "a restart could not read it from the prefix");
    else if (entry && entry->place == VEL_ON_REMOVING)
        vel_buf_puts(why, "it is being removed");
    else if (entry && vel_ls_is_on_its_way(entry))
        vel_buf_puts(why, "not all of it came to the prefix");
    else if (entry)
        vel_buf_puts(why, "no cache that was looked at holds any of it");
    else
        vel_buf_puts(why, "nothing of it is left");
}

static void judge_lost(const struct vel_ls_unit *unit, struct vel_ls_row *row,
                       struct vel_buf *why)
{
    const struct vel_view_lost *lost = vel_view_find_lost(&unit->view, row->id);
    bool is_unseen = vel_view_is_unseen(&unit->view, row->id);

    row->restart = VEL_LS_NO;
    if (!lost ||
        (lost->reason == VEL_VIEW_INCOMPLETE && row->sets.n == 0 && row->index < 0))
        judge_entry(row, why);
    else
        vel_buf_puts(why, lost->why);
    if (row->is_guess && (!lost || lost->reason == VEL_VIEW_INCOMPLETE || is_unseen) &&
        !(row->entry && row->entry->replaced))
        row->restart = VEL_LS_UNKNOWN;
}

void vel_ls_judge(const struct vel_ls *ls, const struct vel_ls_unit *unit,
                  struct vel_ls_row *row)
{
    const struct vel_view_dataset *d = vel_view_find_dataset(&unit->view, row->id);
    struct vel_buf why, nodes, elsewhere;

    vel_buf_init(&why);
    vel_buf_init(&nodes);
    vel_buf_init(&elsewhere);
    row->is_guess = is_guess(ls, unit, row, &nodes);
    if (!d && (row->entry || vel_view_is_unseen(&unit->view, row->id)) &&
        !unit->is_given && !row->is_guess)
        vel_ls_elsewhere(ls, unit, row->launch, &elsewhere);
    row->is_guess |= elsewhere.len > 0;
    if (d && d->is_cached)
        count_sets(unit, row, d->encoding);
    else if (newest_of(unit, row->id))
        count_sets(unit, row, newest_of(unit, row->id)->id);
    if (row->entry && row->entry->refused) {
        row->restart = VEL_LS_NO; /* as a restart would say, whatever is left of it */
        vel_buf_puts(&why, "a program that read it said that it is not valid");
    } else if (row->is_taken) { /* HDF5 opens what stands there */
        row->restart = VEL_LS_NO;
        vel_buf_puts(&why, "files of it were removed, or others stand at their paths");
    } else if (d) {
        judge_restored(d, row, &why);
    } else if (vel_ls_is_left(unit, row->id)) {
        row->restart = VEL_LS_FROM_CACHE;
        row->is_guess = false;
        vel_buf_puts(&why, "the next launch takes its files over");
    } else {
        judge_lost(unit, row, &why);
    }
    if (elsewhere.len > 0 && row->restart == VEL_LS_UNKNOWN)
        vel_buf_printf(&why,
                       "; not looked at: %s, where its launch had caches and which "
                       "these settings do not name",
                       vel_buf_text(&elsewhere));
    else if ((row->restart == VEL_LS_UNKNOWN &&
              !(nodes.len > 0 && vel_view_is_unseen(&unit->view, row->id))) ||
             (row->restart == VEL_LS_FROM_REBUILT && row->is_guess))
        vel_buf_printf(&why, "; %s did not tell",
                       nodes.len ? vel_buf_text(&nodes) : "other nodes");
    row->why = why.len ? vel_ls_need(vel_buf_take(&why, NULL)) : NULL;
    vel_buf_fini(&elsewhere);
    vel_buf_fini(&nodes);
    vel_buf_fini(&why);
}
