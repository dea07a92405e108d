/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "conf/file.h"
#include "conf/lines.h"
#include "conf/shared.h"

/* --- do they differ? --- */

static bool is_shared(const struct vel_field *field)
{
    return !vel_schema_is_own(field) &&
           (field->whom == VEL_WHOM_ALL || field->whom == VEL_WHOM_HDF5);
}

/* What the field means, however it was written. */
static bool is_same_value(const struct vel_field *field, const void *a, const void *b)
{
    struct vel_buf of_a, of_b;
    bool is;

    vel_buf_init(&of_a);
    vel_buf_init(&of_b);
    vel_field_text(field, a, &of_a);
    vel_field_text(field, b, &of_b);
    is = strcmp(vel_buf_text(&of_a), vel_buf_text(&of_b)) == 0;
    vel_buf_fini(&of_a);
    vel_buf_fini(&of_b);
    return is;
}

static bool are_same_groups(const struct vel_groups_line *a,
                            const struct vel_groups_line *b)
{
    bool are = a->pairs.n == b->pairs.n;

    for (size_t i = 0; are && i < a->pairs.n; i++) {
        const struct vel_group_pair *of_a = vel_vec_at(&a->pairs, i),
                                    *of_b = vel_vec_at(&b->pairs, i);

        are = strcmp(of_a->name, of_b->name) == 0 &&
              strcmp(of_a->value, of_b->value) == 0;
    }
    return are;
}

/* The name of a store is a path. */
static bool is_same_line(const struct vel_line *a, const struct vel_line *b)
{
    const struct vel_parent_info info = vel_schema_parent(a->parent);
    bool is = a->parent == VEL_STORE || strcmp(a->name, b->name) == 0;

    for (size_t i = 0; is && i < info.n; i++)
        is = !is_shared(&info.children[i]) ||
             is_same_value(&info.children[i], a->data, b->data);
    return is && (a->parent != VEL_GROUPS || are_same_groups(a->data, b->data));
}

static void show_line(const struct vel_line *line, enum vel_parent parent,
                      struct vel_buf *ret)
{
    if (line)
        vel_conf_line_text(line, ret);
    else
        vel_buf_printf(ret, "no %s line", vel_schema_parent(parent).key);
}

static bool lines_differ(const struct vel_conf *a, const struct vel_conf *b,
                         enum vel_parent parent, struct vel_buf *of_a,
                         struct vel_buf *of_b)
{
    for (size_t i = 0;; i++) {
        const struct vel_line *line_a = vel_conf_line(a, parent, i),
                              *line_b = vel_conf_line(b, parent, i);

        if (!line_a && !line_b)
            return false;
        if (line_a && line_b && is_same_line(line_a, line_b))
            continue;
        show_line(line_a, parent, of_a);
        show_line(line_b, parent, of_b);
        return true;
    }
}

static bool settings_differ(const struct vel_conf *a, const struct vel_conf *b,
                            struct vel_buf *of_a, struct vel_buf *of_b)
{
    for (size_t i = 0; i < vel_schema_count(); i++) {
        const struct vel_field *field = vel_schema_setting(i);

        if (!is_shared(field) || is_same_value(field, a, b))
            continue;
        vel_buf_printf(of_a, "%s=%s", field->key, a->texts[i]);
        vel_buf_printf(of_b, "%s=%s", field->key, b->texts[i]);
        return true;
    }
    return false;
}

bool vel_conf_differ(const struct vel_conf *a, const struct vel_conf *b,
                     struct vel_buf *of_a, struct vel_buf *of_b)
{
    return lines_differ(a, b, VEL_DATASET, of_a, of_b) ||
           settings_differ(a, b, of_a, of_b) ||
           lines_differ(a, b, VEL_CKPT, of_a, of_b) ||
           lines_differ(a, b, VEL_STORE, of_a, of_b) ||
           lines_differ(a, b, VEL_GROUPS, of_a, of_b);
}

/* --- what the first one has --- */

static int copy_setting(const struct vel_conf *from, size_t i, const char *where,
                        struct vel_conf *to, struct vel_err *err)
{
    struct vel_source source = from->sources[i];

    if (source.layer == VEL_LAYER_DEFAULT)
        return 0;
    if (where)
        source = (struct vel_source){.layer = source.layer, .where = where};
    if (source.where && !(source.where = vel_conf_name(to, source.where)))
        return vel_out_of_memory(err, "copying settings");
    return vel_conf_set(to, i, from->texts[i], &source, err);
}

