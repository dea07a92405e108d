/* SPDX-License-Identifier: BSD-3-Clause */
/* Every dataset of which anything is known, with what is known of it, and the state
 * that it is in. Reads nothing but what was gathered. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/ls.h"
#include "cmd/tool.h"
#include "jobs/promise.h"
#include "meta/ids.h"

const char *const vel_ls_states[] = {
    [VEL_LS_ANNOUNCED] = "announced",  [VEL_LS_COMPLETE] = "complete",
    [VEL_LS_ENCODING] = "encoding",    [VEL_LS_FLUSHING] = "flushing",
    [VEL_LS_FLUSHED] = "flushed",      [VEL_LS_REMOVING] = "removing",
    [VEL_LS_FAILED] = "failed",        [VEL_LS_LOSS] = "lost",
    [VEL_LS_REPLACED] = "replaced",    [VEL_LS_DROPPED] = "dropped",
    [VEL_LS_BAD_RECORD] = "unreadable"};

const char *const vel_ls_restarts[] = {[VEL_LS_FROM_CACHE] = "cache",
                                       [VEL_LS_FROM_REBUILT] = "rebuilt",
                                       [VEL_LS_FROM_PREFIX] = "prefix",
                                       [VEL_LS_NO] = "no",
                                       [VEL_LS_UNKNOWN] = "unknown"};

/* --- what there is of a dataset --- */

static const struct vel_inventory *node_at(const struct vel_ls_unit *unit, size_t i)
{
    return vel_vec_at(&unit->nodes, i);
}

static const struct vel_stock *held_at(const struct vel_inventory *in, size_t i)
{
    return vel_vec_at(&in->held, i);
}

static struct vel_entry *entry_of(const struct vel_ls_unit *unit, int64_t id)
{
    for (size_t i = 0; i < unit->evidence.entries.n; i++) {
        struct vel_entry *entry = vel_vec_at(&unit->evidence.entries, i);

        if (entry->dataset.id == id)
            return entry;
    }
    return NULL;
}

static void note_id(struct vel_vec *ids, int64_t id)
{
    if (id > 0 && !vel_vec_has_number(ids, id))
        vel_ls_push(ids, &id);
}

static int newest_first(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x < y) - (x > y);
}

/* A tombstone of which nothing is left is no dataset any more. */
static void list_ids(const struct vel_ls_unit *unit, struct vel_vec *ids)
{
    const struct vel_evidence *said = &unit->evidence;

    vel_vec_init(ids, sizeof(int64_t));
    for (size_t i = 0; i < unit->nodes.n; i++)
        for (size_t k = 0; k < node_at(unit, i)->held.n; k++)
            note_id(ids, held_at(node_at(unit, i), k)->id);
    for (size_t i = 0; i < said->entries.n; i++)
        note_id(ids, ((struct vel_entry *)vel_vec_at(&said->entries, i))->dataset.id);
    for (size_t i = 0; i < unit->owing.n; i++)
        note_id(ids, ((struct vel_promise *)vel_vec_at(&unit->owing, i))->id);
    for (size_t i = 0; i < unit->unreadable.n; i++)
        note_id(ids,
                ((struct vel_ls_unreadable *)vel_vec_at(&unit->unreadable, i))->id);
    for (size_t i = 0; i < said->seals.n; i++)
        if (!vel_vec_has_number(
                &said->dropped,
                ((struct vel_view_seal *)vel_vec_at(&said->seals, i))->seal.id))
            note_id(ids,
                    ((struct vel_view_seal *)vel_vec_at(&said->seals, i))->seal.id);
    vel_vec_sort(ids, newest_first);
}

static const struct vel_dataset *about_of(const struct vel_ls_unit *unit,
                                          const struct vel_ls_row *row)
{
    const struct vel_dataset *about = NULL;

    for (size_t i = 0; i < unit->nodes.n; i++)
        for (size_t k = 0; k < node_at(unit, i)->held.n; k++) {
            const struct vel_stock *held = held_at(node_at(unit, i), k);

            if (held->id != row->id || !held->has_about)
                continue;
            if (held->about.files > 0) /* it is complete: all of it is known */
                return &held->about;
            about = &held->about;
        }
    return row->entry ? &row->entry->dataset : about;
}

