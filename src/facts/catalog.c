/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "facts/catalog.h"

struct item {
    char *text; /* of the line */
    bool is_disputed;
};

struct vel_catalog {
    struct vel_map *facts[VEL_FACT_KINDS]; /* struct item, by the text of a subject */
    size_t disputed;
};

static void item_free(void *item)
{
    free(((struct item *)item)->text);
    free(item);
}

struct vel_catalog *vel_catalog_create(void)
{
    struct vel_catalog *catalog = calloc(1, sizeof *catalog);

    for (int kind = 0; catalog && kind < VEL_FACT_KINDS; kind++) {
        catalog->facts[kind] = vel_map_create();
        if (!catalog->facts[kind]) {
            vel_catalog_destroy(catalog);
            return NULL;
        }
    }
    return catalog;
}

void vel_catalog_destroy(struct vel_catalog *catalog)
{
    if (!catalog)
        return;
    for (int kind = 0; kind < VEL_FACT_KINDS; kind++)
        vel_map_destroy(catalog->facts[kind], item_free);
    free(catalog);
}

size_t vel_catalog_disputed(const struct vel_catalog *catalog)
{
    return catalog->disputed;
}

/* --- fold --- */

/* Behind a subject of so many bytes, field by field: above 0 when `a` is greater. */
static int compare(enum vel_fact_kind kind, const char *a, const char *b,
                   size_t subject)
{
    struct vel_fields x = {a + subject, a + strlen(a)},
                      y = {b + subject, b + strlen(b)};
    const struct vel_fact_field *field;

    for (int i = vel_fact_row(kind)->subject; (field = vel_fact_field(kind, i)); i++) {
        struct vel_fields from_x = x, from_y = y;
        int64_t m, n;

        vel_fields_skip(&x);
        vel_fields_skip(&y);
        if (field->is_text)
            continue;
        m = vel_fields_int(&from_x);
        n = vel_fields_int(&from_y);
        if (m != n)
            return m > n ? 1 : -1;
    }
    return strcmp(a, b);
}

/* Two facts of one subject, the second of which may be the first once more. */
static bool is_second(struct vel_catalog *catalog, enum vel_fact_kind kind,
                      struct item *first, const char *second, size_t subject)
{
    int by = compare(kind, second, first->text, subject);

    if (vel_fact_row(kind)->fold == VEL_FACT_MOST)
        return by > 0;
    catalog->disputed += by != 0 && !first->is_disputed;
    first->is_disputed = first->is_disputed || by != 0;
    return by < 0;
}

static int add(struct vel_map *facts, const char *key, char *text, struct vel_err *err)
{
    struct item *item = calloc(1, sizeof *item);

    if (item && vel_map_set(facts, key, item, NULL) == 0) {
        item->text = text;
        return 0;
    }
    free(item);
    return vel_out_of_memory(err, "the catalog");
}

/* Takes `text`. */
static int keep(struct vel_catalog *catalog, enum vel_fact_kind kind, char *text,
                size_t subject, struct vel_err *err)
{
    char *key = strndup(text, subject), *over = text;
    struct item *item = key ? vel_map_get(catalog->facts[kind], key) : NULL;
    int rc = key ? 0 : vel_out_of_memory(err, "the catalog");

    if (rc == 0 && !item) {
        rc = add(catalog->facts[kind], key, text, err);
        over = rc == 0 ? NULL : text;
    } else if (rc == 0 && is_second(catalog, kind, item, text, subject)) {
        over = item->text;
        item->text = text;
    }
    free(over);
    free(key);
    return rc;
}

int vel_catalog_fold(struct vel_catalog *catalog, const struct vel_ledger_line *line,
                     struct vel_err *err)
{
    struct vel_fact fact;
    char *text;
    int rc = vel_fact_get(line, &fact, err);

    if (rc < 0)
        return rc;
    text = strndup(line->text, line->len);
    rc = text ? keep(catalog, fact.kind, text, vel_fact_subject_len(fact.kind, line),
                     err)
              : vel_out_of_memory(err, "the catalog");
    vel_fact_fini(&fact);
    return rc;
}

/* --- what is there --- */

size_t vel_catalog_count(const struct vel_catalog *catalog, enum vel_fact_kind kind)
{
    return vel_map_count(catalog->facts[kind]);
}

static int get(const char *text, struct vel_fact *ret, struct vel_err *err)
{
    return vel_fact_get(&(struct vel_ledger_line){text, strlen(text)}, ret, err);
}

int vel_catalog_at(const struct vel_catalog *catalog, enum vel_fact_kind kind, size_t i,
                   struct vel_fact *ret, struct vel_err *err)
{
    return get(((struct item *)vel_map_value(catalog->facts[kind], i))->text, ret, err);
}

int vel_catalog_find(const struct vel_catalog *catalog, const struct vel_fact *subject,
                     struct vel_fact *ret, struct vel_err *err)
{
    const struct item *item = NULL;
    struct vel_buf key;
    int rc;