/* Behind all others; it stands where it stood. */
static int copy_line(const struct vel_line *line, const char *where,
                     struct vel_conf *to, struct vel_err *err)
{
    struct vel_source source = line->source;
    struct vel_buf text;
    int rc;

    vel_buf_init(&text);
    vel_conf_line_text(line, &text);
    rc = vel_buf_status(&text, err);
    if (rc == 0)
        rc = vel_conf_parse(to, VEL_LAYER_USER, where ? where : "settings",
                            vel_buf_text(&text), text.len, NULL, NULL, err);
    vel_buf_fini(&text);
    if (rc < 0)
        return rc;
    source.where = vel_conf_name(to, where ? where : source.where);
    ((struct vel_line *)vel_vec_at(&to->lines, to->lines.n - 1))->source = source;
    return source.where ? 0 : vel_out_of_memory(err, "copying settings");
}

/* Kinds of lines, a bit each. */
enum { DATASETS = 1u << VEL_DATASET, STORES = 1u << VEL_STORE | 1u << VEL_CKPT };

static int copy_lines(const struct vel_conf *from, unsigned kinds, const char *where,
                      struct vel_conf *to, struct vel_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < from->lines.n; i++) {
        const struct vel_line *line = vel_vec_at(&from->lines, i);

        if (kinds & 1u << line->parent)
            rc = copy_line(line, where, to, err);
    }
    return rc;
}

static int finish(int rc, struct vel_conf *conf, struct vel_conf **ret,
                  struct vel_err *err)
{
    if (rc == 0)
        rc = vel_conf_finish(conf, err);
    if (rc == 0)
        *ret = conf;
    else
        vel_conf_destroy(conf);
    return rc;
}

int vel_conf_share(const struct vel_conf *own, const struct vel_conf *first,
                   const char *where, struct vel_conf **ret, struct vel_err *err)
{
    struct vel_meaning unlisted;
    struct vel_conf *conf = NULL;
    int rc = vel_conf_create(&conf, err);

    vel_schema_find("UNLISTED", VEL_SPELL_FILE, &unlisted);
    for (size_t i = 0; rc == 0 && i < vel_schema_count(); i++)
        rc = i == unlisted.setting ? copy_setting(first, i, where, conf, err)
                                   : copy_setting(own, i, NULL, conf, err);
    if (rc == 0)
        rc = copy_lines(own, ~DATASETS, NULL, conf, err);
    if (rc == 0)
        rc = copy_lines(first, DATASETS, where, conf, err);
    return finish(rc, conf, ret, err);
}

/* Is that a directory of this node alone? Nodes are called by more than their name. */
static bool has_name_of(const char *dir, const char *node)
{
    char *name = strndup(node, strcspn(node, "."));
    bool has = name && strstr(dir, name);

    free(name);
    return has;
}

/* Has a store of it such a directory? */
static bool has_line_of(const struct vel_conf *conf, const char *node)
{
    const struct vel_line *line;
    bool has = false;

    for (size_t i = 0; !has && (line = vel_conf_line(conf, VEL_STORE, i)) != NULL; i++)
        has = has_name_of(line->name, node);
    return has;
}

int vel_conf_on_node(const struct vel_conf *first, const char *node,
                     const struct vel_conf *own, struct vel_conf **ret,
                     struct vel_err *err)
{
    struct vel_meaning base;
    struct vel_buf of_first, of_own;
    struct vel_conf *conf = NULL;
    int rc = vel_conf_create(&conf, err);
    bool are_same;

    vel_buf_init(&of_first);
    vel_buf_init(&of_own);
    are_same = has_line_of(first, node) &&
               !lines_differ(first, own, VEL_STORE, &of_first, &of_own) &&
               !lines_differ(first, own, VEL_CKPT, &of_first, &of_own);
    vel_buf_fini(&of_first);
    vel_buf_fini(&of_own);
    vel_schema_find("CACHE_BASE", VEL_SPELL_FILE, &base);
    for (size_t i = 0; rc == 0 && i < vel_schema_count(); i++)
        if (i != base.setting || own->sources[i].layer == VEL_LAYER_DEFAULT ||
            !has_name_of(first->cache_base, node))
            rc = copy_setting(first, i, NULL, conf, err);
        else
            rc = copy_setting(own, i, NULL, conf, err);
    if (rc == 0)
        rc = copy_lines(first, ~STORES, NULL, conf, err);
    if (rc == 0)
        rc = copy_lines(are_same ? own : first, STORES, NULL, conf, err);
    return finish(rc, conf, ret, err);
}