/* --- state --- */

static void take_troubles(const struct vel_ls_unit *unit, struct vel_ls_row *row)
{
    for (size_t i = 0; i < unit->owing.n; i++) {
        const struct vel_promise *promise = vel_vec_at(&unit->owing, i);
        unsigned what = promise->id == row->id ? vel_promise_what(promise) : 0;

        row->owes_encode |= (what & VEL_PROMISE_ENCODE) != 0;
        row->owes_flush |= (what & VEL_PROMISE_FLUSH) != 0;
        if (what && promise->last.status && !row->error)
            row->error = vel_ls_copy(promise->last.text);
    }
    if (row->is_damaged && !row->is_taken && !row->error)
        row->error = vel_ls_copy(VEL_LS_BAD_ON_PREFIX);
}

static enum vel_ls_state state_of(const struct vel_ls_unit *unit,
                                  const struct vel_ls_row *row)
{
    const struct vel_entry *entry = row->entry;
    enum vel_place_on_prefix place = entry ? entry->place : VEL_ON_CACHE;

    if (row->is_unreadable)
        return VEL_LS_BAD_RECORD;
    if (vel_vec_has_number(&unit->evidence.dropped, row->id))
        return VEL_LS_DROPPED;
    if (row->is_taken)
        return VEL_LS_REPLACED;
    if (row->error || (entry && (entry->failed || entry->refused)))
        return VEL_LS_FAILED;
    if (place == VEL_ON_REMOVING)
        return VEL_LS_REMOVING;
    if (entry && entry->replaced && row->restart == VEL_LS_NO)
        return VEL_LS_REPLACED;
    if (place == VEL_ON_PREFIX)
        return VEL_LS_FLUSHED;
    if (row->owes_encode)
        return VEL_LS_ENCODING;
    if (row->owes_flush || (entry && vel_ls_is_on_its_way(entry)) ||
        (place == VEL_ON_FLUSHING && row->restart != VEL_LS_NO))
        return VEL_LS_FLUSHING;
    if (row->sets.n == 0 && row->index >= 0)
        return VEL_LS_ANNOUNCED;
    return row->restart == VEL_LS_NO ? VEL_LS_LOSS : VEL_LS_COMPLETE;
}

static void take_bad_record(const struct vel_ls_unit *unit, struct vel_ls_row *row)
{
    for (size_t i = 0; i < unit->unreadable.n; i++) {
        const struct vel_ls_unreadable *bad = vel_vec_at(&unit->unreadable, i);

        if (bad->id != row->id)
            continue;
        free(row->error);
        row->error = vel_ls_copy(bad->why);
        row->is_unreadable = true;
    }
}

static void take_held(const struct vel_ls_unit *unit, struct vel_ls_row *row)
{
    for (size_t i = 0; i < unit->nodes.n; i++)
        for (size_t k = 0; k < node_at(unit, i)->held.n; k++) {
            const struct vel_stock *held = held_at(node_at(unit, i), k);

            if (held->id != row->id)
                continue;
            row->index = held->index;
            row->is_aside |= held->is_aside;
        }
}

static const char *launch_of(const struct vel_vec *makers, int64_t id)
{
    for (size_t i = 0; i < makers->n; i++) {
        const struct vel_view_maker *maker = vel_vec_at(makers, i);

        if (maker->first <= id && id <= maker->last)
            return maker->launch;
    }
    return NULL;
}

