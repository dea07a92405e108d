/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/le.h"
#include "conf/texts.h"
#include "tap/tap.h"

static void add(struct vel_vec *texts, enum vel_layer layer, const char *file,
                const char *bytes, size_t len)
{
    struct vel_conf_text text = {.layer = layer, .file = strdup(file)};

    vel_buf_init(&text.bytes);
    vel_buf_append(&text.bytes, bytes, len);
    if (!text.file || !vel_vec_push(texts, &text))
        bail_out("out of memory");
}

/* Decode exactly these bytes, so that a sanitizer sees a read behind them. */
static int decode(const void *bytes, size_t len, struct vel_vec *texts,
                  struct vel_err *err)
{
    void *exact = malloc(len + !len);
    int rc;

    if (!exact)
        bail_out("out of memory");
    memcpy(exact, bytes, len);
    vel_conf_texts_init(texts);
    rc = vel_conf_texts_decode(exact, len, texts, err);
    free(exact);
    return rc;
}

static void both_ways(struct vel_buf *bytes)
{
    struct vel_vec texts, back;
    struct vel_err err = {0};
    const struct vel_conf_text *t;

    vel_conf_texts_init(&texts);
    is_int(vel_conf_texts_encode(&texts, bytes, &err), 0, "no files");
    is_int((long long)bytes->len, 0, "are no bytes");
    is_int(decode("", 0, &back, &err), 0, "and no bytes are no files");
    vel_conf_texts_fini(&back);
    add(&texts, VEL_LAYER_SYSTEM, "/etc/\xff", "COUNT=2\n\0x", 10);
    add(&texts, VEL_LAYER_USER, "/p/.velocconf", "", 0);
    vel_conf_texts_encode(&texts, bytes, &err);
    is_int(decode(bytes->data, bytes->len, &back, &err), 0, "files come as bytes");
    t = back.items;
    ok(back.n == 2 && t[0].layer == VEL_LAYER_SYSTEM &&
           strcmp(t[0].file, "/etc/\xff") == 0 && t[0].bytes.len == 10 &&
           memcmp(t[0].bytes.data, "COUNT=2\n\0x", 10) == 0,
       "with layer, name and content, whatever is in it");
    ok(back.n == 2 && t[1].layer == VEL_LAYER_USER && t[1].bytes.len == 0 &&
           strcmp(t[1].file, "/p/.velocconf") == 0,
       "and an empty one is one, too");
    vel_conf_texts_fini(&back);
    vel_conf_texts_fini(&texts);
}

static void hostile(const struct vel_buf *bytes)
{
    static const uint32_t heads[][3] = {
        {VEL_LAYER_USER, 0xffffffff, 0},
        {VEL_LAYER_USER, 0, 0xffffffff},
        {VEL_LAYER_USER, 0xffffffff, 0xffffffff},
        {VEL_LAYER_USER, 4, 5},
        {VEL_LAYER_USER, 9, 0},
        {VEL_LAYER_ENVIRONMENT + 1, 4, 4},
        {0xffffffff, 4, 4},
    };
    size_t whole = 12 + 6 + 10; /* where the first file ends */
    int believed = 0;

    for (size_t i = 1; i < bytes->len; i++) {
        struct vel_err err = {0};
        struct vel_vec texts;

        believed += decode(bytes->data, i, &texts, &err) == 0 && i != whole;
        vel_conf_texts_fini(&texts);
    }
    is_int(believed, 0, "what was cut short is refused, wherever");
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        uint8_t message[12 + 8] = {0};
        struct vel_le_writer w;
        struct vel_err err = {0};
        struct vel_vec texts;

        vel_le_write_init(&w, message, sizeof message);
        for (size_t k = 0; k < 3; k++)
            vel_le_put32(&w, heads[i][k]);
        is_int(decode(message, sizeof message, &texts, &err), VEL_ECORRUPT,
               "layer %u, a name of %u bytes and a content of %u are refused",
               heads[i][0], heads[i][1], heads[i][2]);
        vel_conf_texts_fini(&texts);
    }
}

int main(void)
{
    struct vel_buf bytes;

    vel_buf_init(&bytes);
    both_ways(&bytes);
    hostile(&bytes);
    vel_buf_fini(&bytes);
    return done_testing();
}
