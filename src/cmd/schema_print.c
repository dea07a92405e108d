/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "cmd/schema_print.h"

static const char *const layer_names[] = {
    [VEL_LAYER_DEFAULT] = "default",         [VEL_LAYER_SYSTEM] = "system",
    [VEL_LAYER_PROGRAM] = "program",         [VEL_LAYER_USER] = "user",
    [VEL_LAYER_ENVIRONMENT] = "environment",
};

/* For the table, and for the manual. */
static const char *const whom_names[] = {
    [VEL_WHOM_ALL] = "all",
    [VEL_WHOM_VELOC] = "VELOC",
    [VEL_WHOM_HDF5] = "HDF5",
    [VEL_WHOM_NOBODY] = "nobody",
};
static const char *const whom_texts[] = {
    [VEL_WHOM_ALL] = "For all",
    [VEL_WHOM_VELOC] = "For VELOC programs",
    [VEL_WHOM_HDF5] = "For HDF5 files",
    [VEL_WHOM_NOBODY] = "For nobody: not yet in force",
};

static void print_source(const struct vel_source *source, struct vel_buf *to)
{
    vel_buf_clear(to);
    if (source->layer == VEL_LAYER_ENVIRONMENT)
        vel_buf_printf(to, "environment %s", source->where);
    else if (source->where && source->line)
        vel_buf_printf(to, "%s:%d", source->where, source->line);
    else if (source->where) /* it means so without saying it */
        vel_buf_puts(to, source->where);
    else
        vel_buf_puts(to, layer_names[source->layer]);
}

/* A line shows what it has by default, too; but that of a host has no MTBF. */
static void value_of(const struct vel_line *line, const struct vel_field *field,
                     struct vel_buf *ret)
{
    vel_buf_clear(ret);
    if (line->parent != VEL_GROUPS || vel_conf_gives(line, field->key))
        vel_field_text(field, line->data, ret);
}

static void print_line(const struct vel_line *line, struct vel_buf *text)
{
    const struct vel_parent_info info = vel_schema_parent(line->parent);

    printf("%s=%s", info.key, line->name);
    for (size_t i = 0; i < info.n; i++) {
        value_of(line, &info.children[i], text);
        if (text->len)
            printf(" %s=%s", info.children[i].key, vel_buf_text(text));
    }
    if (line->parent == VEL_GROUPS) {
        const struct vel_groups_line *groups = line->data;

        for (size_t i = 0; i < groups->pairs.n; i++) {
            const struct vel_group_pair *pair = vel_vec_at(&groups->pairs, i);
            printf(" %s=%s", pair->name, pair->value);
        }
    }
    print_source(&line->source, text);
    printf("  (%s)\n", vel_buf_text(text));
}

void vel_schema_print(const struct vel_conf *conf)
{
    struct vel_buf text;

    vel_buf_init(&text);
    printf("%-20s %-12s %-24s %-6s %s\n", "SETTING", "VALUE", "FROM", "FOR", "MEANING");
    for (size_t i = 0; i < vel_schema_count(); i++) {
        const struct vel_field *field = vel_schema_setting(i);

        print_source(&conf->sources[i], &text);
        printf("%-20s %-12s %-24s %-6s %s\n", field->key,
               conf->texts[i][0] ? conf->texts[i] : "-", vel_buf_text(&text),
               whom_names[field->whom], field->doc);
    }
    if (conf->lines.n)
        printf("\nLINES%s\n",
               vel_conf_has_levels(conf) || !vel_conf_line(conf, VEL_CKPT, 0)
                   ? ""
                   : " (CKPT lines are not used: COPY_TYPE names a scheme)");
    for (size_t i = 0; i < conf->lines.n; i++)
        print_line(vel_vec_at(&conf->lines, i), &text);
    if (conf->unused.n)
        printf("\nREAD, BUT NOT USED HERE\n");
    for (size_t i = 0; i < conf->unused.n; i++) {
        const struct vel_unused *unused = vel_vec_at(&conf->unused, i);

        print_source(&unused->source, &text);
        printf("%s=%s  (%s): %s\n", unused->key, unused->value, vel_buf_text(&text),
               unused->why);
    }
    vel_buf_fini(&text);
}

static json_t *json_source(const struct vel_source *source)
{
    json_t *json = json_pack("{s:s}", "layer", layer_names[source->layer]);

    if (source->where)
        json_object_set_new(json, "where", json_string(source->where));
    if (source->line)
        json_object_set_new(json, "line", json_integer(source->line));
    return json;
}

static json_t *json_settings(const struct vel_conf *conf)
{
    json_t *all = json_array();

    for (size_t i = 0; i < vel_schema_count(); i++) {
        const struct vel_field *field = vel_schema_setting(i);

        json_array_append_new(
            all, json_pack("{s:s, s:s, s:o, s:s, s:s, s:s}", "key", field->key, "value",
                           conf->texts[i], "source", json_source(&conf->sources[i]),
                           "default", field->def, "for", whom_names[field->whom], "doc",
                           field->doc));
    }
    return all;
}

