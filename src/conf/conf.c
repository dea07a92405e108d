/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/library.h"
#include "base/log.h"
#include "base/path.h"
#include "conf/conf.h"
#include "conf/near.h"

void vel_conf_line_fini(struct vel_line *line)
{
    const struct vel_parent_info info = vel_schema_parent(line->parent);

    for (size_t i = 0; line->data && i < info.n; i++)
        vel_field_clear(&info.children[i], line->data);
    if (line->data && line->parent == VEL_GROUPS) {
        struct vel_groups_line *groups = line->data;

        for (size_t i = 0; i < groups->pairs.n; i++) {
            struct vel_group_pair *pair = vel_vec_at(&groups->pairs, i);
            free(pair->name);
            free(pair->value);
        }
        vel_vec_fini(&groups->pairs);
    }
    free(line->data);
    free(line->name);
}

void vel_conf_destroy(struct vel_conf *conf)
{
    if (!conf)
        return;
    for (size_t i = 0; i < vel_schema_count(); i++) {
        vel_field_clear(vel_schema_setting(i), conf);
        if (conf->texts)
            free(conf->texts[i]);
    }
    for (size_t i = 0; i < conf->lines.n; i++)
        vel_conf_line_fini(vel_vec_at(&conf->lines, i));
    for (size_t i = 0; i < conf->unused.n; i++) {
        struct vel_unused *unused = vel_vec_at(&conf->unused, i);
        free(unused->key);
        free(unused->value);
    }
    vel_vec_fini(&conf->lines);
    vel_vec_fini(&conf->unused);
    vel_map_destroy(conf->names, NULL);
    free(conf->texts);
    free(conf->sources);
    free(conf);
}

int vel_conf_create(struct vel_conf **ret_conf, struct vel_err *err)
{
    struct vel_conf *conf = calloc(1, sizeof *conf);
    size_t n = vel_schema_count();
    int rc;

    if (!conf)
        return vel_out_of_memory(err, "preparing settings");
    vel_vec_init(&conf->lines, sizeof(struct vel_line));
    vel_vec_init(&conf->unused, sizeof(struct vel_unused));
    conf->names = vel_map_create();
    conf->sources = calloc(n, sizeof *conf->sources);
    conf->texts = calloc(n, sizeof *conf->texts);
    if (!conf->names || !conf->sources || !conf->texts)
        rc = vel_out_of_memory(err, "preparing settings");
    else
        rc = vel_library_check(
            err); /* whatever works with settings goes on to call them */
    for (size_t i = 0; rc == 0 && i < n; i++) {
        const struct vel_source source = {.layer = VEL_LAYER_DEFAULT};

        rc = vel_conf_set(conf, i, vel_schema_setting(i)->def, &source, err);
    }
    if (rc < 0)
        vel_conf_destroy(conf);
    else
        *ret_conf = conf;
    return rc;
}

const char *vel_conf_name(struct vel_conf *conf, const char *name)
{
    if (!vel_map_has(conf->names, name) &&
        vel_map_set(conf->names, name, NULL, NULL) < 0)
        return NULL;
    for (size_t i = 0; i < vel_map_count(conf->names); i++)
        if (strcmp(vel_map_key(conf->names, i), name) == 0)
            return vel_map_key(conf->names, i);
    return NULL;
}

int vel_conf_set(struct vel_conf *conf, size_t i, const char *text,
                 const struct vel_source *source, struct vel_err *err)
{
    const struct vel_source *before = &conf->sources[i];
    const struct vel_field *field = vel_schema_setting(i);

    if (source->layer < before->layer)
        return 0;
    if (source->layer == before->layer && source->line && before->line &&
        source->where == before->where)
        return vel_fail(err, VEL_ECONFIG, "%s is given twice, first on line %d",
                        field->key, before->line);
    char *copy = strdup(text);
    if (!copy)
        return vel_out_of_memory(err, field->key);
    int rc = vel_field_set(field, conf, text, err);
    if (rc < 0) {
        free(copy);
        return rc;
    }
    free(conf->texts[i]);
    conf->texts[i] = copy;
    conf->sources[i] = *source;
    return 0;
}

