/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "conf/field.h"

static void *at(const struct vel_field *field, void *base)
{
    return (char *)base + field->offset;
}

/* a whole word, whatever its case */
static bool is_word(const char *text, const char *word)
{
    return strcasecmp(text, word) == 0;
}

static bool parse_bool(const char *text, bool *ret)
{
    static const char *const words[2][4] = {{"0", "no", "off", "false"},
                                            {"1", "yes", "on", "true"}};

    for (int value = 0; value < 2; value++)
        for (int i = 0; i < 4; i++)
            if (is_word(text, words[value][i])) {
                *ret = value;
                return true;
            }
    return false;
}

static bool parse_int(const char *text, int64_t *ret)
{
    char *end;

    errno = 0;
    long long value = strtoll(text, &end, 10);
    *ret = value;
    return end != text && *end == '\0' && errno == 0;
}

/* A number and the factor of its unit; units is pairs of name and factor, ended by
 * NULL. */
struct unit {
    const char *name;
    double factor;
};

static bool parse_unit(const char *text, const struct unit *units, double *ret,
                       bool *ret_unit)
{
    char *end;

    if (!strchr("+-.0123456789", text[0]))
        return false; /* no "inf", no "nan", no blanks */
    double value = strtod(text, &end);
    if (end == text || !isfinite(value) || strpbrk(text, "xXpP"))
        return false;
    for (; units->name; units++)
        if (is_word(end, units->name)) {
            *ret = value * units->factor;
            *ret_unit = end[0] != '\0';
            return true;
        }
    return false;
}

static const struct unit size_units[] = {
    {"", 1},
    {"B", 1},
    {"K", 1024.},
    {"KB", 1024.},
    {"KiB", 1024.},
    {"M", 1048576.},
    {"MB", 1048576.},
    {"MiB", 1048576.},
    {"G", 1073741824.},
    {"GB", 1073741824.},
    {"GiB", 1073741824.},
    {"T", 1099511627776.},
    {"TB", 1099511627776.},
    {"TiB", 1099511627776.},
    {"P", 1125899906842624.},
    {"PB", 1125899906842624.},
    {"PiB", 1125899906842624.},
    {NULL, 0},
};
static const struct unit time_units[] = {{"", 1},      {"s", 1},    {"sec", 1},
                                         {"m", 60},    {"min", 60}, {"h", 3600},
                                         {"d", 86400}, {NULL, 0}};
static const struct unit no_units[] = {{"", 1}, {NULL, 0}};

static bool parse_choice(const char *text, const char *choices, int *ret)
{
    size_t len = strlen(text);

    for (int i = 0; *choices; i++) {
        size_t n = strcspn(choices, "|");

        if (n == len && strncasecmp(choices, text, n) == 0) {
            *ret = i;
            return true;
        }
        choices += n + (choices[n] == '|');
    }
    return false;
}

/* The first two choices as a BOOL. */
static bool parse_first(const char *text, int *ret)
{
    bool is = false;

    if (!parse_bool(text, &is))
        return false;
    *ret = is;
    return true;
}

static void print_size(double bytes, char *text, size_t size)
{
    static const char *const names[] = {"", "KiB", "MiB", "GiB", "TiB", "PiB"};
    int i = 0;

    for (; i < 5 && bytes >= 1024 && fmod(bytes, 1024) == 0; i++)
        bytes /= 1024;
    snprintf(text, size, "%.0f%s", bytes, names[i]);
}

void vel_field_expects(const struct vel_field *field, char *text, size_t size)
{
    static const char *const names[] = {
        [VEL_TYPE_BOOL] = "0 or 1",
        [VEL_TYPE_INT] = "a whole number",
        [VEL_TYPE_SIZE] = "a size such as 270GB",
        [VEL_TYPE_SECONDS] = "a time such as 30s, 5m or 2h",
        [VEL_TYPE_REAL] = "a number",
        [VEL_TYPE_TEXT] = "a text",
        [VEL_TYPE_PATH] = "a path",
        [VEL_TYPE_INTERVAL] = "a count such as 4 or a time such as 60s",
    };
    char least[32], most[32];

    if (field->type == VEL_TYPE_CHOICE) {
        snprintf(text, size, "one of %s", field->choices);
        return;
    }
    if (field->least == 0 && field->most == 0) {
        snprintf(text, size, "%s", names[field->type]);
        return;
    }
    if (field->type == VEL_TYPE_SIZE) {
        print_size(field->least, least, sizeof least);
        print_size(field->most, most, sizeof most);
    } else {
        snprintf(least, sizeof least, "%.0f", field->least);
        snprintf(most, sizeof most, "%.0f", field->most);
    }
    snprintf(text, size, "%s from %s to %s", names[field->type], least, most);
}

