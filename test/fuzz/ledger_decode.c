/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as ledger 3.1: an error, or a title that is written again byte for byte and
 * facts that lie in the bytes; their fields are read or refused, never a crash. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "ledger/ledger_in.h"

static void look_at_fact(const struct vel_ledger_text *text,
                         const struct vel_ledger_fact *fact)
{
    const struct vel_buf *bytes = vel_vec_at(&text->bytes, 0);
    struct vel_fields fields = {fact->line.text, fact->line.text + fact->line.len};
    struct vel_buf field;

    if (fact->line.text < bytes->data ||
        fact->line.text + fact->line.len >= bytes->data + bytes->len)
        abort();
    vel_buf_init(&field);
    for (bool is_int = true; vel_fields_have(&fields); is_int = !is_int)
        if (is_int)
            vel_fields_int(&fields);
        else
            vel_fields_text(&fields, &field);
    vel_buf_fini(&field);
}

static void look_at(const struct vel_ledger_text *text, const uint8_t *bytes,
                    size_t len)
{
    struct vel_buf title;

    vel_buf_init(&title);
    vel_title_put(&title, text);
    if (len < VEL_LINE_MORE + title.len ||
        memcmp(bytes + VEL_LINE_MORE, title.data, title.len) != 0)
        abort();
    vel_buf_fini(&title);
    if (!text->has_begin && (text->facts.n > 0 || text->from.n > 0))
        abort();
    for (size_t i = 1; i < text->from.n; i++)
        if (((struct vel_ledger_from *)vel_vec_at(&text->from, i))->launch <=
            ((struct vel_ledger_from *)vel_vec_at(&text->from, i - 1))->launch)
            abort();
    for (size_t i = 0; i < text->facts.n; i++)
        look_at_fact(text, vel_vec_at(&text->facts, i));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    const struct vel_ledger_dir dir = {vel_fs_posix(), "/nowhere", false, true};
    struct vel_ledger_text text;
    struct vel_err err = {0};
    struct vel_buf buf;

    vel_buf_init(&buf);
    vel_buf_append(&buf, bytes, len);
    if (vel_ledger_decode(&dir, (struct vel_ledger_name){3, 1}, &buf, &text, &err) ==
        0) {
        if (text.node)
            look_at(&text, bytes, len);
        vel_ledger_text_fini(&text);
    } else if (!err.text[0]) {
        abort();
    }
    vel_buf_fini(&buf);
    return 0;
}
