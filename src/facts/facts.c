/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "facts/facts.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

static const struct vel_fact_row rows[] = {
#define FACT(NAME, name, FOLD, subject) {#name, VEL_FACT_##FOLD, subject},
#include "facts/facts.def"
};

/* what the rows of fields call a fact */
enum {
#define FACT(NAME, name, FOLD, subject) kind_##name = VEL_FACT_##NAME,
#include "facts/facts.def"
};

static const struct vel_fact_field fields[] = {
#define FIELD(name, field, is_text, least, most)                                       \
    {(enum vel_fact_kind)kind_##name,        #field, is_text, least, most,             \
     offsetof(struct vel_fact, u.name.field)},
#define NUMBER(name, field, least, most) FIELD(name, field, false, least, most)
#define TEXT(name, field, most) FIELD(name, field, true, 0, most)
#include "facts/facts.def"
#undef FIELD
};

const struct vel_fact_row *vel_fact_row(enum vel_fact_kind kind)
{
    return &rows[kind];
}

const struct vel_fact_field *vel_fact_field(enum vel_fact_kind kind, int i)
{
    for (size_t k = 0; k < COUNT_OF(fields); k++)
        if (fields[k].kind == kind && i-- == 0)
            return &fields[k];
    return NULL;
}

/* --- to write --- */

static int put_field(const struct vel_fact *fact, const struct vel_fact_field *field,
                     struct vel_buf *ret, struct vel_err *err)
{
    const void *at = (const char *)fact + field->at;
    const char *text;
    int64_t number;

    if (field->is_text) {
        text = *(char *const *)at;
        number = text ? (int64_t)strlen(text) : 0;
    } else {
        number = *(const int64_t *)at;
    }
    if (number < field->least || number > field->most)
        return vel_fail(
            err, VEL_EINVAL,
            "fact %s: %s is %" PRId64 ", not between %" PRId64 " and %" PRId64,
            rows[fact->kind].name, field->name, number, field->least, field->most);
    if (field->is_text)
        vel_line_put_text(ret, text, (size_t)number);
    else
        vel_line_put_int(ret, number);
    return 0;
}

static int put_fields(const struct vel_fact *fact, int most, struct vel_buf *ret,
                      struct vel_err *err)
{
    const struct vel_fact_field *field = vel_fact_field(fact->kind, 0);
    int rc = 0;

    vel_buf_puts(ret, rows[fact->kind].name);
    for (; rc == 0 && most-- > 0 && field < fields + COUNT_OF(fields) &&
           field->kind == fact->kind;
         field++)
        rc = put_field(fact, field, ret, err);
    return rc < 0 ? rc : vel_buf_status(ret, err);
}

int vel_fact_put(const struct vel_fact *fact, struct vel_buf *ret, struct vel_err *err)
{
    return put_fields(fact, INT32_MAX, ret, err);
}

int vel_fact_put_subject(const struct vel_fact *fact, struct vel_buf *ret,
                         struct vel_err *err)
{
    return put_fields(fact, rows[fact->kind].subject, ret, err);
}

/* --- to read --- */

static int get_text(struct vel_fields *from, char **ret, size_t *ret_len,
                    struct vel_err *err)
{
    struct vel_buf text;

    vel_buf_init(&text);
    vel_fields_text(from, &text);
    if (text.len > 0 && memchr(text.data, '\0', text.len))
        from->at = NULL;
    vel_buf_puts(&text, "");
    *ret = vel_buf_take(&text, ret_len);
    return *ret ? 0 : vel_out_of_memory(err, "a fact");
}

static int get_field(struct vel_fields *from, const struct vel_fact_field *field,
                     struct vel_fact *ret, struct vel_err *err)
{
    void *at = (char *)ret + field->at;
    int64_t number;
    size_t len;
    int rc = 0;

    if (field->is_text) {
        rc = get_text(from, at, &len, err);
        number = (int64_t)len;
    } else {
        number = vel_fields_int(from);
        *(int64_t *)at = number;
    }
    if (rc == 0 && (number < field->least || number > field->most))
        from->at = NULL;
    return rc;
}

static int get_fields(struct vel_fields *from, struct vel_fact *ret,
                      struct vel_err *err)
{
    const struct vel_fact_field *field = vel_fact_field(ret->kind, 0);
    int rc = 0;

    for (; rc == 0 && vel_fields_are_right(from) && field < fields + COUNT_OF(fields) &&
           field->kind == ret->kind;
         field++)
        rc = get_field(from, field, ret, err);
    if (rc == 0 && (!vel_fields_are_right(from) || vel_fields_have(from)))
        rc = vel_fail(err, VEL_ECORRUPT, "a fact %s has wrong fields",
                      rows[ret->kind].name);
    return rc;
}

int vel_fact_get(const struct vel_ledger_line *line, struct vel_fact *ret,
                 struct vel_err *err)
{
    struct vel_fields from;

    for (int kind = 0; kind < VEL_FACT_KINDS; kind++) {
        if (!vel_line_is(line, rows[kind].name, &from))
            continue;
        *ret = (struct vel_fact){.kind = (enum vel_fact_kind)kind};
        int rc = get_fields(&from, ret, err);
        if (rc < 0)
            vel_fact_fini(ret);
        return rc;
    }
    return vel_fail(err, VEL_ECORRUPT, "a line of a ledger is no fact: %.*s",
                    (int)(line->len < 40 ? line->len : 40),
                    line->text ? line->text : "");
}

void vel_fact_fini(struct vel_fact *fact)
{
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        if (fields[i].kind == fact->kind && fields[i].is_text)
            free(*(char **)((char *)fact + fields[i].at));
    *fact = (struct vel_fact){.kind = fact->kind};
}

size_t vel_fact_subject_len(enum vel_fact_kind kind, const struct vel_ledger_line *line)
{
    const char *at = line->text + strlen(rows[kind].name),
               *end = line->text + line->len;

    for (int i = 0; i < rows[kind].subject && at < end; i++) {
        const char *blank = memchr(at + 1, ' ', (size_t)(end - at - 1));

        at = blank ? blank : end;
    }
    return (size_t)(at - line->text);
}
