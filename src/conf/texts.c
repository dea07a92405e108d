/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/le.h"
#include "conf/texts.h"

void vel_conf_texts_init(struct vel_vec *texts)
{
    vel_vec_init(texts, sizeof(struct vel_conf_text));
}

static void text_fini(struct vel_conf_text *text)
{
    free(text->file);
    vel_buf_fini(&text->bytes);
}

void vel_conf_texts_fini(struct vel_vec *texts)
{
    struct vel_conf_text *t = texts->items;

    for (size_t i = 0; i < texts->n; i++)
        text_fini(&t[i]);
    vel_vec_fini(texts);
}

int vel_conf_texts_encode(const struct vel_vec *texts, struct vel_buf *ret,
                          struct vel_err *err)
{
    const struct vel_conf_text *t = texts->items;

    for (size_t i = 0; i < texts->n; i++) {
        uint8_t head[12];
        struct vel_le_writer w;
        size_t name = strlen(t[i].file);

        vel_le_write_init(&w, head, sizeof head);
        vel_le_put32(&w, (uint32_t)t[i].layer);
        vel_le_put32(&w, (uint32_t)name);
        vel_le_put32(&w, (uint32_t)t[i].bytes.len);
        vel_buf_append(ret, head, sizeof head);
        vel_buf_append(ret, t[i].file, name);
        vel_buf_append(ret, t[i].bytes.data, t[i].bytes.len);
    }
    return vel_buf_status(ret, err);
}

int vel_conf_texts_decode(const void *bytes, size_t len, struct vel_vec *texts,
                          struct vel_err *err)
{
    struct vel_le_reader r;

    vel_le_read_init(&r, bytes, len);
    while (r.left) {
        struct vel_conf_text text = {.layer = (enum vel_layer)vel_le_get32(&r)};
        uint32_t name_len = vel_le_get32(&r), text_len = vel_le_get32(&r);
        const char *name = vel_le_get_bytes(&r, name_len);
        const void *content = vel_le_get_bytes(&r, text_len);

        if (r.is_short || text.layer > VEL_LAYER_ENVIRONMENT)
            return vel_fail(err, VEL_ECORRUPT, "settings came cut short");
        vel_buf_init(&text.bytes);
        vel_buf_append(&text.bytes, content, text_len);
        text.file = strndup(name, name_len);
        if (vel_buf_status(&text.bytes, NULL) < 0 || !text.file ||
            !vel_vec_push(texts, &text)) {
            text_fini(&text);
            return vel_out_of_memory(err, "reading settings");
        }
    }
    return 0;
}
