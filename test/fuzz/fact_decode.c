/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as the texts of lines of a ledger: none, or facts that are written again
 * byte for byte, and a catalog that gives its facts back. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "facts/catalog.h"
#include "fuzz/fuzz.h"

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
    if (vel_catalog_fold(catalog, line, NULL) < 0 ||
        vel_catalog_find(catalog, &fact, &found, NULL) < 0 || found.kind != fact.kind)
        abort();
    vel_fact_fini(&found);
    vel_fact_fini(&fact);
    vel_buf_fini(&again);
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
    for (int64_t id = 0; id < 20; id++)
        vel_catalog_dataset(catalog, id);
    vel_buf_init(&all);
    if (vel_catalog_put(catalog, &all, NULL) < 0)
        abort();
    vel_buf_fini(&all);
    vel_catalog_destroy(catalog);
    return 0;
}
