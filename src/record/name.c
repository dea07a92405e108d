/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <string.h>

#include "base/buf.h"
#include "record/name.h"

/* Bytes of the valid UTF-8 sequence at s, or 0. No overlong form, no surrogate, nothing
 * above U+10FFFF: the same rule as jansson's, which refuses the rest. */
static size_t utf8_length(const unsigned char *s)
{
    static const struct {
        unsigned char first_from, first_to, second_from, second_to;
        unsigned char length;
    } forms[] = {
        {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3},
        {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
        {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };

    if (s[0] < 0x80)
        return 1;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (s[0] < forms[i].first_from || s[0] > forms[i].first_to)
            continue;
        if (s[1] < forms[i].second_from || s[1] > forms[i].second_to)
            return 0;
        for (size_t k = 2; k < forms[i].length; k++)
            if ((s[k] & 0xc0) != 0x80) /* a zero byte ends it here */
                return 0;
        return forms[i].length;
    }
    return 0;
}

char *vel_name_encode(const char *name)
{
    struct vel_buf buf;
    size_t len;

    vel_buf_init(&buf);
    for (const unsigned char *s = (const unsigned char *)name; *s;) {
        size_t n = utf8_length(s);

        if (n == 0 || *s == '%' || *s < 0x20 || *s == 0x7f) {
            vel_buf_printf(&buf, "%%%02X", *s);
            n = 1;
        } else {
            vel_buf_append(&buf, s, n);
        }
        s += n;
    }
    return vel_buf_take(&buf, &len);
}

static int digit(char c)
{
    static const char digits[] = "0123456789ABCDEF";
    const char *at = c ? strchr(digits, c) : NULL;

    return at ? (int)(at - digits) : -1;
}

int vel_name_decode(const char *text, char **ret_name, struct vel_err *err)
{
    struct vel_buf buf;
    size_t len;

    vel_buf_init(&buf);
    for (const char *s = text; *s; s++) {
        if (*s != '%') {
            vel_buf_putc(&buf, *s);
            continue;
        }
        int high = digit(s[1]);
        int low = high < 0 ? -1 : digit(s[2]);
        if (low < 0 || high + low == 0) {
            vel_buf_fini(&buf);
            return vel_fail(err, VEL_ECORRUPT, "'%.64s': not an encoded file name",
                            text);
        }
        vel_buf_putc(&buf, (char)(high << 4 | low));
        s += 2;
    }
    char *name = vel_buf_take(&buf, &len);
    if (!name)
        return vel_out_of_memory(err, "decoding a file name");
    *ret_name = name;
    return 0;
}
