/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <string.h>

#include "conf/file.h"
#include "conf/lines.h"

/* A token whose every byte means itself to the lexer. */
static void put_token(struct vel_buf *text, const char *token)
{
    for (; *token; token++) {
        if (*token == '\n' || *token == '\t') {
            vel_buf_puts(text, *token == '\n' ? "\\n" : "\\t");
            continue;
        }
        if (strchr(" \r=$\\#", *token))
            vel_buf_putc(text, '\\');
        vel_buf_putc(text, *token);
    }
}

static void put_pair(struct vel_buf *text, const char *key, const char *value)
{
    put_token(text, key);
    vel_buf_putc(text, '=');
    put_token(text, value);
}

void vel_conf_line_text(const struct vel_line *line, struct vel_buf *text)
{
    const struct vel_parent_info info = vel_schema_parent(line->parent);
    struct vel_buf value;

    vel_buf_init(&value);
    put_pair(text, info.key, line->name);
    for (size_t i = 0; i < info.n; i++) {
        if (!(line->given >> i & 1))
            continue;
        vel_field_text(&info.children[i], line->data, &value);
        vel_buf_putc(text, ' ');
        put_pair(text, info.children[i].key, vel_buf_text(&value));
    }
    if (line->parent == VEL_GROUPS) {
        const struct vel_groups_line *groups = line->data;

        for (size_t i = 0; i < groups->pairs.n; i++) {
            const struct vel_group_pair *pair = vel_vec_at(&groups->pairs, i);

            vel_buf_putc(text, ' ');
            put_pair(text, pair->name, pair->value);
        }
    }
    if (value.failed)
        text->failed = true;
    vel_buf_fini(&value);
}

void vel_conf_lines_text(const struct vel_conf *conf, struct vel_buf *text)
{
    for (size_t i = 0; i < conf->lines.n; i++) {
        vel_conf_line_text(vel_vec_at(&conf->lines, i), text);
        vel_buf_putc(text, '\n');
    }
}

int vel_conf_lines_take(struct vel_conf *conf, const char *from, const char *text,
                        struct vel_err *err)
{
    int rc =
        vel_conf_parse(conf, VEL_LAYER_USER, from, text, strlen(text), NULL, NULL, err);

    return rc < 0 ? rc : vel_conf_finish(conf, err);
}
