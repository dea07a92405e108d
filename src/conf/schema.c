/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "conf/conf.h"
#include "conf/near.h"
#include "conf/schema.h"

static const struct vel_field settings[] = {
#define SETTING(KEY, field, whom, TYPE, def, least, most, choices, doc)                \
    {#KEY,                                                                             \
     VEL_WHOM_##whom,                                                                  \
     VEL_TYPE_##TYPE,                                                                  \
     def,                                                                              \
     least,                                                                            \
     most,                                                                             \
     choices,                                                                          \
     doc,                                                                              \
     offsetof(struct vel_conf, field)},
#include "conf/schema.def"
};

/* the place of a setting in the table, by name */
enum {
#define SETTING(KEY, field, whom, TYPE, def, least, most, choices, doc) AT_##KEY,
#include "conf/schema.def"
    SETTINGS
};

#define CKPT_ROW(KEY, field, whom, TYPE, def, least, most, choices, doc)               \
    {#KEY,                                                                             \
     VEL_WHOM_##whom,                                                                  \
     VEL_TYPE_##TYPE,                                                                  \
     def,                                                                              \
     least,                                                                            \
     most,                                                                             \
     choices,                                                                          \
     doc,                                                                              \
     offsetof(struct vel_ckpt, field)},
#define STORE_ROW(KEY, field, whom, TYPE, def, least, most, choices, doc)              \
    {#KEY,                                                                             \
     VEL_WHOM_##whom,                                                                  \
     VEL_TYPE_##TYPE,                                                                  \
     def,                                                                              \
     least,                                                                            \
     most,                                                                             \
     choices,                                                                          \
     doc,                                                                              \
     offsetof(struct vel_store_line, field)},
#define DATASET_ROW(KEY, field, whom, TYPE, def, least, most, choices, doc)            \
    {#KEY,                                                                             \
     VEL_WHOM_##whom,                                                                  \
     VEL_TYPE_##TYPE,                                                                  \
     def,                                                                              \
     least,                                                                            \
     most,                                                                             \
     choices,                                                                          \
     doc,                                                                              \
     offsetof(struct vel_dataset_rule, field)},
#define GROUPS_ROW(KEY, field, whom, TYPE, def, least, most, choices, doc)             \
    {#KEY,                                                                             \
     VEL_WHOM_##whom,                                                                  \
     VEL_TYPE_##TYPE,                                                                  \
     def,                                                                              \
     least,                                                                            \
     most,                                                                             \
     choices,                                                                          \
     doc,                                                                              \
     offsetof(struct vel_groups_line, field)},
#define CNTLDIR_ROW(KEY, field, whom, TYPE, def, least, most, choices, doc)            \
    {#KEY,                                                                             \
     VEL_WHOM_##whom,                                                                  \
     VEL_TYPE_##TYPE,                                                                  \
     def,                                                                              \
     least,                                                                            \
     most,                                                                             \
     choices,                                                                          \
     doc,                                                                              \
     offsetof(struct vel_dir_line, field)},
#define CACHEDIR_ROW CNTLDIR_ROW

/* children of all parents in one table, each parent's side by side */
static const struct vel_field children[] = {
#define CHILD(PARENT, KEY, field, whom, TYPE, def, least, most, choices, doc)          \
    PARENT##_ROW(KEY, field, whom, TYPE, def, least, most, choices, doc)
#include "conf/schema.def"
};
static const enum vel_parent child_parent[] = {
#define CHILD(PARENT, KEY, field, whom, TYPE, def, least, most, choices, doc)          \
    VEL_##PARENT,
#include "conf/schema.def"
};

static const struct {
    const char *name;
    size_t setting;
} aliases[] =
    {
#define ALIAS(NAME, KEY) {#NAME, AT_##KEY},
#include "conf/schema.def"
},
  ini_names[] = {
#define INI(name, KEY) {#name, AT_##KEY},
#include "conf/schema.def"
};

static const struct {
    const char *name;
    enum vel_parent parent;
} line_aliases[] = {
#define LINE_ALIAS(NAME, PARENT) {#NAME, VEL_##PARENT},
#include "conf/schema.def"
};

