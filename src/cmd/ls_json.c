/* SPDX-License-Identifier: BSD-3-Clause */
/* What a script reads: doc/format-ls.txt. Keys are never taken away. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/ls.h"
#include "record/name.h"

enum { FORMAT = 1 };

/* A name may be any bytes; those that are no UTF-8 are told as in records. */
static json_t *text(const char *s)
{
    json_t *value = s ? json_string(s) : json_null();

    if (!value) {
        char *name = vel_ls_need(vel_name_encode(s));

        value = json_string(name);
        free(name);
    }
    return vel_ls_need(value);
}

static json_t *number(int64_t value)
{
    return vel_ls_need(json_integer(value));
}

/* null: there is none */
static json_t *number_if(bool is_there, int64_t value)
{
    return is_there ? number(value) : vel_ls_need(json_null());
}

static void set(json_t *object, const char *key, json_t *value)
{
    vel_ls_need(json_object_set_new(object, key, value) == 0 ? object : NULL);
}

static void add(json_t *list, json_t *value)
{
    vel_ls_need(json_array_append_new(list, value) == 0 ? list : NULL);
}

static json_t *object(void)
{
    return vel_ls_need(json_object());
}

static json_t *list(void)
{
    return vel_ls_need(json_array());
}

/* --- a dataset --- */

static void put_about(json_t *to, const struct vel_ls *ls, const struct vel_ls_row *row)
{
    static const char *const uses[] = {NULL, "checkpoint", "output", "both"};
    const struct vel_dataset *about = row->about;
    bool is_whole = about && about->files > 0;

    set(to, "name", text(about ? about->name : row->opened ? row->opened->name : NULL));
    set(to, "step",
        about         ? number(about->version)
        : row->opened ? number_if(row->opened->step >= 0, row->opened->step)
                      : number_if(false, 0));
    set(to, "checkpoint",
        number_if(about && about->checkpoint, about ? about->checkpoint : 0));
    set(to, "use", text(about ? uses[about->use & 3] : NULL));
    set(to, "created", number_if(about, about ? about->created : 0));
    set(to, "age", number_if(about, about ? ls->now - about->created : 0));
    set(to, "ranks", number_if(about, about ? about->ranks : 0));
    set(to, "nodes", number_if(about, about ? about->nodes : 0));
    if (row->opened) {
        set(to, "files", number(row->opened->files));
        set(to, "bytes", number(row->opened->bytes));
    } else {
        set(to, "files", number_if(is_whole, is_whole ? about->files : 0));
        set(to, "bytes", number_if(is_whole, is_whole ? about->bytes : 0));
    }
}

static json_t *sets_of(const struct vel_ls_row *row)
{
    json_t *sets = list();

    for (size_t i = 0; i < row->sets.n; i++) {
        const struct vel_ls_set *s = vel_vec_at(&row->sets, i);
        json_t *one = object();

        set(one, "members", number(s->members));
        set(one, "there", number(s->whole));
        set(one, "bears", number(s->failures));
        add(sets, one);
    }
    return sets;
}

static void put_entry(json_t *to, const struct vel_ls_row *row)
{
    const struct vel_entry *entry = row->entry;

    set(to, "flushed", number_if(entry && entry->flushed, entry ? entry->flushed : 0));
    set(to, "fetched", number_if(entry && entry->fetched, entry ? entry->fetched : 0));
    set(to, "failed", number_if(entry && entry->failed, entry ? entry->failed : 0));
    set(to, "refused", number_if(entry && entry->refused, entry ? entry->refused : 0));
    set(to, "replaced_by",
        number_if(entry && entry->replaced, entry ? entry->replaced : 0));
}

