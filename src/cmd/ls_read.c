/* SPDX-License-Identifier: BSD-3-Clause */
/* What lies in the caches, and what the prefix says of it. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "cmd/ls.h"
#include "cmd/tool.h"
#include "ident/launchid.h"
#include "jobs/promise.h"
#include "meta/cache.h"
#include "meta/current.h"
#include "meta/paths.h"

/* --- free --- */

static void rows_fini(struct vel_ls_unit *unit)
{
    for (size_t i = 0; i < unit->rows.n; i++) {
        struct vel_ls_row *row = vel_vec_at(&unit->rows, i);

        vel_vec_fini(&row->sets);
        free(row->why);
        free(row->error);
    }
    vel_vec_fini(&unit->rows);
}

static void files_fini(struct vel_ls_unit *unit)
{
    for (size_t i = 0; i < unit->files.n; i++) {
        struct vel_ls_file *file = vel_vec_at(&unit->files, i);

        free(file->name);
        free(file->path);
        free(file->why);
    }
    vel_vec_fini(&unit->files);
}

static void places_fini(struct vel_ls_unit *unit)
{
    for (size_t i = 0; i < unit->homes.n; i++) {
        struct vel_ls_home *home = vel_vec_at(&unit->homes, i);

        free(home->path);
        free(home->node);
    }
    for (size_t i = 0; i < unit->nodes.n; i++)
        vel_inventory_fini(vel_vec_at(&unit->nodes, i));
    for (size_t i = 0; i < unit->silent.n; i++) {
        struct vel_ls_silent *silent = vel_vec_at(&unit->silent, i);

        free(silent->node);
        free(silent->why);
    }
    for (size_t i = 0; i < unit->unreadable.n; i++)
        free(((struct vel_ls_unreadable *)vel_vec_at(&unit->unreadable, i))->why);
    for (size_t i = 0; i < unit->tellers.n; i++) {
        free(((struct vel_ls_teller *)vel_vec_at(&unit->tellers, i))->node);
        free(((struct vel_ls_teller *)vel_vec_at(&unit->tellers, i))->launch);
    }
    vel_vec_fini(&unit->tellers);
    for (size_t i = 0; i < unit->opened.n; i++)
        vel_ls_opened_fini(vel_vec_at(&unit->opened, i));
    vel_vec_fini(&unit->homes);
    vel_vec_fini(&unit->nodes);
    vel_vec_fini(&unit->silent);
    vel_vec_fini(&unit->unreadable);
    vel_vec_fini(&unit->opened);
}

void vel_ls_unit_fini(struct vel_ls_unit *unit)
{
    rows_fini(unit);
    files_fini(unit);
    places_fini(unit);
    vel_promises_fini(&unit->owing);
    vel_fs_names_fini(&unit->strange);
    for (size_t i = 0; i < unit->settled.n; i++)
        free((char *)((struct vel_view_maker *)vel_vec_at(&unit->settled, i))->launch);
    vel_vec_fini(&unit->settled);
    vel_vec_fini(&unit->damaged);
    vel_evidence_fini(&unit->evidence);
    vel_view_fini(&unit->view);
    free(unit->prefix);
    vel_index_close(unit->index);
    free(unit->dir);
    free(unit->label);
    free(unit->id);
}

/* --- what is not ours, and what has no id yet --- */

static bool is_numbered(const char *name, const char *text)
{
    int64_t number;

    return vel_number_behind(name, text, &number);
}

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

static bool is_ours_in_home(const char *name)
{
    int64_t launch, turn;

    return is_numbered(name, "index.") || strcmp(name, "lock") == 0 ||
           begins(name, "beside.") || strcmp(name, "ledger") == 0 ||
           vel_batch_is_turn(name, &launch, &turn) || vel_fs_is_temporary(name);
}

static bool is_ours_in_level(const char *name)
{
    return is_numbered(name, "dataset.");
}

static bool is_ours_in_dataset(const char *name)
{
    return is_numbered(name, "rank.") || strcmp(name, "aside") == 0 ||
           (begins(name, "rank.") && strstr(name, VEL_CACHE_NEW)) ||
           vel_fs_is_temporary(name);
}