static int refuse(const struct vel_field *field, const char *text, struct vel_err *err)
{
    char want[256];

    vel_field_expects(field, want, sizeof want);
    return vel_fail(err, VEL_ECONFIG, "%s=%.80s: expected %s", field->key, text, want);
}

static bool in_range(const struct vel_field *field, double value)
{
    return (field->least == 0 && field->most == 0) ||
           (value >= field->least && value <= field->most);
}

static int set_number(const struct vel_field *field, void *base, const char *text,
                      struct vel_err *err)
{
    const struct unit *units = field->type == VEL_TYPE_SIZE   ? size_units
                               : field->type == VEL_TYPE_REAL ? no_units
                                                              : time_units;
    bool has_unit = false;
    double value = 0;
    int64_t whole;

    if (field->type == VEL_TYPE_INT || field->type == VEL_TYPE_INTERVAL) {
        if (parse_int(text, &whole)) {
            if (!in_range(field, (double)whole))
                return refuse(field, text, err);
            *(int64_t *)at(field, base) = whole;
            return 0;
        }
        if (field->type == VEL_TYPE_INT)
            return refuse(field, text, err);
    }
    if (!parse_unit(text, units, &value, &has_unit) || !in_range(field, value))
        return refuse(field, text, err);
    if (field->type == VEL_TYPE_INTERVAL) {
        if (!has_unit || value != floor(value))
            return refuse(field, text, err);
        *(int64_t *)at(field, base) = -(int64_t)value;
    } else if (field->type == VEL_TYPE_SIZE) {
        if (value != floor(value))
            return refuse(field, text, err);
        *(int64_t *)at(field, base) = (int64_t)value;
    } else {
        *(double *)at(field, base) = value;
    }
    return 0;
}

static int set_text(const struct vel_field *field, void *base, const char *text,
                    struct vel_err *err)
{
    char **to = at(field, base), *copy = NULL;

    if (text[0]) {
        copy = strdup(text);
        if (!copy)
            return vel_out_of_memory(err, field->key);
    }
    free(*to);
    *to = copy;
    return 0;
}

static void set_nothing(const struct vel_field *field, void *base)
{
    if (field->type == VEL_TYPE_BOOL)
        *(bool *)at(field, base) = false;
    else if (field->type == VEL_TYPE_CHOICE)
        *(int *)at(field, base) = -1;
    else if (field->type == VEL_TYPE_SECONDS || field->type == VEL_TYPE_REAL)
        *(double *)at(field, base) = 0;
    else
        *(int64_t *)at(field, base) = 0;
}

int vel_field_set(const struct vel_field *field, void *base, const char *text,
                  struct vel_err *err)
{
    if (field->type == VEL_TYPE_TEXT || field->type == VEL_TYPE_PATH)
        return set_text(field, base, text, err);
    if (text[0] == '\0') {
        set_nothing(field, base);
        return 0;
    }
    if (field->type == VEL_TYPE_BOOL)
        return parse_bool(text, at(field, base)) ? 0 : refuse(field, text, err);
    if (field->type == VEL_TYPE_CHOICE)
        return parse_choice(text, field->choices, at(field, base)) ||
                       (field->most == 1 && parse_first(text, at(field, base)))
                   ? 0
                   : refuse(field, text, err);
    return set_number(field, base, text, err);
}

void vel_field_clear(const struct vel_field *field, void *base)
{
    if (field->type != VEL_TYPE_TEXT && field->type != VEL_TYPE_PATH)
        return;
    char **text = at(field, base);
    free(*text);
    *text = NULL;
}

void vel_field_text(const struct vel_field *field, const void *base, struct vel_buf *to)
{
    const void *at = (const char *)base + field->offset;

    vel_buf_clear(to);
    switch (field->type) {
    case VEL_TYPE_BOOL:
        vel_buf_puts(to, *(const bool *)at ? "1" : "0");
        break;
    case VEL_TYPE_INT:
    case VEL_TYPE_SIZE:
        vel_buf_printf(to, "%" PRId64, *(const int64_t *)at);
        break;
    case VEL_TYPE_INTERVAL:
        if (*(const int64_t *)at < 0)
            vel_buf_printf(to, "%" PRId64 "s", -*(const int64_t *)at);
        else
            vel_buf_printf(to, "%" PRId64, *(const int64_t *)at);
        break;
    case VEL_TYPE_SECONDS:
    case VEL_TYPE_REAL:
        vel_buf_printf(to, "%.15g", *(const double *)at);
        break;
    case VEL_TYPE_TEXT:
    case VEL_TYPE_PATH:
        vel_buf_puts(to, *(char *const *)at ? *(char *const *)at : "");
        break;
    case VEL_TYPE_CHOICE:
        if (*(const int *)at >= 0) {
            const char *choice = field->choices;
            for (int i = *(const int *)at; i > 0; i--)
                choice += strcspn(choice, "|") + 1;
            vel_buf_append(to, choice, strcspn(choice, "|"));
        }
        break;
    }
}