int vel_conf_set_by_program(struct vel_conf *conf, const char *key, const char *text,
                            struct vel_err *err)
{
    const struct vel_source source = {.layer = VEL_LAYER_PROGRAM};
    struct vel_meaning meaning;

    if (!vel_schema_find(key, VEL_SPELL_FILE, &meaning) ||
        meaning.parent != VEL_NO_PARENT) {
        char hint[VEL_NEAR_HINT];

        return vel_fail(
            err, VEL_ECONFIG, "unknown setting %.80s%s", key,
            vel_near_hint(vel_schema_nearest(key, VEL_SPELL_FILE, VEL_NO_PARENT),
                          hint));
    }
    return meaning.ignored ? 0
                           : vel_conf_set(conf, meaning.setting, text, &source, err);
}

int vel_conf_keep_unused(struct vel_conf *conf, const char *key, const char *value,
                         struct vel_unused unused, struct vel_err *err)
{
    unused.key = strdup(key);
    unused.value = strdup(value);

    if (unused.key && unused.value && vel_vec_push(&conf->unused, &unused))
        return 0;
    free(unused.key);
    free(unused.value);
    return vel_out_of_memory(err, "reading settings");
}

int vel_conf_keep_ignored(struct vel_conf *conf, const char *key, const char *value,
                          const struct vel_ignored *ignored,
                          const struct vel_source *source, struct vel_err *err)
{
    struct vel_unused unused = {.why = ignored->why, .source = *source};

    return vel_conf_keep_unused(
        conf, key, ignored->kind == VEL_IGNORED_SECRET ? "(not shown)" : value, unused,
        err);
}

const struct vel_line *vel_conf_line(const struct vel_conf *conf,
                                     enum vel_parent parent, size_t i)
{
    for (size_t k = 0; k < conf->lines.n; k++) {
        const struct vel_line *line = vel_vec_at(&conf->lines, k);

        if (line->parent == parent && i-- == 0)
            return line;
    }
    return NULL;
}

const struct vel_line *vel_conf_host(const struct vel_conf *conf, size_t i)
{
    const struct vel_line *line;

    for (size_t k = 0; (line = vel_conf_line(conf, VEL_GROUPS, k)); k++)
        if (((const struct vel_groups_line *)line->data)->mtbf <= 0 && i-- == 0)
            return line;
    return NULL;
}

bool vel_conf_gives(const struct vel_line *line, const char *key)
{
    return line->given >> vel_schema_child(line->parent, key) & 1;
}

bool vel_conf_asks_for_scheme(const struct vel_conf *conf)
{
    struct vel_meaning meaning;

    vel_schema_find("COPY_TYPE", VEL_SPELL_FILE, &meaning);
    return conf->sources[meaning.setting].layer != VEL_LAYER_DEFAULT ||
           vel_conf_line(conf, VEL_CKPT, 0);
}

static bool is_unheeded(const struct vel_field *field, const struct vel_source *source,
                        enum vel_whom who)
{
    bool is_said = source->layer == VEL_LAYER_PROGRAM ||
                   source->layer == VEL_LAYER_ENVIRONMENT ||
                   (source->layer == VEL_LAYER_USER && source->line > 0);

    return is_said && field->whom != VEL_WHOM_ALL && field->whom != who;
}

static void list_key(struct vel_buf *ret, const char *parent, const char *key)
{
    vel_buf_printf(ret, "%s%s%s%s", ret->len > 0 ? ", " : "", parent,
                   *parent ? " " : "", key);
}

void vel_conf_list_unheeded(const struct vel_conf *conf, enum vel_whom who,
                            struct vel_buf *ret)
{
    uint32_t told[VEL_PARENTS] = {0};

    for (size_t i = 0; i < vel_schema_count(); i++)
        if (is_unheeded(vel_schema_setting(i), &conf->sources[i], who))
            list_key(ret, "", vel_schema_setting(i)->key);
    for (size_t i = 0; i < conf->lines.n; i++) {
        const struct vel_line *line = vel_vec_at(&conf->lines, i);
        const struct vel_parent_info info = vel_schema_parent(line->parent);

        for (size_t k = 0; k < info.n; k++) {
            uint32_t bit = line->given & ~told[line->parent] & UINT32_C(1) << k;

            if (!bit || !is_unheeded(&info.children[k], &line->source, who))
                continue;
            told[line->parent] |= bit;
            list_key(ret, info.key, info.children[k].key);
        }
    }
}

