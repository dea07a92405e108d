/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "info_text.h"

static const char no_memory[] = "there is no memory for it";

/* The end of a value: the next `;` outside of braces. NULL: a brace has no other. */
static const char *end_of(const char *value)
{
    int depth = 0;

    for (; *value && (depth || *value != ';'); value++) {
        depth += (*value == '{') - (*value == '}');
        if (depth < 0)
            return NULL;
    }
    return depth ? NULL : value;
}

static int parse_value(const char *value, size_t len, int *ret, const char **ret_why)
{
    long n = 0;

    *ret_why = "under_vol is not the number of a connector, 0 to 65535";
    for (size_t i = 0; i < len; i++) {
        if (!isdigit((unsigned char)value[i]))
            return -1;
        n = n * 10 + (value[i] - '0');
        if (n > 65535)
            return -1;
    }
    if (len == 0)
        return -1;
    *ret = (int)n;
    return 0;
}

static int take_text(const char *value, size_t len, char **ret, const char **ret_why)
{
    *ret = strndup(value, len);
    *ret_why = no_memory;
    return *ret ? 0 : -1;
}

enum part { CONFIG, DATASET, UNDER_VOL, UNDER_INFO, BEHIND, LIVE, PARTS };

static const struct {
    const char *key;
    bool is_word; /* that is all of it */
} parts[PARTS] = {
    [CONFIG] = {"config=", false},       [DATASET] = {"dataset=", false},
    [UNDER_VOL] = {"under_vol=", false}, [UNDER_INFO] = {"under_info=", false},
    [BEHIND] = {"behind", true},         [LIVE] = {"live", true},
};

/* PARTS: it is none. */
static enum part find_part(const char *text, size_t len)
{
    enum part k = CONFIG;

    for (; k < PARTS; k++) {
        size_t n = strlen(parts[k].key);

        if (strncmp(text, parts[k].key, n) == 0 && (!parts[k].is_word || len == n))
            break;
    }
    return k;
}

static int take_value(enum part part, const char *value, size_t len,
                      struct vel_info_text *text, const char **ret_why)
{
    switch (part) {
    case CONFIG:
        return len ? take_text(value, len, &text->config, ret_why) : 0;
    case DATASET:
        return len ? take_text(value, len, &text->dataset, ret_why) : 0;
    case UNDER_VOL:
        return parse_value(value, len, &text->under_value, ret_why);
    case UNDER_INFO:
        if (len < 2 || value[0] != '{' || value[len - 1] != '}') {
            *ret_why = "under_info is not in braces";
            return -1;
        }
        return len > 2 ? take_text(value + 1, len - 2, &text->under_info, ret_why) : 0;
    default:
        text->word = part == BEHIND ? VEL_INFO_BEHIND : VEL_INFO_LIVE;
        return 0;
    }
}

static int take_part(const char *text, const char *end, struct vel_info_text *ret,
                     int *seen, const char **ret_why)
{
    enum part part;
    size_t n;

    while (end > text && isspace((unsigned char)end[-1]))
        end--;
    part = find_part(text, (size_t)(end - text));
    if (part == PARTS) {
        *ret_why = "it has a part that is none of behind, live, config=, dataset=, "
                   "under_vol=, under_info=";
        return -1;
    }
    if (*seen & 1 << part) {
        *ret_why = "it has a part twice";
        return -1;
    }
    *seen |= 1 << part;
    if (*seen & 1 << BEHIND && *seen & 1 << LIVE) {
        *ret_why = "files are either behind or live";
        return -1;
    }
    n = strlen(parts[part].key);
    return take_value(part, text + n, (size_t)(end - text) - n, ret, ret_why);
}

int vel_info_text_parse(const char *str, struct vel_info_text *ret,
                        const char **ret_why)
{
    struct vel_info_text text = {0};
    int seen = 0, rc = 0;

    while (rc == 0 && *str) {
        const char *end;

        if (isspace((unsigned char)*str) || *str == ';') {
            str++;
            continue;
        }
        end = end_of(str);
        if (!end) {
            *ret_why = "a brace has no other";
            rc = -1;
        } else {
            rc = take_part(str, end, &text, &seen, ret_why);
            str = end;
        }
    }
    if (rc < 0)
        vel_info_text_fini(&text);
    else
        *ret = text;
    return rc;
}

void vel_info_text_fini(struct vel_info_text *text)
{
    free(text->config);
    free(text->dataset);
    free(text->under_info);
    *text = (struct vel_info_text){0};
}