/* The names in a directory; those that are none of ours are noted. */
static void look_for_strangers(struct vel_ls *ls, struct vel_ls_unit *unit,
                               const char *dir, bool is_ours(const char *name),
                               struct vel_vec *ret)
{
    vel_vec_init(ret, sizeof(char *));
    if (vel_fs_list(ls->fs, dir, ret, NULL) < 0)
        vel_vec_init(ret, sizeof(char *));
    for (size_t i = 0; i < ret->n; i++) {
        const char *name = *(char **)vel_vec_at(ret, i);
        char *path = is_ours(name) ? NULL : vel_ls_join(dir, name);

        if (path)
            vel_ls_push(&unit->strange, &path);
    }
}

static bool is_directory(const struct vel_ls *ls, const char *path)
{
    struct stat st;

    return vel_fs_lstat(ls->fs, path, &st, NULL) == 0 && S_ISDIR(st.st_mode);
}

static void look_into_level(struct vel_ls *ls, struct vel_ls_unit *unit,
                            const char *level)
{
    struct vel_vec names, in;

    look_for_strangers(ls, unit, level, is_ours_in_level, &names);
    for (size_t i = 0; i < names.n; i++) {
        const char *name = *(char **)vel_vec_at(&names, i);
        char *path = vel_ls_join(level, name);

        if (is_ours_in_level(name) && !is_directory(ls, path)) {
            vel_ls_push(&unit->strange, &path);
            continue;
        }
        if (is_numbered(name, "dataset.")) {
            look_for_strangers(ls, unit, path, is_ours_in_dataset, &in);
            vel_fs_names_fini(&in);
        }
        free(path);
    }
    vel_fs_names_fini(&names);
}

static void look_into_home(struct vel_ls *ls, struct vel_ls_unit *unit,
                           const struct vel_ls_home *in)
{
    const char *home = in->path;
    struct vel_vec names;
    int64_t index;

    look_for_strangers(ls, unit, home, is_ours_in_home, &names);
    for (size_t i = 0; i < names.n; i++) {
        const char *name = *(char **)vel_vec_at(&names, i);
        char *path = vel_ls_join(home, name);

        if (vel_number_behind(name, "index.", &index))
            look_into_level(ls, unit, path);
        free(path);
    }
    vel_fs_names_fini(&names);
    vel_ls_add_opened(ls, unit, home, in->node);
}

/* --- caches --- */

static const struct vel_ls_home *home_at(const struct vel_ls_unit *unit, size_t i)
{
    return vel_vec_at(&unit->homes, i);
}

static bool is_told(const struct vel_ls_unit *unit, const char *node)
{
    for (size_t i = 0; i < unit->nodes.n; i++)
        if (strcmp(((struct vel_inventory *)vel_vec_at(&unit->nodes, i))->node, node) ==
            0)
            return true;
    return false;
}

static void take_inventory(struct vel_ls *ls, struct vel_ls_unit *unit,
                           const char *node)
{
    char **homes = vel_ls_need(calloc(unit->homes.n + 1, sizeof *homes));
    struct vel_inventory inventory;
    struct vel_err err = {0};
    size_t n = 0;

    for (size_t i = 0; i < unit->homes.n; i++)
        if (strcmp(home_at(unit, i)->node, node) == 0)
            homes[n++] = home_at(unit, i)->path;
    if (vel_inventory_look(ls->fs, node, homes, n, &inventory, &err) < 0) {
        struct vel_ls_silent silent = {.node = vel_ls_copy(node),
                                       .why = vel_ls_copy(err.text)};
        vel_ls_push(&unit->silent, &silent);
    } else {
        vel_ls_push(&unit->nodes, &inventory);
    }
    free(homes);
}

/* A node of this machine without a cache holds nothing: so much is known of it. */
static void add_empty(struct vel_ls *ls, struct vel_ls_unit *unit)
{
    char name[300];

    if (ls->conf->virtual_nodes == 0 && !is_told(unit, ls->host->node))
        take_inventory(ls, unit, ls->host->node);
    for (int64_t i = 0; i < ls->conf->virtual_nodes; i++) {
        snprintf(name, sizeof name, "%s.v%" PRId64, ls->host->node, i);
        if (!is_told(unit, name))
            take_inventory(ls, unit, name);
    }
}

