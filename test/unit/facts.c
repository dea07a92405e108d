/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts: each is read as it was written, and the same facts give the same catalog in
 * whatever order, and however often, they are folded. doc/facts.txt has the table. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap/rng.h"
#include "base/vec.h"
#include "facts/catalog.h"
#include "tap/files.h"
#include "tap/tap.h"

static struct vel_err err;
static struct vel_rng rng;

/* --- one fact --- */

static int64_t pick(int64_t least, int64_t most)
{
    uint64_t span = (uint64_t)most - (uint64_t)least;

    switch (vel_rng_below(&rng, 4)) {
    case 0:
        return least;
    case 1:
        return most;
    default:
        return (int64_t)((uint64_t)least + (span ? vel_rng_below(&rng, span) : 0));
    }
}

/* Any bytes but zeros, few of them. */
static char *pick_text(int64_t most)
{
    size_t len = (size_t)vel_rng_below(&rng, most < 12 ? (uint64_t)most + 1 : 12);
    char *text = calloc(1, len + 1);

    for (size_t i = 0; i < len; i++)
        text[i] = (char)(1 + vel_rng_below(&rng, 255));
    return text;
}

static struct vel_fact pick_fact(enum vel_fact_kind kind)
{
    struct vel_fact fact = {.kind = kind};
    const struct vel_fact_field *field;

    for (int i = 0; (field = vel_fact_field(kind, i)); i++) {
        void *at = (char *)&fact + field->at;

        if (field->is_text)
            *(char **)at = pick_text(field->most);
        else
            *(int64_t *)at = pick(field->least, field->most);
    }
    return fact;
}

static bool is_same(const struct vel_fact *a, const struct vel_fact *b)
{
    const struct vel_fact_field *field;
    bool is = a->kind == b->kind;

    for (int i = 0; is && (field = vel_fact_field(a->kind, i)); i++) {
        const void *x = (const char *)a + field->at, *y = (const char *)b + field->at;

        is = field->is_text ? strcmp(*(char *const *)x, *(char *const *)y) == 0
                            : *(const int64_t *)x == *(const int64_t *)y;
    }
    return is;
}

static bool comes_back(enum vel_fact_kind kind)
{
    struct vel_fact fact = pick_fact(kind), again;
    struct vel_buf text, subject;
    bool does = false;

    vel_buf_init(&text);
    vel_buf_init(&subject);
    if (vel_fact_put(&fact, &text, &err) == 0 &&
        vel_fact_put_subject(&fact, &subject, &err) == 0 &&
        vel_fact_get(&(struct vel_ledger_line){text.data, text.len}, &again, &err) ==
            0) {
        does = is_same(&fact, &again) &&
               vel_fact_subject_len(kind,
                                    &(struct vel_ledger_line){text.data, text.len}) ==
                   subject.len &&
               memcmp(text.data, subject.data, subject.len) == 0;
        vel_fact_fini(&again);
    }
    vel_fact_fini(&fact);
    vel_buf_fini(&text);
    vel_buf_fini(&subject);
    return does;
}

static int read_text(const char *text)
{
    struct vel_fact fact;
    int rc = vel_fact_get(&(struct vel_ledger_line){text, strlen(text)}, &fact, &err);

    if (rc == 0)
        vel_fact_fini(&fact);
    return rc;
}