static const struct vel_ignored ignored[] = {
#define IGNORED(NAME, why) {VEL_IGNORED_KEY, VEL_NO_PARENT, #NAME, NULL, why},
#define IGNORED_SECRET(NAME, why) {VEL_IGNORED_SECRET, VEL_NO_PARENT, #NAME, NULL, why},
#define IGNORED_LINE(NAME, why) {VEL_IGNORED_LINE, VEL_NO_PARENT, #NAME, NULL, why},
#define INI_IGNORED(name, why) {VEL_IGNORED_INI, VEL_NO_PARENT, #name, NULL, why},
#define CHILD_IGNORED(PARENT, NAME, value, why)                                        \
    {VEL_IGNORED_KEY, VEL_##PARENT, #NAME, value, why},
#include "conf/schema.def"
};

static const struct {
    size_t setting;
    const char *value;
} ini_implied[] = {
#define INI_IMPLIED(KEY, value) {AT_##KEY, value},
#include "conf/schema.def"
};

static const struct {
    const char *name, *value, *ours;
} ini_means[] = {
#define INI_MEANS(name, value, ours) {#name, value, ours},
#include "conf/schema.def"
};

/* a value, or a key with any value, that is said in another way here */
static const struct means {
    enum vel_parent parent;
    const char *name, *value, *key, *ours;
} means[] = {
#define MEANS(KEY, value, ours) {VEL_NO_PARENT, #KEY, value, #KEY, ours},
#define CHILD_MEANS(PARENT, NAME, value, KEY, ours)                                    \
    {VEL_##PARENT, #NAME, value, #KEY, ours},
#include "conf/schema.def"
};

static const char *const own[] = {
#define OWN(KEY) #KEY,
#include "conf/schema.def"
};

#define COUNT(array) (sizeof array / sizeof array[0])

static const char *const parent_keys[VEL_PARENTS] = {
    [VEL_CKPT] = "CKPT",       [VEL_STORE] = "STORE",       [VEL_DATASET] = "DATASET",
    [VEL_CNTLDIR] = "CNTLDIR", [VEL_CACHEDIR] = "CACHEDIR", [VEL_GROUPS] = "GROUPS"};

static const size_t parent_sizes[VEL_PARENTS] = {
    [VEL_CKPT] = sizeof(struct vel_ckpt),
    [VEL_STORE] = sizeof(struct vel_store_line),
    [VEL_DATASET] = sizeof(struct vel_dataset_rule),
    [VEL_CNTLDIR] = sizeof(struct vel_dir_line),
    [VEL_CACHEDIR] = sizeof(struct vel_dir_line),
    [VEL_GROUPS] = sizeof(struct vel_groups_line)};

struct vel_parent_info vel_schema_parent(enum vel_parent parent)
{
    struct vel_parent_info info = {.key = parent_keys[parent],
                                   .size = parent_sizes[parent]};

    for (size_t i = 0; i < COUNT(children); i++)
        if (child_parent[i] == parent) {
            if (!info.children)
                info.children = &children[i];
            info.n++;
        }
    return info;
}

size_t vel_schema_count(void)
{
    return SETTINGS;
}

const struct vel_field *vel_schema_setting(size_t i)
{
    return &settings[i];
}

bool vel_schema_is_own(const struct vel_field *field)
{
    bool is = field->type == VEL_TYPE_PATH;

    for (size_t i = 0; !is && i < COUNT(own); i++)
        is = strcmp(field->key, own[i]) == 0;
    return is;
}

/* the key without VELOC_ or SCR_; NULL when it has none of them and must */
static const char *bare(const char *key, enum vel_spelling spelling)
{
    if (strncasecmp(key, "VELOC_", 6) == 0)
        return key + 6;
    if (strncasecmp(key, "SCR_", 4) == 0)
        return key + 4;
    return spelling == VEL_SPELL_ENV ? NULL : key;
}

const struct vel_ignored *vel_schema_ignored(size_t i)
{
    return i < COUNT(ignored) ? &ignored[i] : NULL;
}

/* Both are what a user writes: the case does not matter. */
static bool is_ignored(const struct vel_ignored *row, enum vel_parent parent,
                       const char *key, const char *value)
{
    return row->kind != VEL_IGNORED_INI && row->parent == parent &&
           strcasecmp(row->name, key) == 0 &&
           (!row->value || strcasecmp(row->value, value) == 0);
}

static const struct vel_ignored *find_ignored(enum vel_parent parent, const char *key,
                                              const char *value)
{
    for (size_t i = 0; i < COUNT(ignored); i++)
        if (is_ignored(&ignored[i], parent, key, value))
            return &ignored[i];
    return NULL;
}

static const struct means *find_means(enum vel_parent parent, const char *key,
                                      const char *value)
{
    for (size_t i = 0; i < COUNT(means); i++)
        if (means[i].parent == parent && strcasecmp(means[i].name, key) == 0 &&
            (!means[i].value || strcasecmp(means[i].value, value) == 0))
            return &means[i];
    return NULL;
}

static bool find_ini(const char *key, struct vel_meaning *ret)
{
    for (size_t i = 0; i < COUNT(ini_names); i++)
        if (strcmp(key, ini_names[i].name) == 0) {
            ret->setting = ini_names[i].setting;
            ret->ini = ini_names[i].name;
            return true;
        }
    for (size_t i = 0; i < COUNT(ignored); i++)
        if (ignored[i].kind == VEL_IGNORED_INI && strcmp(key, ignored[i].name) == 0) {
            ret->ignored = &ignored[i];
            return true;
        }
    return false;
}

/* VELOC lets the environment override its INI keys in upper case: VELOC_SCRATCH */
static bool find_ini_env(const char *key, struct vel_meaning *ret)
{
    char lower[64];
    size_t n = strlen(key);

    if (n >= sizeof lower)
        return false;
    for (size_t i = 0; i <= n; i++)
        lower[i] = (char)(key[i] >= 'A' && key[i] <= 'Z' ? key[i] - 'A' + 'a' : key[i]);
    return find_ini(lower, ret);
}

static bool find_plain(const char *key, struct vel_meaning *ret)
{
    for (size_t i = 0; i < SETTINGS; i++)
        if (strcasecmp(key, settings[i].key) == 0) {
            ret->setting = i;
            return true;
        }
    for (size_t i = 0; i < COUNT(aliases); i++)
        if (strcasecmp(key, aliases[i].name) == 0) {
            ret->setting = aliases[i].setting;
            return true;
        }
    ret->ignored = find_ignored(VEL_NO_PARENT, key, "");
    return ret->ignored;
}

static bool find_line(const char *key, struct vel_meaning *ret)
{
    for (size_t p = 0; p < VEL_PARENTS; p++)
        if (strcasecmp(key, parent_keys[p]) == 0)
            ret->parent = (enum vel_parent)p;
    for (size_t i = 0; i < COUNT(line_aliases); i++)
        if (strcasecmp(key, line_aliases[i].name) == 0)
            ret->parent = line_aliases[i].parent;
    return ret->parent != VEL_NO_PARENT;
}

bool vel_schema_find(const char *key, enum vel_spelling spelling,
                     struct vel_meaning *ret)
{
    *ret = (struct vel_meaning){.setting = (size_t)-1, .parent = VEL_NO_PARENT};
    if (spelling == VEL_SPELL_INI)
        return find_ini(key, ret);
    if (spelling == VEL_SPELL_FILE && find_line(key, ret))
        return true;
    const char *plain = bare(key, spelling);
    if (!plain)
        return false;
    if (find_plain(plain, ret))
        return true;
    return spelling == VEL_SPELL_ENV && strncmp(key, "VELOC_", 6) == 0 &&
           find_ini_env(plain, ret);
}

const char *vel_schema_value(const struct vel_meaning *meaning, const char *value)
{
    for (size_t i = 0; meaning->ini && i < COUNT(ini_means); i++)
        if (strcmp(meaning->ini, ini_means[i].name) == 0 &&
            strcmp(value, ini_means[i].value) == 0)
            return ini_means[i].ours;
    const struct means *row =
        find_means(VEL_NO_PARENT, settings[meaning->setting].key, value);
    return row ? row->ours : value;
}

size_t vel_schema_child(enum vel_parent parent, const char *key)
{
    size_t index = 0;

    for (size_t i = 0; i < COUNT(children); i++) {
        if (child_parent[i] != parent)
            continue;
        if (strcasecmp(children[i].key, key) == 0)
            return index;
        index++;
    }
    return (size_t)-1;
}

bool vel_schema_find_child(enum vel_parent parent, const char *key, const char *value,
                           struct vel_child_meaning *ret)
{
    const struct means *row = find_means(parent, key, value);

    ret->ignored = find_ignored(parent, key, value);
    ret->child = vel_schema_child(parent, row ? row->key : key);
    ret->value = row && row->ours ? row->ours : value;
    return ret->ignored || ret->child != (size_t)-1;
}

enum vel_parent vel_schema_parent_of(const char *key)
{
    for (size_t i = 0; i < COUNT(children); i++)
        if (strcasecmp(children[i].key, key) == 0)
            return child_parent[i];
    return VEL_NO_PARENT;
}

const char *vel_schema_nearest(const char *key, enum vel_spelling spelling,
                               enum vel_parent parent)
{
    const char *plain = bare(key, spelling);
    struct vel_near near;

    vel_near_init(&near, plain && spelling != VEL_SPELL_INI ? plain : key);
    if (parent != VEL_NO_PARENT) {
        for (size_t i = 0; i < COUNT(children); i++)
            if (child_parent[i] == parent)
                vel_near_try(&near, children[i].key);
        return near.best;
    }
    if (spelling == VEL_SPELL_INI) {
        for (size_t i = 0; i < COUNT(ini_names); i++)
            vel_near_try(&near, ini_names[i].name);
        return near.best;
    }
    for (size_t i = 0; i < SETTINGS; i++)
        vel_near_try(&near, settings[i].key);
    for (size_t p = 0; spelling == VEL_SPELL_FILE && p < VEL_PARENTS; p++)
        vel_near_try(&near, parent_keys[p]);
    return near.best;
}

bool vel_schema_is_ini(const char *key)
{
    struct vel_meaning meaning;

    return find_ini(key, &meaning);
}

bool vel_schema_implied(size_t i, size_t *ret_setting, const char **ret_value)
{
    if (i >= COUNT(ini_implied))
        return false;
    *ret_setting = ini_implied[i].setting;
    *ret_value = ini_implied[i].value;
    return true;
}

void vel_schema_each_child_name(enum vel_parent parent, const char *key,
                                vel_schema_name_f *tell, void *arg)
{
    char name[80];

    for (size_t i = 0; i < COUNT(means); i++) {
        const struct means *row = &means[i];
        bool is_key = strcmp(row->name, row->key) != 0;

        if (row->parent != parent || strcmp(row->key, key) != 0)
            continue;
        snprintf(name, sizeof name, "%s%s%s%s%s", is_key ? row->name : "",
                 is_key && row->value ? "=" : "", row->value ? row->value : "",
                 row->ours ? " for " : "", row->ours ? row->ours : "");
        tell(arg, name);
    }
}

void vel_schema_each_line_name(enum vel_parent parent, vel_schema_name_f *tell,
                               void *arg)
{
    for (size_t i = 0; i < COUNT(line_aliases); i++)
        if (line_aliases[i].parent == parent)
            tell(arg, line_aliases[i].name);
}

void vel_schema_each_name(size_t i, vel_schema_name_f *tell, void *arg)
{
    char name[80];

    for (size_t a = 0; a < COUNT(aliases); a++)
        if (aliases[a].setting == i) {
            snprintf(name, sizeof name, "SCR_%s", aliases[a].name);
            tell(arg, name);
        }
    for (size_t a = 0; a < COUNT(ini_names); a++)
        if (ini_names[a].setting == i)
            tell(arg, ini_names[a].name);
    vel_schema_each_child_name(VEL_NO_PARENT, settings[i].key, tell, arg);
}