static bool is_beside(const char *path, const char *other)
{
    size_t len = (size_t)(vel_path_base(path) - path);

    return len == (size_t)(vel_path_base(other) - other) &&
           strncmp(path, other, len) == 0;
}

/* The STORE line whose directory is called nearly like this one, and lies beside it;
 * NULL: none is, or it is there. */
static const char *near_store(const struct vel_conf *conf, const char *store)
{
    const struct vel_line *line;
    const char *best = NULL;
    struct vel_near near;

    vel_near_init(&near, vel_path_base(store));
    for (size_t i = 0; (line = vel_conf_line(conf, VEL_STORE, i)); i++) {
        if (vel_path_is_same(line->name, store))
            return NULL;
        if (is_beside(line->name, store))
            vel_near_try(&near, vel_path_base(line->name));
        if (near.best == vel_path_base(line->name))
            best = line->name;
    }
    return vel_path_is_same(store, conf->cache_base) ? NULL : best;
}

static void tell_near_stores(const struct vel_conf *conf)
{
    const struct vel_line *line;
    char hint[VEL_NEAR_HINT];

    for (size_t i = 0;
         vel_conf_has_levels(conf) && (line = vel_conf_line(conf, VEL_CKPT, i)); i++) {
        const struct vel_ckpt *c = line->data;
        const char *near = c->enabled ? near_store(conf, c->store) : NULL;

        if (near)
            vel_log_shared(VEL_LOG_WARN, "%s:%d: CKPT=%s: no line describes STORE=%s%s",
                           line->source.where, line->source.line, line->name, c->store,
                           vel_near_hint(near, hint));
    }
}

void vel_conf_tell_lines(const struct vel_conf *conf)
{
    tell_near_stores(conf);
    for (size_t i = 0; i < conf->unused.n; i++) {
        const struct vel_unused *line = vel_vec_at(&conf->unused, i);

        if (line->is_replaced)
            vel_log_shared(VEL_LOG_INFO, "%s:%d: the line %s=%s is not used: %s",
                           line->source.where, line->source.line, line->key,
                           line->value, line->why);
    }
}

bool vel_conf_has_levels(const struct vel_conf *conf)
{
    struct vel_meaning meaning;

    if (conf->copy_type == VEL_COPY_FILE)
        return true;
    vel_schema_find("COPY_TYPE", VEL_SPELL_FILE, &meaning);
    return conf->sources[meaning.setting].layer == VEL_LAYER_DEFAULT &&
           vel_conf_line(conf, VEL_CKPT, 0);
}

/* --- stores --- */

const char *vel_conf_store(const struct vel_conf *conf, size_t i)
{
    const struct vel_line *line;
    size_t n = 1;

    if (i == 0)
        return conf->cache_base;
    for (; (line = vel_conf_line(conf, VEL_STORE, n - 1)) != NULL; n++)
        if (n == i)
            return line->name;
    for (size_t k = 0; (line = vel_conf_line(conf, VEL_CKPT, k)) != NULL; k++) {
        const struct vel_ckpt *ckpt = line->data;

        if (ckpt->store && n++ == i)
            return ckpt->store;
    }
    return NULL;
}

/* Among the first n? */
static bool names_store(const struct vel_conf *conf, const char *store, size_t n)
{
    const char *named;

    for (size_t i = 0; i < n && (named = vel_conf_store(conf, i)) != NULL; i++)
        if (vel_path_is_same(named, store))
            return true;
    return false;
}

void vel_conf_list_stores(const struct vel_conf *conf, const struct vel_conf *but,
                          struct vel_buf *ret)
{
    const char *store, *before = "";

    for (size_t i = 0; (store = vel_conf_store(conf, i)) != NULL; i++) {
        if ((but && names_store(but, store, SIZE_MAX)) || names_store(conf, store, i))
            continue;
        vel_buf_printf(ret, "%s%s", before, store);
        before = ", ";
    }
}
