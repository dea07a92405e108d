/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "facts/catalog.h"

struct vel_catalog {
    struct vel_map *facts[VEL_FACT_KINDS]; /* texts of lines, by that of a subject */
};

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
        vel_map_destroy(catalog->facts[kind], free);
    free(catalog);
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

/* Of two facts of one subject, does the second count? */
static bool is_second(enum vel_fact_kind kind, const char *first, const char *second,
                      size_t subject)
{
    int by = compare(kind, second, first, subject);

    return vel_fact_row(kind)->fold == VEL_FACT_MOST ? by > 0 : by < 0;
}

/* Takes `text`. */
static int keep(struct vel_catalog *catalog, enum vel_fact_kind kind, char *text,
                size_t subject, struct vel_err *err)
{
    struct vel_map *facts = catalog->facts[kind];
    char *key = strndup(text, subject);
    void *first = key ? vel_map_get(facts, key) : NULL, *over = text;
    int rc = 0;

    if (!key || ((!first || is_second(kind, first, text, subject)) &&
                 vel_map_set(facts, key, text, &over) < 0))
        rc = vel_out_of_memory(err, "the catalog");
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
    return get(vel_map_value(catalog->facts[kind], i), ret, err);
}

int vel_catalog_find(const struct vel_catalog *catalog, const struct vel_fact *subject,
                     struct vel_fact *ret, struct vel_err *err)
{
    const char *text = NULL;
    struct vel_buf key;
    int rc;

    vel_buf_init(&key);
    rc = vel_fact_put_subject(subject, &key, err);
    if (rc == 0)
        text = vel_map_get(catalog->facts[subject->kind], key.data);
    vel_buf_fini(&key);
    if (rc < 0)
        return rc;
    return text ? get(text, ret, err)
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
        char *text = vel_map_value(all, i);
        struct vel_fact fact;

        rc = get(text, &fact, err);
        if (rc < 0)
            break;
        if (is_wanted(arg, &fact) && vel_map_set(kept, vel_map_key(all, i), text, NULL))
            rc = vel_out_of_memory(err, "the catalog");
        vel_fact_fini(&fact);
    }
    for (size_t i = 0; rc == 0 && i < vel_map_count(all); i++)
        if (!vel_map_has(kept, vel_map_key(all, i)))
            free(vel_map_value(all, i));
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
        const char *text = vel_map_value(from->facts[kind], i);

        rc = vel_catalog_fold(catalog, &(struct vel_ledger_line){text, strlen(text)},
                              err);
    }
    return rc;
}

int vel_catalog_put(const struct vel_catalog *catalog, struct vel_buf *ret,
                    struct vel_err *err)
{
    for (int kind = 0; kind < VEL_FACT_KINDS; kind++)
        for (size_t i = 0; i < vel_map_count(catalog->facts[kind]); i++) {
            vel_buf_puts(ret, vel_map_value(catalog->facts[kind], i));
            vel_buf_putc(ret, '\n');
        }
    return vel_buf_status(ret, err);
}
