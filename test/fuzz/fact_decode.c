/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as the texts of lines of a ledger: none, or facts that are written again
 * byte for byte, a catalog that gives its facts back, and batches whose files are
 * inside. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/ranges.h"
#include "facts/catalog.h"
#include "fuzz/fuzz.h"
#include "view/batch.h"

/* Ranks are what they are written as. */
static void look_at_ranks(const char *text)
{
    struct vel_ranges ranks;
    struct vel_err err = {0};
    struct vel_buf again;

    if (vel_ranges_parse(text, INT32_MAX, &ranks, &err) < 0) {
        if (!err.text[0])
            abort();
        return;
    }
    vel_buf_init(&again);
    vel_ranges_put(&ranks, &again);
    if (strcmp(vel_buf_text(&again), text) != 0)
        abort();
    vel_buf_fini(&again);
    vel_ranges_fini(&ranks);
}

static void look_at(const struct vel_ledger_line *line, struct vel_catalog *catalog)
{
    struct vel_fact fact, found;
    struct vel_err err = {0};
    struct vel_buf again;

    if (vel_fact_get(line, &fact, &err) < 0) {
        if (!err.text[0])
            abort();
        return;
    }
    vel_buf_init(&again);
    if (vel_fact_put(&fact, &again, NULL) < 0 || again.len != line->len ||
        memcmp(again.data, line->text, line->len) != 0)
        abort();
    if (fact.kind == VEL_FACT_OWES)
        look_at_ranks(fact.u.owes.encode);
    if (vel_catalog_fold(catalog, line, NULL) < 0 ||
        vel_catalog_find(catalog, &fact, &found, NULL) < 0 || found.kind != fact.kind)
        abort();
    vel_fact_fini(&found);
    vel_fact_fini(&fact);
    vel_buf_fini(&again);
}

static void look_at_batches(const struct vel_catalog *catalog)
{
    struct vel_vec batches;
    struct vel_err err = {0};

    vel_vec_init(&batches, sizeof(struct vel_batch));
    if (vel_batches_fold(catalog, "/c", 0, &batches, &err) < 0 && !err.text[0])
        abort();
    for (size_t i = 0; i < batches.n; i++) {
        const struct vel_batch *batch = vel_vec_at(&batches, i);

        if (!batch->key.launch || !batch->key.template || !batch->key.step ||
            !vel_batch_is_dir(batch->dir))
            abort();
        for (size_t r = 0; r < batch->ranks.n; r++) {
            const struct vel_batch_rank *rank = vel_vec_at(&batch->ranks, r);

            for (size_t k = 0; k < rank->files.n; k++)
                if (!vel_path_is_inner(
                        ((struct vel_batch_file *)vel_vec_at(&rank->files, k))->name))
                    abort();
        }
    }
    vel_batch_list_fini(&batches);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct vel_catalog *catalog = vel_catalog_create();
    const char *at = (const char *)bytes, *end = at + len;
    struct vel_buf all;

    if (!catalog)
        return 0;
    while (at < end) {
        const char *feed = memchr(at, '\n', (size_t)(end - at));
        const char *behind = feed ? feed : end;

        look_at(&(struct vel_ledger_line){at, (size_t)(behind - at)}, catalog);
        at = behind + 1;
    }
    look_at_batches(catalog);
    vel_buf_init(&all);
    if (vel_catalog_put(catalog, &all, NULL) < 0)
        abort();
    vel_buf_fini(&all);
    vel_catalog_destroy(catalog);
    return 0;
}
