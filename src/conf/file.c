/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/path.h"
#include "conf/file.h"
#include "conf/near.h"

struct parse {
    struct vel_conf *conf;
    const char *file;
    enum vel_layer layer;
    enum vel_spelling spelling;
    struct vel_map *parents; /* "CKPT 0" -> anything: lines that this file has begun */
    struct vel_line *line;   /* whose children come next; NULL: none may */
    const struct vel_ignored *unread; /* a line without meaning: its keys have none */
    size_t in_front;                  /* so many of its lines come before all others */
    const struct vel_pair *first;
    struct vel_err *err;
};

/* "FILE:LINE: " in front of what went wrong */
static int here(const struct parse *p, const struct vel_pair *pair, int rc)
{
    return rc < 0 ? vel_wrap(p->err, rc, "%s:%d", p->file, pair->line) : 0;
}

static int unknown(const struct parse *p, const struct vel_pair *pair,
                   enum vel_parent parent)
{
    const char *nearest = vel_schema_nearest(pair->key, p->spelling, parent);
    char hint[VEL_NEAR_HINT];

    if (parent == VEL_NO_PARENT)
        return vel_fail(p->err, VEL_ECONFIG, "unknown key %.80s%s", pair->key,
                        vel_near_hint(nearest, hint));
    return vel_fail(p->err, VEL_ECONFIG, "unknown key %.80s on a line of %s%s",
                    pair->key, vel_schema_parent(parent).key,
                    vel_near_hint(nearest, hint));
}

static struct vel_source source_of(const struct parse *p, const struct vel_pair *pair)
{
    return (struct vel_source){.layer = p->layer, .where = p->file, .line = pair->line};
}

static int keep_ignored(const struct parse *p, const struct vel_pair *pair,
                        const struct vel_ignored *ignored)
{
    const struct vel_source source = source_of(p, pair);

    return vel_conf_keep_ignored(p->conf, pair->key, pair->value, ignored, &source,
                                 p->err);
}

/* The line of this kind and name that a source of lower precedence has given; their
 * number: there is none. */
static size_t find_line(const struct vel_conf *conf, enum vel_parent parent,
                        const char *name)
{
    size_t i = 0;

    for (; i < conf->lines.n; i++) {
        const struct vel_line *line = vel_vec_at(&conf->lines, i);

        if (line->parent == parent && strcmp(line->name, name) == 0)
            break;
    }
    return i;
}

/* Names of directories are compared in their short form. */
static char *name_of(enum vel_parent parent, const char *value)
{
    bool is_dir =
        parent == VEL_STORE || parent == VEL_CACHEDIR || parent == VEL_CNTLDIR;

    return is_dir && value[0] == '/' ? vel_path_absolute("/", value) : strdup(value);
}

static int note_parent(const struct parse *p, const struct vel_pair *pair,
                       const struct vel_line *line)
{
    const char *parent = vel_schema_parent(line->parent).key, *name = line->name;
    struct vel_buf key;
    void *before;
    int rc = 0;

    vel_buf_init(&key);
    vel_buf_printf(&key, "%s %s", parent, name);
    before = vel_map_get(p->parents, vel_buf_text(&key));
    if (before)
        rc = vel_fail(p->err, VEL_ECONFIG, "%s=%.80s is given twice, first on line %d",
                      parent, name, ((const struct vel_pair *)before)->line);
    else if (vel_map_set(p->parents, vel_buf_text(&key), (void *)(uintptr_t)pair,
                         NULL) < 0)
        rc = vel_out_of_memory(p->err, "reading settings");
    vel_buf_fini(&key);
    return rc;
}

static int fill_defaults(struct vel_line *line, struct vel_err *err)
{
    const struct vel_parent_info info = vel_schema_parent(line->parent);
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < info.n; i++)
        rc = vel_field_set(&info.children[i], line->data, info.children[i].def, err);
    return rc;
}

static int number_level(struct vel_line *line, struct vel_err *err)
{
    struct vel_ckpt *ckpt = line->data;
    char *end;

    ckpt->id = strtoll(line->name, &end, 10);
    if (line->name[0] < '0' || line->name[0] > '9' || *end || ckpt->id > 1000000)
        return vel_fail(err, VEL_ECONFIG, "CKPT=%.80s: levels are numbered from 0",
                        line->name);
    return 0;
}

/* The users are told of it: they may have meant the keys of the old line, too. */
static int note_replaced(const struct parse *p, const struct vel_line *old,
                         const struct vel_line *fresh)
{
    struct vel_buf why;
    const char *text;

    vel_buf_init(&why);
    vel_buf_printf(&why, "%s:%d replaces it", fresh->source.where, fresh->source.line);
    text = vel_conf_name(p->conf, vel_buf_text(&why));
    vel_buf_fini(&why);
    if (!text)
        return vel_out_of_memory(p->err, "reading settings");
    return vel_conf_keep_unused(
        p->conf, vel_schema_parent(old->parent).key, old->name,
        (struct vel_unused){.why = text, .source = old->source, .is_replaced = true},
        p->err);
}