static json_t *files_of(const struct vel_ls_unit *unit, const struct vel_ls_row *row)
{
    json_t *files = list();

    for (size_t i = 0; i < unit->files.n; i++) {
        const struct vel_ls_file *f = vel_ls_file_at(unit, i);
        json_t *one;

        if (f->id != row->id || f->opened != row->opened)
            continue;
        one = object();
        set(one, "rank", number(f->rank));
        set(one, "name", text(f->name));
        set(one, "where", text(f->index < 0 ? "prefix" : "cache"));
        set(one, "node", text(f->node));
        set(one, "path", text(f->path));
        set(one, "offset", number((int64_t)f->at));
        set(one, "size", number((int64_t)f->size));
        set(one, "crc32c", number_if(f->has_crc, f->crc));
        set(one, "redundancy", vel_ls_need(json_boolean(f->is_redundancy)));
        set(one, "health", text(vel_ls_healths[f->health]));
        set(one, "why", text(f->why));
        add(files, one);
    }
    return files;
}

static json_t *dataset_of(const struct vel_ls *ls, const struct vel_ls_unit *unit,
                          const struct vel_ls_row *row)
{
    json_t *to = object();

    set(to, "prefix", text(unit->prefix));
    set(to, "unit", text(unit->label));
    set(to, "prefix_id", text(unit->id));
    set(to, "id", number_if(row->id, row->id));
    put_about(to, ls, row);
    set(to, "level", number_if(row->index >= 0, row->index));
    set(to, "scheme", text(row->sets.n ? vel_scheme_name(row->scheme) : NULL));
    set(to, "sets", sets_of(row));
    set(to, "state", text(vel_ls_states[row->state]));
    set(to, "error", text(row->error));
    set(to, "restart", text(vel_ls_restarts[row->restart]));
    set(to, "why", text(row->why));
    set(to, "current", vel_ls_need(json_boolean(row->is_current)));
    set(to, "aside", vel_ls_need(json_boolean(row->is_aside)));
    set(to, "to_encode", vel_ls_need(json_boolean(row->owes_encode)));
    set(to, "to_flush", vel_ls_need(json_boolean(row->owes_flush)));
    set(to, "launch", text(row->launch));
    put_entry(to, row);
    if (ls->options->files || ls->options->verify)
        set(to, "contents", files_of(unit, row));
    return to;
}

/* --- all --- */

static void put_nodes(json_t *nodes, const struct vel_ls_unit *unit)
{
    for (size_t i = 0; i < unit->nodes.n; i++) {
        json_t *one = object();

        set(one, "prefix_id", text(unit->id));
        set(one, "node",
            text(((struct vel_inventory *)vel_vec_at(&unit->nodes, i))->node));
        set(one, "why", text(NULL));
        add(nodes, one);
    }
    for (size_t i = 0; i < unit->silent.n; i++) {
        const struct vel_ls_silent *silent = vel_vec_at(&unit->silent, i);
        json_t *one = object();

        set(one, "prefix_id", text(unit->id));
        set(one, "node", text(silent->node));
        set(one, "why", text(silent->why));
        add(nodes, one);
    }
}

json_t *vel_ls_json(const struct vel_ls *ls)
{
    json_t *to = object(), *datasets = list(), *nodes = list(), *strange = list(),
           *replaced = list(), *notes = list();

    for (size_t i = 0; i < ls->units.n; i++) {
        const struct vel_ls_unit *unit = vel_ls_unit_at(ls, i);

        for (size_t k = 0; k < unit->rows.n; k++)
            add(datasets, dataset_of(ls, unit, vel_ls_row_at(unit, k)));
        put_nodes(nodes, unit);
        for (size_t k = 0; k < unit->strange.n; k++)
            add(strange, text(*(char **)vel_vec_at(&unit->strange, k)));
    }
    for (size_t i = 0; i < ls->replaced.n; i++)
        add(replaced, text(*(char **)vel_vec_at(&ls->replaced, i)));
    for (size_t i = 0; i < ls->notes.n; i++)
        add(notes, text(*(char **)vel_vec_at(&ls->notes, i)));
    set(to, "format", number(FORMAT));
    set(to, "time", number(ls->now));
    set(to, "datasets", datasets);
    set(to, "nodes", nodes);
    set(to, "strange", strange);
    set(to, "replaced", replaced);
    set(to, "notes", notes);
    return to;
}
