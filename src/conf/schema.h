/* SPDX-License-Identifier: BSD-3-Clause */
/* schema - the table of schema.def, looked up by any name a setting is known under. */
#ifndef VEL_CONF_SCHEMA_H
#define VEL_CONF_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>

#include "conf/field.h"

/* kinds of lines with keys of their own */
enum vel_parent {
    VEL_CKPT,
    VEL_STORE,
    VEL_DATASET,
    VEL_CNTLDIR,
    VEL_CACHEDIR,
    VEL_GROUPS, /* its other keys are names of the user's */
    VEL_PARENTS,
    VEL_NO_PARENT,
};

struct vel_parent_info {
    const char *key;
    const struct vel_field *children;
    size_t n;
    size_t size; /* of the struct that the children fill */
};

struct vel_parent_info vel_schema_parent(enum vel_parent parent);

/* The settings, in the order of the table. */
size_t vel_schema_count(void);
const struct vel_field *vel_schema_setting(size_t i);

/* May a setting, or a key on a line, differ between processes of a launch? */
bool vel_schema_is_own(const struct vel_field *field);

/* Which way a key is written. */
enum vel_spelling {
    VEL_SPELL_FILE, /* FLUSH, VELOC_FLUSH, SCR_FLUSH */
    VEL_SPELL_ENV,  /* VELOC_FLUSH, SCR_FLUSH */
    VEL_SPELL_INI,  /* VELOC's own keys: scratch */
};

/* What is accepted and has no meaning here. */
enum vel_ignored_kind {
    VEL_IGNORED_KEY,
    VEL_IGNORED_SECRET, /* a key whose value is shown to nobody */
    VEL_IGNORED_LINE,   /* a key that begins a line without meaning */
    VEL_IGNORED_INI,    /* a key of VELOC's form */
};
struct vel_ignored {
    enum vel_ignored_kind kind;
    enum vel_parent parent; /* a key on lines of this kind, else VEL_NO_PARENT */
    const char *name;
    const char *value; /* of this value alone; NULL: of any */
    const char *why;
};

/* The i-th, in the order of the table; NULL behind the last. */
const struct vel_ignored *vel_schema_ignored(size_t i);

/* What a key means. */
struct vel_meaning {
    size_t setting;         /* its index, or (size_t)-1 */
    enum vel_parent parent; /* or it begins a line of this kind, else VEL_NO_PARENT */
    const struct vel_ignored *ignored; /* or it has no meaning here */
    const char *ini;                   /* it is VELOC's name of the setting, this one */
};

/* False for an unknown key. */
bool vel_schema_find(const char *key, enum vel_spelling spelling,
                     struct vel_meaning *ret);

/* What is to be set when a key of that meaning has this value: the same, but where
 * VELOC or SCR says it in another way. */
const char *vel_schema_value(const struct vel_meaning *meaning, const char *value);

/* The index of a child of a parent; (size_t)-1 when there is none of that name. */
size_t vel_schema_child(enum vel_parent parent, const char *key);

/* What a key with this value means on a line. */
struct vel_child_meaning {
    size_t child; /* the index of a child, or (size_t)-1 */
    const char *value;
    const struct vel_ignored *ignored; /* or it has no meaning here */
};

/* False for an unknown key. */
bool vel_schema_find_child(enum vel_parent parent, const char *key, const char *value,
                           struct vel_child_meaning *ret);

/* The kind of line on which this key would be a child, or VEL_NO_PARENT. */
enum vel_parent vel_schema_parent_of(const char *key);

/* The known key that looks most like this one, or NULL when none is near. Children are
 * those of `parent`; with VEL_NO_PARENT settings and parents are tried. */
const char *vel_schema_nearest(const char *key, enum vel_spelling spelling,
                               enum vel_parent parent);

/* Is this the first key of a file in VELOC's INI form? */
bool vel_schema_is_ini(const char *key);

/* The i-th setting that a file in that form means without saying it; false behind the
 * last. */
bool vel_schema_implied(size_t i, size_t *ret_setting, const char **ret_value);

/* Every other name of setting i, or of a key on lines of a kind; and of each of its
 * values, as "LOCAL for SINGLE": calls back in the order of the table. */
typedef void vel_schema_name_f(void *arg, const char *name);
void vel_schema_each_name(size_t i, vel_schema_name_f *tell, void *arg);
void vel_schema_each_child_name(enum vel_parent parent, const char *key,
                                vel_schema_name_f *tell, void *arg);

/* Every other key that begins a line of that kind. */
void vel_schema_each_line_name(enum vel_parent parent, vel_schema_name_f *tell,
                               void *arg);

#endif
