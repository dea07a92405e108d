/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <ctype.h>
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

static int take_part(const char *part, const char *end, struct vel_info_text *text,
                     int *seen, const char **ret_why)
{
    static const char *const keys[] = {"config=", "under_vol=", "under_info="};
    const char *value = NULL;
    size_t k, len = 0;

    for (k = 0; !value && k < sizeof keys / sizeof keys[0]; k++)
        if (strncmp(part, keys[k], strlen(keys[k])) == 0) {
            value = part + strlen(keys[k]);
            len = (size_t)(end - value);
            break;
        }
    while (value && len && isspace((unsigned char)value[len - 1]))
        len--;
    if (!value) {
        *ret_why = "it has a part that is none of config=, under_vol=, under_info=";
        return -1;
    }
    if (*seen & 1 << k) {
        *ret_why = "it has a part twice";
        return -1;
    }
    *seen |= 1 << k;
    if (k == 0)
        return len ? take_text(value, len, &text->config, ret_why) : 0;
    if (k == 1)
        return parse_value(value, len, &text->under_value, ret_why);
    if (len < 2 || value[0] != '{' || value[len - 1] != '}') {
        *ret_why = "under_info is not in braces";
        return -1;
    }
    return len > 2 ? take_text(value + 1, len - 2, &text->under_info, ret_why) : 0;
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
    free(text->under_info);
    *text = (struct vel_info_text){0};
}
