/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "tap/fs_undo_log.h"

void vel_undo_log_init(struct vel_undo_log *log, struct vel_fs *under, char *take_aside)
{
    *log = (struct vel_undo_log){.under = under, .aside = take_aside};
    vel_vec_init(&log->nodes, sizeof(struct vel_undo_node *));
    vel_vec_init(&log->changes, sizeof(struct vel_undo_change));
    vel_vec_init(&log->writes, sizeof(struct vel_undo_write));
}

struct vel_undo_change *vel_undo_change_at(const struct vel_undo_log *log, size_t i)
{
    return vel_vec_at(&log->changes, i);
}

struct vel_undo_write *vel_undo_write_at(const struct vel_undo_log *log, size_t i)
{
    return vel_vec_at(&log->writes, i);
}

static struct vel_undo_node *node_at(const struct vel_undo_log *log, size_t i)
{
    return *(struct vel_undo_node **)vel_vec_at(&log->nodes, i);
}

static void free_write(struct vel_undo_write *w)
{
    free(w->old_bytes);
    free(w->new_bytes);
}

void vel_undo_log_clear(struct vel_undo_log *log)
{
    for (size_t i = 0; i < log->writes.n; i++)
        free_write(vel_undo_write_at(log, i));
    for (size_t i = 0; i < log->changes.n; i++) {
        free(vel_undo_change_at(log, i)->name);
        free(vel_undo_change_at(log, i)->from_name);
    }
    for (size_t i = 0; i < log->nodes.n; i++) {
        free(node_at(log, i)->name);
        free(node_at(log, i));
    }
    log->writes.n = log->changes.n = log->nodes.n = 0;
}

void vel_undo_log_fini(struct vel_undo_log *log)
{
    vel_undo_log_clear(log);
    vel_vec_fini(&log->writes);
    vel_vec_fini(&log->changes);
    vel_vec_fini(&log->nodes);
    free(log->aside);
}

struct vel_undo_node *vel_undo_node_find(const struct vel_undo_log *log,
                                         const struct stat *st)
{
    for (size_t i = 0; i < log->nodes.n; i++) {
        struct vel_undo_node *node = node_at(log, i);
        if (!node->is_gone && node->dev == st->st_dev && node->ino == st->st_ino)
            return node;
    }
    return NULL;
}

int vel_undo_node_place(struct vel_undo_node *node, struct vel_undo_node *dir,
                        const char *name)
{
    char *copy = strdup(name);

    if (!copy)
        return VEL_ENOMEM;
    free(node->name);
    node->name = copy;
    node->dir = dir;
    return 0;
}

/* the node of the directory that holds `path`; NULL when out of memory or not there */
static struct vel_undo_node *holder(struct vel_undo_log *log, const char *path)
{
    char *dir = vel_path_dir(path);
    char *inside = dir ? vel_path_join(dir, ".") : NULL;
    struct vel_undo_node *node = NULL;
    struct stat st;

    if (inside && log->under->ops->lstat(log->under, inside, &st) == 0)
        node = vel_undo_node_get(log, dir, &st);
    free(inside);
    free(dir);
    return node;
}

struct vel_undo_node *vel_undo_node_get(struct vel_undo_log *log, const char *path,
                                        const struct stat *st)
{
    struct vel_undo_node *node = vel_undo_node_find(log, st);

    if (node)
        return node;
    struct vel_undo_node *dir = NULL;
    const char *base = vel_path_base(path);
    if (base != path && base[0]) { /* every directory above is known too: it may move */
        dir = holder(log, path);
        if (!dir)
            return NULL;
    }
    node = calloc(1, sizeof *node);
    if (!node || vel_undo_node_place(node, dir, dir ? base : path) < 0 ||
        !vel_vec_push(&log->nodes, &node)) {
        if (node)
            free(node->name);
        free(node);
        log->is_broken = true;
        return NULL;
    }
    node->dev = st->st_dev;
    node->ino = st->st_ino;
    node->mode = st->st_mode;
    return node;
}

char *vel_undo_path(const struct vel_undo_node *dir, const char *name)
{
    char *above, *path;

    if (!dir)
        return strdup(name);
    if (dir->is_gone)
        return NULL;
    above = vel_undo_path(dir->dir, dir->name);
    path = above ? vel_path_join(above, name) : NULL;
    free(above);
    return path;
}

char *vel_undo_aside_path(const struct vel_undo_log *log, unsigned n)
{
    char name[16];

    snprintf(name, sizeof name, "%u", n);
    return vel_path_join(log->aside, name);
}

/* the last name of a path, trailing slashes left out */
static char *last_name(const char *path)
{
    size_t len = strlen(path);

    while (len > 1 && path[len - 1] == '/')
        len--;
    size_t begin = len;
    while (begin > 0 && path[begin - 1] != '/')
        begin--;
    return strndup(path + begin, len - begin);
}

struct vel_undo_change *vel_undo_change_add(struct vel_undo_log *log,
                                            enum vel_undo_what what,
                                            struct vel_undo_node *node,
                                            const char *path, const char *from)
{
    struct vel_undo_change change = {
        .what = what,
        .node = node,
        .dir = holder(log, path),
        .name = last_name(path),
        .from_dir = from ? holder(log, from) : NULL,
        .from_name = from ? last_name(from) : NULL,
    };
    struct vel_undo_change *added = NULL;

    if (node && change.dir && change.name &&
        (!from || (change.from_dir && change.from_name)))
        added = vel_vec_push(&log->changes, &change);
    if (!added) {
        free(change.name);
        free(change.from_name);
        log->is_broken = true;
    }
    return added;
}

/* What happened in a directory before change `end` is durable, and what these changes
 * did to other directories, with all that came before it there: a file system commits
 * in order. */
static void settle_dir(struct vel_undo_log *log, const struct vel_undo_node *dir,
                       size_t end)
{
    for (size_t i = 0; i < end; i++) {
        struct vel_undo_change *c = vel_undo_change_at(log, i);

        if (c->is_durable || (c->dir != dir && c->from_dir != dir))
            continue;
        c->is_durable = true;
        if (c->dir != dir)
            settle_dir(log, c->dir, i);
        if (c->from_dir && c->from_dir != dir)
            settle_dir(log, c->from_dir, i);
        if (c->what == VEL_UNDO_GONE && S_ISDIR(c->node->mode))
            settle_dir(log, c->node, i); /* a removed directory was emptied before */
    }
}

static void settle_file(struct vel_undo_log *log, const struct vel_undo_node *node)
{
    size_t kept = 0;

    for (size_t i = 0; i < log->writes.n; i++) {
        struct vel_undo_write *w = vel_undo_write_at(log, i);

        if (w->node == node)
            free_write(w);
        else
            *vel_undo_write_at(log, kept++) = *w;
    }
    log->writes.n = kept;
}

void vel_undo_settle(struct vel_undo_log *log, struct vel_undo_node *node)
{
    if (S_ISDIR(node->mode))
        settle_dir(log, node, log->changes.n);
    else
        settle_file(log, node);
}