/* The first DATASET line that a file fits has it: those of the connector's string come
 * before those of files, and those of the environment before both. */
static int put_line_in_front(struct parse *p, const struct vel_line *fresh, size_t old)
{
    struct vel_vec *lines = &p->conf->lines;
    int rc = 0;

    if (old < lines->n) {
        rc = note_replaced(p, vel_vec_at(lines, old), fresh);
        if (rc < 0)
            return rc;
        vel_conf_line_fini(vel_vec_at(lines, old));
        vel_vec_remove(lines, old);
    }
    p->line = vel_vec_insert(lines, p->in_front, fresh);
    if (!p->line)
        return vel_out_of_memory(p->err, "reading settings");
    p->in_front++;
    return 0;
}

/* In the place of one that it overrides, else behind all others. */
static int put_line(struct parse *p, const struct vel_line *fresh)
{
    struct vel_vec *lines = &p->conf->lines;
    size_t old = find_line(p->conf, fresh->parent, fresh->name);

    if (fresh->parent == VEL_DATASET && p->layer == VEL_LAYER_ENVIRONMENT)
        return put_line_in_front(p, fresh, old);
    if (old < lines->n) {
        p->line = vel_vec_at(lines, old);
        vel_conf_line_fini(p->line);
        *p->line = *fresh;
        return 0;
    }
    p->line = vel_vec_push(lines, fresh);
    return p->line ? 0 : vel_out_of_memory(p->err, "reading settings");
}

static int begin_line(struct parse *p, const struct vel_pair *pair,
                      enum vel_parent parent)
{
    struct vel_line fresh = {.parent = parent,
                             .name = name_of(parent, pair->value),
                             .source = source_of(p, pair),
                             .data = calloc(1, vel_schema_parent(parent).size)};
    int rc = fresh.name && fresh.data ? note_parent(p, pair, &fresh)
                                      : vel_out_of_memory(p->err, "reading settings");

    if (rc == 0)
        rc = fill_defaults(&fresh, p->err);
    if (rc == 0 && parent == VEL_CKPT)
        rc = number_level(&fresh, p->err);
    if (rc == 0 && parent == VEL_GROUPS)
        vel_vec_init(&((struct vel_groups_line *)fresh.data)->pairs,
                     sizeof(struct vel_group_pair));
    if (rc == 0)
        rc = put_line(p, &fresh);
    if (rc < 0)
        vel_conf_line_fini(&fresh);
    return rc;
}

/* Is the key that comes the first of its sort on a line that has the other sort? */
static bool has_other(const struct vel_line *line, size_t child)
{
    const struct vel_groups_line *groups = line->data;

    return child == (size_t)-1 ? line->given != 0 : groups->pairs.n > 0;
}

static int not_alone(const struct parse *p)
{
    return vel_fail(p->err, VEL_ECONFIG,
                    "MTBF stands on a line of its own: GROUPS=NODE MTBF=500h for every "
                    "host, or the name of another group instead of NODE");
}

static int add_group(struct parse *p, const struct vel_pair *pair)
{
    struct vel_groups_line *groups = p->line->data;
    struct vel_group_pair group = {.name = strdup(pair->key),
                                   .value = strdup(pair->value)};

    for (size_t i = 0; i < groups->pairs.n; i++)
        if (group.name && strcmp(((struct vel_group_pair *)groups->pairs.items)[i].name,
                                 group.name) == 0) {
            free(group.name);
            free(group.value);
            return vel_fail(p->err, VEL_ECONFIG, "%s stands twice on the line",
                            pair->key);
        }
    if (strcmp(pair->key, "NODE") == 0 || strcmp(pair->key, "WORLD") == 0) {
        free(group.name);
        free(group.value);
        return vel_fail(p->err, VEL_ECONFIG,
                        "the group %s is there already and cannot be defined",
                        pair->key);
    }
    if (group.name && group.value && vel_vec_push(&groups->pairs, &group))
        return 0;
    free(group.name);
    free(group.value);
    return vel_out_of_memory(p->err, "reading settings");
}

