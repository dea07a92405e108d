/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <string.h>

#include "conf/lex.h"

enum { LINE_MOST = 200 }; /* what VELOC's own reader takes */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* without the blanks on both sides */
static const char *trim(const char *text, size_t *len)
{
    while (*len > 0 && is_blank(text[*len - 1]))
        --*len;
    while (*len > 0 && is_blank(text[0])) {
        text++;
        --*len;
    }
    return text;
}

/* a ';' behind a blank begins a comment */
static size_t without_comment(const char *text, size_t len)
{
    for (size_t i = 1; i < len; i++)
        if (text[i] == ';' && is_blank(text[i - 1]))
            return i;
    return len;
}

static int lex_line(const char *file, int line, const char *text, size_t len,
                    struct vel_lexed *ret, struct vel_err *err)
{
    if (len > LINE_MOST)
        return vel_fail(err, VEL_ECONFIG,
                        "%s:%d: VELOC reads %d bytes of a line, and this one has %zu",
                        file, line, LINE_MOST, len);
    text = trim(text, &len);
    if (len == 0 || text[0] == '#' || text[0] == ';')
        return 0;
    if (text[0] == '[')
        return vel_fail(err, VEL_ECONFIG, "%s:%d: VELOC's settings have no sections",
                        file, line);
    len = without_comment(text, len);
    size_t sign = 0;
    while (sign < len && text[sign] != '=' && text[sign] != ':')
        sign++;
    size_t key_len = sign, value_len = len - sign;
    const char *key = trim(text, &key_len);
    if (sign == len || key_len == 0)
        return vel_fail(err, VEL_ECONFIG, "%s:%d: expected key = value, found '%.*s'",
                        file, line, (int)(len < 80 ? len : 80), text);
    value_len--;
    const char *value = trim(text + sign + 1, &value_len);
    if (value_len == 0)
        return vel_fail(err, VEL_ECONFIG, "%s:%d: %.*s has no value", file, line,
                        (int)key_len, key);
    return vel_lexed_add(ret, key, key_len, value, value_len, line, true, err);
}

int vel_lex_ini(const char *file, const char *bytes, size_t len, struct vel_lexed *ret,
                struct vel_err *err)
{
    int rc = 0;

    for (int line = 1; rc == 0 && len > 0; line++) {
        const char *newline = memchr(bytes, '\n', len);
        size_t n = newline ? (size_t)(newline - bytes) : len;

        rc = lex_line(file, line, bytes, n, ret, err);
        n += newline != NULL;
        bytes += n;
        len -= n;
    }
    return rc;
}
