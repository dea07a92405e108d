/* SPDX-License-Identifier: BSD-3-Clause */
/* Where to look: the prefix and the caches that the settings name, or what was named by
 * the user, a prefix or anything above or in caches. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "cmd/ls.h"
#include "cmd/tool.h"
#include "ident/role.h"
#include "jobs/promise.h"
#include "meta/cache.h"
#include "meta/launch.h"
#include "meta/paths.h"
#include "meta/prefix.h"
#include "node/about.h"

/* --- memory --- */

void *vel_ls_need(void *item)
{
    if (!item)
        vel_tool_die(VEL_EXIT_FAILED, "out of memory");
    return item;
}

char *vel_ls_copy(const char *text)
{
    return vel_ls_need(strdup(text));
}

char *vel_ls_join(const char *dir, const char *name)
{
    return vel_ls_need(vel_path_join(dir, name));
}

void *vel_ls_push(struct vel_vec *vec, const void *item)
{
    return vel_ls_need(vel_vec_push(vec, item));
}

/* --- units --- */

static struct vel_ls_unit *unit_of(struct vel_ls *ls, const char *id)
{
    for (size_t i = 0; i < ls->units.n; i++)
        if (strcmp(vel_ls_unit_at(ls, i)->id, id) == 0)
            return vel_ls_unit_at(ls, i);
    return NULL;
}

static struct vel_ls_unit *add_unit(struct vel_ls *ls, const char *id)
{
    struct vel_ls_unit *unit = vel_ls_push(&ls->units, NULL);

    unit->id = vel_ls_copy(id);
    unit->label = vel_ls_copy("");
    vel_vec_init(&unit->homes, sizeof(struct vel_ls_home));
    vel_vec_init(&unit->nodes, sizeof(struct vel_inventory));
    vel_vec_init(&unit->silent, sizeof(struct vel_ls_silent));
    vel_vec_init(&unit->owing, sizeof(struct vel_promise));
    vel_vec_init(&unit->unreadable, sizeof(struct vel_ls_unreadable));
    vel_vec_init(&unit->strange, sizeof(char *));
    vel_vec_init(&unit->tellers, sizeof(struct vel_ls_teller));
    vel_vec_init(&unit->opened, sizeof(struct vel_ls_opened));
    vel_vec_init(&unit->files, sizeof(struct vel_ls_file));
    vel_vec_init(&unit->settled, sizeof(struct vel_view_maker));
    vel_vec_init(&unit->damaged, sizeof(int64_t));
    vel_vec_init(&unit->rows, sizeof(struct vel_ls_row));
    return unit;
}

/* --- caches --- */

static void add_home(struct vel_ls *ls, struct vel_ls_unit *unit, const char *path,
                     const char *node)
{
    struct vel_ls_home home;
    struct stat st;

    for (size_t i = 0; i < unit->homes.n; i++)
        if (strcmp(((struct vel_ls_home *)vel_vec_at(&unit->homes, i))->path, path) ==
            0)
            return;
    if (vel_fs_lstat(ls->fs, path, &st, NULL) < 0)
        return;
    home = (struct vel_ls_home){.path = vel_ls_copy(path), .node = vel_ls_copy(node)};
    vel_ls_push(&unit->homes, &home);
}

/* Of a store: this node's, and those of virtual nodes, which have directories of their
 * own in it. */
static void add_store(struct vel_ls *ls, struct vel_ls_unit *unit, const char *store)
{
    const char *user = ls->host->user;

    struct vel_vec names;
    char *home;

    if (store[0] != '/')
        vel_tool_die(VEL_EXIT_FAILED,
                     "the store %s is no directory with its whole path", store);
    home = vel_ls_need(vel_cache_home(ls->fs, store, user, unit->id));

    add_home(ls, unit, home, ls->host->node);
    free(home);
    if (ls->conf->virtual_nodes == 0)
        return;
    vel_vec_init(&names, sizeof(char *));
    if (vel_fs_list(ls->fs, store, &names, NULL) < 0)
        return;
    for (size_t i = 0; i < names.n; i++) {
        const char *node = *(char **)vel_vec_at(&names, i);
        char *own = vel_ls_join(store, node);

        home = vel_ls_need(vel_cache_home(ls->fs, own, user, unit->id));
        if (vel_host_is_name(node))
            add_home(ls, unit, home, node);
        free(home);
        free(own);
    }
    vel_fs_names_fini(&names);
}

static void add_stores(struct vel_ls *ls, struct vel_ls_unit *unit)
{
    const char *store;

    for (size_t i = 0; (store = vel_conf_store(ls->conf, i)) != NULL; i++)
        add_store(ls, unit, store);
}

void vel_ls_elsewhere(const struct vel_ls *ls, const struct vel_ls_unit *unit,
                      const char *launch, struct vel_buf *ret)
{
    char *dir = unit->dir && launch ? vel_launch_dir(unit->dir, launch) : NULL;

    if (dir)
        vel_about_elsewhere(ls->fs, dir, ls->conf, ret);
    free(dir);
}