static int add_child(struct parse *p, const struct vel_pair *pair)
{
    struct vel_child_meaning meaning;

    if (p->unread)
        return keep_ignored(p, pair, p->unread);
    if (!p->line)
        return vel_fail(p->err, VEL_ECONFIG,
                        "%.80s: the line begins with %s, which has no further keys",
                        pair->key, p->first->key);
    bool is_known =
        vel_schema_find_child(p->line->parent, pair->key, pair->value, &meaning);
    size_t i = meaning.child;
    if (p->line->parent == VEL_GROUPS && has_other(p->line, i))
        return not_alone(p);
    if (p->line->parent == VEL_GROUPS && i == (size_t)-1)
        return add_group(p, pair);
    if (!is_known)
        return unknown(p, pair, p->line->parent);
    if (meaning.ignored)
        return keep_ignored(p, pair, meaning.ignored);
    const struct vel_field *field = &vel_schema_parent(p->line->parent).children[i];
    if (p->line->given >> i & 1)
        return vel_fail(p->err, VEL_ECONFIG, "%s stands twice on the line", field->key);
    p->line->given |= 1u << i;
    return vel_field_set(field, p->line->data, meaning.value, p->err);
}

/* VELOC takes only the word true for true, and everything else for false: a file that
 * says 1 or yes means what it does not do there. */
static int check_ini_bool(const struct vel_pair *pair, size_t setting,
                          struct vel_err *err)
{
    if (vel_schema_setting(setting)->type != VEL_TYPE_BOOL ||
        strcasecmp(pair->value, "true") == 0 || strcasecmp(pair->value, "false") == 0)
        return 0;
    return vel_fail(err, VEL_ECONFIG, "%s=%.80s: expected true or false", pair->key,
                    pair->value);
}

/* VELOC's files are read as VELOC means them, also where they say nothing; without a
 * persistent directory nothing is flushed. */
static int imply(struct parse *p, const struct vel_lexed *lexed)
{
    const struct vel_source source = {.layer = p->layer, .where = p->file};
    bool has_prefix = false;
    const char *value;
    size_t setting;
    int rc = 0;

    for (size_t i = 0; i < lexed->pairs.n; i++)
        has_prefix |= strcmp(((struct vel_pair *)vel_vec_at(&lexed->pairs, i))->key,
                             "persistent") == 0;
    for (size_t i = 0; rc == 0 && vel_schema_implied(i, &setting, &value); i++) {
        if (!has_prefix && strcmp(vel_schema_setting(setting)->key, "FLUSH") == 0)
            value = "0";
        rc = vel_conf_set(p->conf, setting, value, &source, p->err);
    }
    return rc;
}

static int add_setting(struct parse *p, const struct vel_pair *pair,
                       const struct vel_meaning *meaning)
{
    const struct vel_source source = source_of(p, pair);
    int rc = 0;

    if (p->spelling == VEL_SPELL_INI)
        rc = check_ini_bool(pair, meaning->setting, p->err);
    if (rc < 0)
        return rc;
    return vel_conf_set(p->conf, meaning->setting,
                        vel_schema_value(meaning, pair->value), &source, p->err);
}

static int add_first(struct parse *p, const struct vel_pair *pair)
{
    struct vel_meaning meaning;

    p->line = NULL;
    p->unread = NULL;
    p->first = pair;
    if (!vel_schema_find(pair->key, p->spelling, &meaning)) {
        enum vel_parent parent = vel_schema_parent_of(pair->key);

        if (p->spelling == VEL_SPELL_FILE && parent != VEL_NO_PARENT)
            return vel_fail(
                p->err, VEL_ECONFIG,
                "%s has no parent: it belongs on a line that begins with %s=",
                pair->key, vel_schema_parent(parent).key);
        return unknown(p, pair, VEL_NO_PARENT);
    }
    if (meaning.ignored) {
        if (meaning.ignored->kind == VEL_IGNORED_LINE)
            p->unread = meaning.ignored;
        return keep_ignored(p, pair, meaning.ignored);
    }
    if (meaning.parent != VEL_NO_PARENT)
        return begin_line(p, pair, meaning.parent);
    return add_setting(p, pair, &meaning);
}

int vel_conf_parse(struct vel_conf *conf, enum vel_layer layer, const char *file,
                   const char *bytes, size_t len, vel_variable_f *variable, void *arg,
                   struct vel_err *err)
{
    struct parse p = {.conf = conf, .layer = layer, .err = err};
    struct vel_lexed lexed;
    int rc = vel_lex(file, bytes, len, variable, arg, &lexed, err);

    if (rc < 0)
        return rc;
    p.file = vel_conf_name(conf, file);
    p.parents = vel_map_create();
    p.spelling = lexed.is_ini ? VEL_SPELL_INI : VEL_SPELL_FILE;
    if (!p.file || !p.parents)
        rc = vel_out_of_memory(err, "reading settings");
    if (rc == 0 && lexed.is_ini)
        rc = imply(&p, &lexed);
    for (size_t i = 0; rc == 0 && i < lexed.pairs.n; i++) {
        const struct vel_pair *pair = vel_vec_at(&lexed.pairs, i);

        rc = pair->is_first ? add_first(&p, pair) : add_child(&p, pair);
        rc = here(&p, pair, rc);
    }
    if (p.parents)
        vel_map_destroy(p.parents, NULL);
    vel_lexed_fini(&lexed);
    return rc;
}