static void add_row(const struct vel_ls *ls, struct vel_ls_unit *unit, int64_t id)
{
    struct vel_ls_row *row = vel_ls_push(&unit->rows, NULL);

    row->id = id;
    row->index = -1;
    row->is_current = id == unit->current;
    row->is_damaged = vel_vec_has_number(&unit->damaged, id);
    row->entry = entry_of(unit, id);
    row->is_taken = (row->is_damaged || (row->entry && row->entry->failed)) &&
                    vel_id_is_of_leaders(ls->fs, unit->dir, id);
    row->launch = launch_of(&unit->evidence.makers, id);
    if (!row->launch)
        row->launch = launch_of(&unit->settled, id);
    row->about = about_of(unit, row);
    vel_vec_init(&row->sets, sizeof(struct vel_ls_set));
    take_held(unit, row);
    take_troubles(unit, row);
    take_bad_record(unit, row);
    vel_ls_judge(ls, unit, row);
    row->state = state_of(unit, row);
}

static bool is_over(const struct vel_ls_unit *unit, const char *launch)
{
    for (size_t i = 0; launch && i < unit->evidence.over.n; i++)
        if (strcmp(*(char **)vel_vec_at(&unit->evidence.over, i), launch) == 0)
            return true;
    return false;
}

static char *why_opened(const struct vel_ls_unit *unit,
                        const struct vel_ls_opened *opened)
{
    struct vel_buf why;

    if (opened->sealed) {
        vel_buf_init(&why);
        vel_buf_printf(&why, "these files are dataset %" PRId64, opened->sealed);
        return vel_ls_need(vel_buf_take(&why, NULL));
    }
    if (!is_over(unit, opened->launch))
        return vel_ls_copy("not all of it is written yet");
    if (opened->open == 0)
        return vel_ls_copy(
            "never sealed: the next launch does so when no rank lacks a file");
    return vel_ls_copy(
        opened->open == opened->flushed
            ? "not closed: the next launch goes back to the last H5Fflush of all"
            : "not closed, nor flushed: kept until there is a newer one");
}

/* All that were opened were not changed, and nobody goes on with them. */
static bool is_nothing(const struct vel_ls_unit *unit,
                       const struct vel_ls_opened *opened)
{
    return opened->files == 0 && opened->open == 0 && !opened->sealed &&
           is_over(unit, opened->launch);
}

static void add_opened(struct vel_ls_unit *unit, const struct vel_ls_opened *opened)
{
    struct vel_ls_row *row = vel_ls_push(&unit->rows, NULL);

    row->opened = opened;
    row->launch = opened->launch;
    row->index = opened->index;
    row->state = VEL_LS_ANNOUNCED;
    row->restart = VEL_LS_NO;
    row->why = why_opened(unit, opened);
    vel_vec_init(&row->sets, sizeof(struct vel_ls_set));
}

/* --- all --- */

/* Files on the prefix that are known to be bad cannot be fetched: the view goes by
 * entries. */
static void mark_damaged(struct vel_ls_unit *unit, bool is_on)
{
    for (size_t i = 0; i < unit->damaged.n; i++) {
        struct vel_entry *entry =
            entry_of(unit, *(int64_t *)vel_vec_at(&unit->damaged, i));

        if (entry)
            entry->place = is_on ? VEL_ON_CACHE : VEL_ON_PREFIX;
    }
}

void vel_ls_rows(struct vel_ls *ls, struct vel_ls_unit *unit)
{
    struct vel_view_of of = vel_evidence_view(&unit->evidence);
    struct vel_err err = {0};
    struct vel_vec ids;

    of.launch = "h5veloc-ls";
    of.nodes = unit->nodes.items;
    of.n_nodes = unit->nodes.n;
    mark_damaged(unit, true);
    if (vel_view_make(&of, &unit->view, &err) < 0)
        vel_tool_die(VEL_EXIT_FAILED, "%s", err.text);
    mark_damaged(unit, false);
    for (size_t i = 0; i < unit->opened.n && ls->options->id == 0; i++)
        if (!is_nothing(unit, vel_vec_at(&unit->opened, i)))
            add_opened(unit, vel_vec_at(&unit->opened, i));
    list_ids(unit, &ids);
    for (size_t i = 0; i < ids.n; i++)
        if (vel_ls_wants(ls, *(int64_t *)vel_vec_at(&ids, i)))
            add_row(ls, unit, *(int64_t *)vel_vec_at(&ids, i));
    vel_vec_fini(&ids);
}