static json_t *json_line(const struct vel_line *line)
{
    const struct vel_parent_info info = vel_schema_parent(line->parent);
    json_t *keys = json_object();
    struct vel_buf text;

    vel_buf_init(&text);
    for (size_t i = 0; i < info.n; i++) {
        value_of(line, &info.children[i], &text);
        if (text.len)
            json_object_set_new(keys, info.children[i].key,
                                json_string(vel_buf_text(&text)));
    }
    if (line->parent == VEL_GROUPS) {
        const struct vel_groups_line *groups = line->data;

        for (size_t i = 0; i < groups->pairs.n; i++) {
            const struct vel_group_pair *pair = vel_vec_at(&groups->pairs, i);
            json_object_set_new(keys, pair->name, json_string(pair->value));
        }
    }
    vel_buf_fini(&text);
    return json_pack("{s:s, s:s, s:o, s:o}", "parent", info.key, "name", line->name,
                     "keys", keys, "source", json_source(&line->source));
}

json_t *vel_schema_json(const struct vel_conf *conf)
{
    json_t *lines = json_array(), *unused = json_array();

    for (size_t i = 0; i < conf->lines.n; i++)
        json_array_append_new(lines, json_line(vel_vec_at(&conf->lines, i)));
    for (size_t i = 0; i < conf->unused.n; i++) {
        const struct vel_unused *u = vel_vec_at(&conf->unused, i);

        json_array_append_new(unused, json_pack("{s:s, s:s, s:s, s:o}", "key", u->key,
                                                "value", u->value, "why", u->why,
                                                "source", json_source(&u->source)));
    }
    return json_pack("{s:o, s:o, s:o}", "settings", json_settings(conf), "lines", lines,
                     "unused", unused);
}

/* --- the manual
 * ------------------------------------------------------------------------------ */

/* text as roff prints it: a leading dot or quote, a backslash and a hyphen need care */
static void roff(const char *text)
{
    if (text[0] == '.' || text[0] == '\'')
        printf("\\&");
    for (; *text; text++)
        if (*text == '\\')
            printf("\\e");
        else if (*text == '-')
            printf("\\-");
        else
            putchar(*text);
}

static void man_field(const struct vel_field *field)
{
    char expects[256];

    vel_field_expects(field, expects, sizeof expects);
    printf(".TP\n.B ");
    roff(field->key);
    printf("\n");
    roff(field->doc);
    printf(".\n.br\n%s: ", whom_texts[field->whom]);
    roff(expects);
    if (field->def[0]) {
        printf("; default ");
        roff(field->def);
    }
    printf(".\n");
}

static void man_name(void *arg, const char *name)
{
    int *count = arg;

    printf("%s", (*count)++ ? ", " : "Also: ");
    roff(name);
}

static void man_lines(enum vel_parent parent)
{
    const struct vel_parent_info info = vel_schema_parent(parent);
    int names = 0;

    if (info.n == 0)
        return;
    printf(".SS Keys on a line that begins with %s=\n", info.key);
    vel_schema_each_line_name(parent, man_name, &names);
    if (names)
        printf(".\n");
    for (size_t i = 0; i < info.n; i++) {
        man_field(&info.children[i]);
        names = 0;
        vel_schema_each_child_name(parent, info.children[i].key, man_name, &names);
        if (names)
            printf(".\n");
    }
}

/* As users write it: SCR_ is in front of SCR's. */
static void man_ignored_name(const struct vel_ignored *row)
{
    bool is_child = row->parent != VEL_NO_PARENT;
    bool is_setting =
        !is_child && (row->kind == VEL_IGNORED_KEY || row->kind == VEL_IGNORED_SECRET);

    printf("%s%s%s", is_setting ? "SCR_" : "",
           is_child ? vel_schema_parent(row->parent).key : "", is_child ? " " : "");
    printf("%s%s%s", row->name, row->value ? "=" : "", row->value ? row->value : "");
    if (row->kind == VEL_IGNORED_LINE)
        printf("= and all of its line");
}

/* Those in a row that have one reason are one paragraph. */
static void man_ignored(void)
{
    const struct vel_ignored *row, *next;
    bool is_first = true;

    printf(".SS Keys without meaning here\n"
           "A key that only SCR or VELOC had is accepted, and changes nothing:\n");
    for (size_t i = 0; (row = vel_schema_ignored(i)); i++) {
        printf("%s", is_first ? ".TP\n.B " : ", ");
        man_ignored_name(row);
        next = vel_schema_ignored(i + 1);
        is_first = !next || strcmp(next->why, row->why) != 0;
        if (!is_first)
            continue;
        printf("\n");
        roff(row->why);
        printf(".\n");
    }
}

void vel_schema_print_man(void)
{
    for (size_t i = 0; i < vel_schema_count(); i++) {
        int names = 0;

        man_field(vel_schema_setting(i));
        vel_schema_each_name(i, man_name, &names);
        if (names)
            printf(".\n");
    }
    for (int p = 0; p < VEL_PARENTS; p++)
        man_lines((enum vel_parent)p);
    man_ignored();
}