static void coding(void)
{
    struct vel_fact fact = {.kind = VEL_FACT_GIVEN, .u.given = {.number = 5}};
    struct vel_buf text;
    int wrong = 0;

    for (int kind = 0; kind < VEL_FACT_KINDS; kind++)
        for (int i = 0; i < 50; i++)
            wrong += !comes_back((enum vel_fact_kind)kind);
    is_int(wrong, 0, "all facts are read as they were written");
    vel_buf_init(&text);
    is_int(vel_fact_put(&fact, &text, &err), VEL_EINVAL,
           "a field outside of its limits is not written: %s", err.text);
    vel_buf_fini(&text);
    ok(read_text("given 5 0 1 1 2 0") == 0 &&
           read_text("given 5 0 1 1 2") == VEL_ECORRUPT &&
           read_text("given 5 0 1 1 2 0 1") == VEL_ECORRUPT &&
           read_text("given 5 0 1 1 0 0") == VEL_ECORRUPT &&
           read_text("given 5 0 1 1 x 0") == VEL_ECORRUPT &&
           read_text("given") == VEL_ECORRUPT && read_text("") == VEL_ECORRUPT &&
           read_text("gives 5 0 1 1 2 0") == VEL_ECORRUPT,
       "what has other fields is no fact: %s", err.text);
    ok(read_text("doubt 5") == 0 && read_text("done 5 a%00b n") == VEL_ECORRUPT,
       "a text has no zero byte");
}

/* --- the catalog --- */