    vel_buf_init(&key);
    rc = vel_fact_put_subject(subject, &key, err);
    if (rc == 0)
        item = vel_map_get(catalog->facts[subject->kind], key.data);
    vel_buf_fini(&key);
    if (rc < 0)
        return rc;
    return item ? get(item->text, ret, err)
                : vel_fail(err, VEL_ENOENT, "there is no such fact %s",
                           vel_fact_row(subject->kind)->name);
}

/* --- some of them --- */

int vel_catalog_keep(struct vel_catalog *catalog, enum vel_fact_kind kind,
                     vel_fact_wanted_f *is_wanted, void *arg, struct vel_err *err)
{
    struct vel_map *all = catalog->facts[kind], *kept = vel_map_create();
    int rc = kept ? 0 : vel_out_of_memory(err, "the catalog");

    for (size_t i = 0; rc == 0 && i < vel_map_count(all); i++) {
        struct item *item = vel_map_value(all, i);
        struct vel_fact fact;

        rc = get(item->text, &fact, err);
        if (rc < 0)
            break;
        if (is_wanted(arg, &fact) && vel_map_set(kept, vel_map_key(all, i), item, NULL))
            rc = vel_out_of_memory(err, "the catalog");
        vel_fact_fini(&fact);
    }
    for (size_t i = 0; rc == 0 && i < vel_map_count(all); i++)
        if (!vel_map_has(kept, vel_map_key(all, i)))
            item_free(vel_map_value(all, i));
    if (rc == 0)
        catalog->facts[kind] = kept;
    if (rc == 0 || kept)
        vel_map_destroy(rc == 0 ? all : kept, NULL);
    return rc;
}

int vel_catalog_copy(struct vel_catalog *catalog, const struct vel_catalog *from,
                     enum vel_fact_kind kind, struct vel_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < vel_map_count(from->facts[kind]); i++) {
        const char *text = ((struct item *)vel_map_value(from->facts[kind], i))->text;

        rc = vel_catalog_fold(catalog, &(struct vel_ledger_line){text, strlen(text)},
                              err);
    }
    return rc;
}

/* --- a dataset --- */

/* The number behind the id of a fact of this kind, 0: there is none; -1: there is no
 * such fact. */
static int64_t number_of(const struct vel_catalog *catalog, enum vel_fact_kind kind,
                         int64_t id)
{
    const struct item *item;
    struct vel_fields fields;
    char key[64];

    snprintf(key, sizeof key, "%s %" PRId64, vel_fact_row(kind)->name, id);
    item = vel_map_get(catalog->facts[kind], key);
    if (!item)
        return -1;
    fields =
        (struct vel_fields){item->text + strlen(key), item->text + strlen(item->text)};
    return vel_fields_int(&fields);
}

static bool is_encoded(const struct vel_catalog *catalog, int64_t id)
{
    int64_t attempt = number_of(catalog, VEL_FACT_ENCODE, id);
    const struct vel_fact encoded = {.kind = VEL_FACT_ENCODED,
                                     .u.encoded = {id, attempt}};
    struct vel_fact found;

    if (attempt < 1 || vel_catalog_find(catalog, &encoded, &found, NULL) < 0)
        return false;
    vel_fact_fini(&found);
    return true;
}

enum vel_how_far vel_catalog_dataset(const struct vel_catalog *catalog, int64_t id)
{
    static const struct {
        enum vel_fact_kind kind;
        enum vel_how_far how_far;
    } facts[] = {
        {VEL_FACT_DROPPED, VEL_IS_LOST},
        {VEL_FACT_REFUSED, VEL_IS_LOST},
        {VEL_FACT_SUPERSEDED, VEL_IS_SUPERSEDED},
        {VEL_FACT_PUBLISHED, VEL_IS_PUBLISHED},
        {VEL_FACT_STAGED, VEL_IS_STAGED},
        {VEL_FACT_FLUSH, VEL_IS_FLUSHING},
    };

    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (number_of(catalog, facts[i].kind, id) >= 0)
            return facts[i].how_far;
    if (is_encoded(catalog, id))
        return VEL_IS_ENCODED;
    return number_of(catalog, VEL_FACT_SEAL, id) >= 0 ? VEL_IS_SEALED : VEL_IS_OPEN;
}

int vel_catalog_put(const struct vel_catalog *catalog, struct vel_buf *ret,
                    struct vel_err *err)
{
    for (int kind = 0; kind < VEL_FACT_KINDS; kind++)
        for (size_t i = 0; i < vel_map_count(catalog->facts[kind]); i++) {
            vel_buf_puts(ret,
                         ((struct item *)vel_map_value(catalog->facts[kind], i))->text);
            vel_buf_putc(ret, '\n');
        }
    return vel_buf_status(ret, err);
}