static void read_caches(struct vel_ls *ls, struct vel_ls_unit *unit)
{
    struct vel_err err = {0};

    for (size_t i = 0; i < unit->homes.n; i++) {
        const struct vel_ls_home *home = home_at(unit, i);

        if (!is_told(unit, home->node))
            take_inventory(ls, unit, home->node);
        if (vel_promises_scan(ls->fs, home->path, NULL, &unit->owing, &err) < 0)
            vel_tool_say("%s", err.text);
        look_into_home(ls, unit, home);
    }
    if (!unit->is_given)
        add_empty(ls, unit);
}

/* --- the prefix --- */

/* Of all launches, as if all had ended now: what could be restarted from then? */
static void list_launches(struct vel_ls *ls, struct vel_ls_unit *unit,
                          struct vel_vec *ret)
{
    vel_vec_init(ret, sizeof(char *));
    if (vel_launch_list(ls->fs, unit->dir, ret, NULL) == VEL_ENOMEM)
        vel_ls_need(NULL);
}

static bool is_launch(const struct vel_evidence *evidence, const char *launch)
{
    for (size_t i = 0; i < evidence->over.n; i++)
        if (strcmp(*(char **)vel_vec_at(&evidence->over, i), launch) == 0)
            return true;
    return false;
}

/* A launch whose records are gone was over long ago, and what it has sealed is settled.
 */
static void forget_makers(struct vel_ls_unit *unit)
{
    struct vel_vec *makers = &unit->evidence.makers;

    for (size_t i = makers->n; i-- > 0;) {
        struct vel_view_maker *maker = vel_vec_at(makers, i);

        if (is_launch(&unit->evidence, maker->launch))
            continue;
        vel_ls_push(&unit->settled, maker);
        vel_vec_remove(makers, i);
    }
}

static bool has_entry(const struct vel_evidence *evidence, int64_t id)
{
    for (size_t i = 0; i < evidence->entries.n; i++)
        if (((struct vel_entry *)vel_vec_at(&evidence->entries, i))->dataset.id == id)
            return true;
    return false;
}

static void add_unreadable(struct vel_ls_unit *unit, int64_t id)
{
    struct vel_ls_unreadable bad = {.id = id};
    struct vel_entry entry;
    struct vel_err err = {0};
    int rc;

    for (size_t i = 0; i < unit->unreadable.n; i++)
        if (((struct vel_ls_unreadable *)vel_vec_at(&unit->unreadable, i))->id == id)
            return;
    rc = vel_entry_load(unit->index, id, &entry, &err);
    if (rc == 0)
        vel_entry_fini(&entry); /* it came meanwhile */
    if (rc == 0 || rc == VEL_ENOENT)
        return;
    bad.why = vel_ls_copy(err.text);
    vel_ls_push(&unit->unreadable, &bad);
}

static void find_unreadable(struct vel_ls *ls, struct vel_ls_unit *unit)
{
    struct vel_vec names;
    int64_t id;

    vel_vec_init(&names, sizeof(char *));
    if (vel_fs_list(ls->fs, unit->dir, &names, NULL) == 0)
        for (size_t i = 0; i < names.n; i++)
            if (vel_number_behind(*(char **)vel_vec_at(&names, i), "dataset.", &id) &&
                !has_entry(&unit->evidence, id))
                add_unreadable(unit, id);
    vel_fs_names_fini(&names);
}

static void read_prefix(struct vel_ls *ls, struct vel_ls_unit *unit)
{
    struct vel_err err = {0};
    struct vel_vec launches;
    size_t left_out = 0;

    list_launches(ls, unit, &launches);
    if (vel_index_open(ls->fs, unit->dir, &unit->index, &err) < 0 ||
        vel_evidence_load(unit->index, &launches, &left_out, &unit->evidence, &err) < 0)
        vel_tool_die(VEL_EXIT_FAILED, "%s", err.text);
    ls->has_failed = ls->has_failed || left_out > 0;
    forget_makers(unit);
    find_unreadable(ls, unit);
    if (vel_current_find(unit->index, &unit->current, NULL) < 0)
        unit->current = 0;
}

void vel_ls_read(struct vel_ls *ls, struct vel_ls_unit *unit)
{
    if (unit->dir)
        read_prefix(ls, unit);
    read_caches(ls, unit);
}