static void fold(struct vel_catalog *catalog, const char *text)
{
    if (vel_catalog_fold(catalog, &(struct vel_ledger_line){text, strlen(text)}, &err) <
        0)
        bail_out("%s", err.text);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All that it says, sorted: a new string. */
static char *all_of(const struct vel_catalog *catalog)
{
    struct vel_vec lines;
    struct vel_buf text, ret;

    vel_buf_init(&text);
    vel_buf_init(&ret);
    vel_vec_init(&lines, sizeof(char *));
    vel_catalog_put(catalog, &text, &err);
    for (char *at = text.data; at && *at;) {
        char *feed = strchr(at, '\n');

        *feed = '\0';
        vel_vec_push(&lines, &at);
        at = feed + 1;
    }
    vel_vec_sort(&lines, by_text);
    vel_buf_puts(&ret, "");
    for (size_t i = 0; i < lines.n; i++)
        vel_buf_printf(&ret, "%s\n", *(char **)vel_vec_at(&lines, i));
    vel_vec_fini(&lines);
    vel_buf_fini(&text);
    return vel_buf_take(&ret, NULL);
}

/* Facts of few subjects, so that many meet. */
static void pick_line(struct vel_buf *ret)
{
    enum vel_fact_kind kind = (enum vel_fact_kind)vel_rng_below(&rng, VEL_FACT_KINDS);
    struct vel_fact fact = {.kind = kind};
    const struct vel_fact_field *field;
    char text[2] = "a";

    text[0] = (char)('a' + vel_rng_below(&rng, 2));
    for (int i = 0; (field = vel_fact_field(kind, i)); i++) {
        void *at = (char *)&fact + field->at;

        if (field->is_text)
            *(char **)at = text;
        else
            *(int64_t *)at = field->most - (int64_t)vel_rng_below(&rng, 2);
    }
    vel_buf_clear(ret);
    if (vel_fact_put(&fact, ret, &err) < 0)
        bail_out("%s", err.text);
}

/* The same facts in another order, some of them twice, some by way of a begin. */
static bool folds_alike(void)
{
    enum { LINES = 60 };
    struct vel_catalog *a = vel_catalog_create(), *b = vel_catalog_create(),
                       *c = vel_catalog_create();
    struct vel_buf lines[LINES];
    char *x, *y, *z;

    for (int i = 0; i < LINES; i++) {
        vel_buf_init(&lines[i]);
        pick_line(&lines[i]);
        fold(a, lines[i].data);
    }
    for (int i = 0; i < 3 * LINES; i++)
        fold(b, lines[vel_rng_below(&rng, LINES)].data);
    x = all_of(b);
    for (char *at = x, *feed; (feed = strchr(at, '\n')); at = feed + 1) {
        *feed = '\0';
        fold(c, at);
    }
    for (int i = LINES; i-- > 0;) {
        fold(b, lines[i].data);
        fold(c, lines[i].data);
    }
    free(x);
    x = all_of(a);
    y = all_of(b);
    z = all_of(c);
    bool are = strcmp(x, y) == 0 && strcmp(x, z) == 0;
    for (int i = 0; i < LINES; i++)
        vel_buf_fini(&lines[i]);
    free(x);
    free(y);
    free(z);
    vel_catalog_destroy(a);
    vel_catalog_destroy(b);
    vel_catalog_destroy(c);
    return are;
}

static void folding(void)
{
    struct vel_catalog *catalog = vel_catalog_create();
    struct vel_fact want = {.kind = VEL_FACT_CLOSED, .u.closed = {1, 0, 1, 1, 0, 0}},
                    got;
    int wrong = 0;

    for (int i = 0; i < 300; i++)
        wrong += !folds_alike();
    is_int(wrong, 0, "the same facts give the same catalog, in any order");
    fold(catalog, "closed 1 0 1 1 10 7");
    fold(catalog, "closed 1 0 1 1 10 12");
    fold(catalog, "closed 1 0 1 1 9 16");
    fold(catalog, "closed 1 0 1 2 19 1");
    ok(vel_catalog_find(catalog, &want, &got, &err) == 0 && got.u.closed.size == 12,
       "of several the one that counts highest is there");
    want.u.closed.file = 9;
    is_int(vel_catalog_find(catalog, &want, &got, &err), VEL_ENOENT,
           "what nobody has said is not: %s", err.text);
    fold(catalog, "gone 1 0-3");
    fold(catalog, "gone 1 4");
    fold(catalog, "gone 1 4");
    is_int((long long)vel_catalog_count(catalog, VEL_FACT_GONE), 2,
           "of others each is there, once");
    ok(vel_catalog_at(catalog, VEL_FACT_GONE, 1, &got, &err) == 0 &&
           strcmp(got.u.gone.ids, "4") == 0,
       "one after the other");
    vel_fact_fini(&got);
    fold(catalog, "part 4 0 1 0 1 10");
    fold(catalog, "part 4 0 1 0 1 2");
    fold(catalog, "part 4 0 1 0 1 10");
    ok(vel_catalog_at(catalog, VEL_FACT_PART, 0, &got, &err) == 0 &&
           got.u.part.upto == 2,
       "of two that should be the same the lesser one counts");
    is_int(vel_catalog_fold(catalog, &(struct vel_ledger_line){"x 1", 3}, &err),
           VEL_ECORRUPT, "what is no fact is not folded: %s", err.text);
    vel_catalog_destroy(catalog);
}

/* --- the page --- */

static void put_row(enum vel_fact_kind kind, char synced, struct vel_buf *ret)
{
    static const char *const folds[] = {"once", "most", "each"};
    const struct vel_fact_row *row = vel_fact_row(kind);
    const struct vel_fact_field *field;

    vel_buf_clear(ret);
    vel_buf_printf(ret, "%-11s %s %c ", row->name, folds[row->fold], synced);
    for (int i = 0; (field = vel_fact_field(kind, i)); i++)
        vel_buf_printf(ret, "%s%s", i == row->subject ? " | " : " ", field->name);
    vel_buf_putc(ret, '\n');
}

static void page(void)
{
    const char *top = getenv("top_srcdir");
    struct vel_buf path, want;
    char *text;
    size_t missing = 0;

    vel_buf_init(&path);
    vel_buf_init(&want);
    vel_buf_printf(&path, "%s/doc/facts.txt", top ? top : ".");
    text = tap_get_file(path.data, NULL);
    for (int kind = 0; text && kind < VEL_FACT_KINDS; kind++) {
        bool is = false;

        for (const char *synced = "S "; !is && *synced; synced++) {
            put_row((enum vel_fact_kind)kind, *synced, &want);
            is = strstr(text, want.data);
        }
        if (is)
            continue;
        missing++;
        note("not on the page: %s", want.data);
    }
    ok(text && missing == 0, "doc/facts.txt has the table");
    free(text);
    vel_buf_fini(&path);
    vel_buf_fini(&want);
}

int main(void)
{
    vel_rng_init(&rng, 1);
    coding();
    folding();
    page();
    return done_testing();
}