/* Programs may use other caches than these settings name: those that run here now have
 * said which. */
static void add_launches(struct vel_ls *ls, struct vel_ls_unit *unit)
{
    struct vel_vec dirs;

    vel_vec_init(&dirs, sizeof(char *));
    if (vel_role_list(ls->fs, ls->host, ls->conf->cntl_base, &dirs, NULL) < 0)
        return;
    for (size_t i = 0; i < dirs.n; i++) {
        struct vel_about about = {0};

        if (vel_about_load(ls->fs, *(char **)vel_vec_at(&dirs, i), &about, NULL) < 0)
            continue;
        for (size_t k = 0; k < about.n_homes && strcmp(about.prefix_id, unit->id) == 0;
             k++)
            add_home(ls, unit, about.homes[k], about.host.node);
        vel_about_fini(&about);
    }
    vel_fs_names_fini(&dirs);
}

/* --- a prefix --- */

static void add_prefix_unit(struct vel_ls *ls, const char *prefix, const char *dir,
                            const char *label)
{
    char id[VEL_PREFIX_ID] = "";
    struct vel_ls_unit *unit;
    struct vel_err err = {0};
    int rc = vel_prefix_look(ls->fs, dir, id, &err);

    if (rc < 0) {
        if (rc != VEL_ENOENT) {
            vel_tool_say("%s", err.text);
            ls->has_failed = true;
        }
        return;
    }
    unit = unit_of(ls, id);
    if (unit && unit->prefix)
        return; /* named twice */
    if (!unit)
        unit = add_unit(ls, id);
    unit->prefix = vel_ls_copy(prefix);
    unit->dir = vel_ls_copy(dir);
    free(unit->label);
    unit->label = vel_ls_copy(label);
}

static bool has_records(const struct vel_ls *ls, const char *prefix)
{
    char *dir = vel_ls_need(vel_veloc_dir(prefix));
    bool has = vel_fs_exists(ls->fs, dir);

    free(dir);
    return has;
}

/* Each user's, in a directory of his number. */
static void add_replaced(struct vel_ls *ls, const char *below)
{
    char *dir = vel_ls_join(below, "replaced");
    struct vel_vec names;

    vel_vec_init(&names, sizeof(char *));
    if (vel_fs_list(ls->fs, dir, &names, NULL) == 0)
        for (size_t i = 0; i < names.n; i++) {
            char *path = vel_ls_join(dir, *(char **)vel_vec_at(&names, i));

            vel_ls_push(&ls->replaced, &path);
        }
    vel_fs_names_fini(&names);
    free(dir);
}

static void add_prefix(struct vel_ls *ls, const char *prefix)
{
    char *dir = vel_ls_need(vel_veloc_dir(prefix));
    struct vel_vec names;

    add_prefix_unit(ls, prefix, dir, "");
    vel_vec_init(&names, sizeof(char *));
    if (vel_fs_list(ls->fs, dir, &names, NULL) == 0)
        for (size_t i = 0; i < names.n; i++) {
            const char *name = *(char **)vel_vec_at(&names, i);
            char *below = vel_ls_join(dir, name);
            char *id = vel_ls_join(below, "id");

            if (vel_fs_exists(ls->fs, id))
                add_prefix_unit(ls, prefix, below, name);
            else if (name[strspn(name, "0123456789")] == '\0')
                add_replaced(ls, below);
            free(id);
            free(below);
        }
    vel_fs_names_fini(&names);
    free(dir);
}

/* --- directories that were named --- */

struct search {
    struct vel_ls *ls;
    const char *said; /* as the user wrote it */
    bool has_found;
};

/* A node's name when the path has that of a virtual one; else what the user wrote. */
static char *node_of(const char *home, const char *said)
{
    char *user = vel_ls_need(vel_path_dir(home));
    char *store = vel_ls_need(vel_path_dir(user));
    const char *base = vel_path_base(store), *v = strstr(base, ".v");
    char *node = vel_ls_copy(v && v[2] >= '0' && v[2] <= '9' ? base : said);

    free(store);
    free(user);
    return node;
}

/* Caches have the identity of their prefix as name. */
static bool is_identity(const char *name)
{
    return strlen(name) == VEL_PREFIX_ID - 1 && name[8] == '-' && name[13] == '-';
}

static void found(struct search *search, const char *home)
{
    const char *id = vel_path_base(home);
    struct vel_ls_unit *unit = unit_of(search->ls, id);
    char *node;

    if (!is_identity(id))
        return;
    if (!unit)
        unit = add_unit(search->ls, id);
    unit->is_given = true;
    search->has_found = true;
    node = node_of(home, search->said);
    add_home(search->ls, unit, home, node);
    free(node);
}

/* Above an index.L is a home. What is in it need not be looked at here, and what cannot
 * be read holds nothing for us, as others' directories in /tmp. */
