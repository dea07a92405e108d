/* SPDX-License-Identifier: BSD-3-Clause */
/* facts - what a line of a ledger says: facts.def as structs (doc/facts.txt). */
#ifndef VEL_FACTS_FACTS_H
#define VEL_FACTS_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "ledger/line.h"

enum vel_fact_kind {
#define FACT(NAME, name, FOLD, subject) VEL_FACT_##NAME,
#include "facts/facts.def"
    VEL_FACT_KINDS
};

#define FACT(NAME, name, FOLD, subject) struct vel_fact_##name {
#define NUMBER(name, field, least, most) int64_t field;
#define TEXT(name, field, most) char *field;
#define END(name)                                                                      \
    }                                                                                  \
    ;
#include "facts/facts.def"

struct vel_fact {
    enum vel_fact_kind kind;
    union {
#define FACT(NAME, name, FOLD, subject) struct vel_fact_##name name;
#include "facts/facts.def"
    } u;
};

/* What a line is: field `kind` of the fact. */
enum vel_line_is {
    VEL_LINE_IS_CHECKPOINT = 1,
    VEL_LINE_IS_OUTPUT = 2,
    VEL_LINE_IS_FAMILY = 4,
    VEL_LINE_IS_API = 8,
    VEL_LINE_IS_ALONE = 16, /* one file is all */
};

enum vel_fact_fold { VEL_FACT_ONCE, VEL_FACT_MOST, VEL_FACT_EACH };

/* A row of the table. */
struct vel_fact_row {
    const char *name;
    enum vel_fact_fold fold;
    int subject; /* fields */
};

const struct vel_fact_row *vel_fact_row(enum vel_fact_kind kind);

/* Field i of a fact; NULL: it has not so many. */
struct vel_fact_field {
    enum vel_fact_kind kind;
    const char *name;
    bool is_text;
    int64_t least, most; /* of a text: its bytes */
    size_t at;           /* in struct vel_fact */
};

const struct vel_fact_field *vel_fact_field(enum vel_fact_kind kind, int i);

/* Append the text of a line, or only what tells its subject. VEL_EINVAL: a field is
 * none of the table's. */
int vel_fact_put(const struct vel_fact *fact, struct vel_buf *ret, struct vel_err *err);
int vel_fact_put_subject(const struct vel_fact *fact, struct vel_buf *ret,
                         struct vel_err *err);

/* VEL_ECORRUPT: the line is no fact. */
int vel_fact_get(const struct vel_ledger_line *line, struct vel_fact *ret,
                 struct vel_err *err);
void vel_fact_fini(struct vel_fact *fact);

/* Bytes of a line's text that tell its subject. It is one. */
size_t vel_fact_subject_len(enum vel_fact_kind kind,
                            const struct vel_ledger_line *line);

#endif