static void search_in(struct search *search, const char *dir)
{
    struct vel_vec names;
    struct stat st;
    int64_t index;

    vel_vec_init(&names, sizeof(char *));
    if (vel_fs_list(search->ls->fs, dir, &names, NULL) < 0)
        return;
    for (size_t i = 0; i < names.n; i++) {
        char *path = vel_ls_join(dir, *(char **)vel_vec_at(&names, i));

        if (vel_number_behind(*(char **)vel_vec_at(&names, i), "index.", &index))
            found(search, dir);
        else if (vel_fs_lstat(search->ls->fs, path, &st, NULL) == 0 &&
                 S_ISDIR(st.st_mode))
            search_in(search, path);
        free(path);
    }
    vel_fs_names_fini(&names);
}

/* In a cache: the directory of its home above it, when there is one. */
static char *home_above(const char *path)
{
    char *at = vel_ls_copy(path);
    int64_t index;

    while (strcmp(at, "/") != 0) {
        char *above = vel_ls_need(vel_path_dir(at));

        if (vel_number_behind(vel_path_base(at), "index.", &index)) {
            free(at);
            return above;
        }
        free(at);
        at = above;
    }
    free(at);
    return NULL;
}

/* Where a link leads to. */
static char *follow(const struct vel_ls *ls, char *path)
{
    struct stat st;
    char *behind = path;

    if (vel_fs_lstat(ls->fs, path, &st, NULL) == 0 && S_ISLNK(st.st_mode)) {
        behind = vel_ls_join(path, ".");
        free(path);
    }
    return behind;
}

static void add_path(struct vel_ls *ls, const char *said, const char *cwd)
{
    char *path = follow(ls, vel_ls_need(vel_path_absolute(cwd, said)));
    char *home = home_above(path);
    struct search search = {.ls = ls, .said = said};
    struct vel_err err = {0};
    struct stat st;

    if (vel_fs_lstat(ls->fs, path, &st, &err) < 0) {
        vel_tool_say("%s", err.text);
        ls->has_failed = true;
    } else if (has_records(ls, path)) {
        add_prefix(ls, path);
    } else {
        search_in(&search, home ? home : path);
        if (!search.has_found && !ls->options->quiet)
            vel_tool_say("%s: no dataset of h5veloc is there", said);
    }
    free(home);
    free(path);
}

/* --- all --- */

/* Caches that were named may belong to the prefix that the settings name: then it tells
 * what it knows of them. */
static void add_own_prefix(struct vel_ls *ls, const char *prefix, bool is_asked)
{
    struct vel_ls all = *ls;

    if (is_asked) {
        add_prefix(ls, prefix);
        return;
    }
    vel_vec_init(&all.units, sizeof(struct vel_ls_unit));
    vel_vec_init(&all.replaced, sizeof(char *));
    add_prefix(&all, prefix);
    for (size_t i = 0; i < all.units.n; i++) {
        struct vel_ls_unit *from = vel_ls_unit_at(&all, i);
        struct vel_ls_unit *to = unit_of(ls, from->id);

        if (to && !to->prefix) {
            free(to->label);
            to->prefix = from->prefix;
            to->dir = from->dir;
            to->label = from->label;
            from->prefix = from->dir = from->label = NULL;
        }
        vel_ls_unit_fini(from);
    }
    vel_vec_fini(&all.units);
    vel_fs_names_fini(&all.replaced);
}

static int by_name(const void *a, const void *b)
{
    const struct vel_ls_unit *x = a, *y = b;
    int order = strcmp(x->prefix ? x->prefix : "", y->prefix ? y->prefix : "");

    if (order == 0)
        order = strcmp(x->label, y->label);
    return order ? order : strcmp(x->id, y->id);
}

void vel_ls_find(struct vel_ls *ls)
{
    const struct vel_ls_options *options = ls->options;
    bool is_asked = options->n_paths == 0;
    struct vel_err err = {0};
    char *cwd, *prefix;

    if (vel_fs_working_dir(&cwd, &err) < 0)
        vel_tool_die(VEL_EXIT_FAILED, "%s", err.text);
    prefix =
        vel_ls_need(vel_path_absolute(cwd, ls->conf->prefix ? ls->conf->prefix : "."));
    for (size_t i = 0; i < options->n_paths && !options->h5; i++)
        add_path(ls, options->paths[i], cwd);
    add_own_prefix(ls, prefix, is_asked || options->h5);
    for (size_t i = 0; i < ls->units.n; i++) {
        struct vel_ls_unit *unit = vel_ls_unit_at(ls, i);

        if (unit->is_given)
            continue;
        add_stores(ls, unit);
        add_launches(ls, unit);
    }
    vel_vec_sort(&ls->units, by_name);
    if (is_asked && ls->units.n + ls->replaced.n == 0 && !options->json &&
        !options->quiet)
        vel_tool_say("%s: no program has used it with h5veloc", prefix);
    free(prefix);
    free(cwd);
}
