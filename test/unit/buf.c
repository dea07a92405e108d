/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "tap/tap.h"

static void growing(void)
{
    struct vel_buf buf;
    bool is_same = true;

    vel_buf_init(&buf);
    is_str(vel_buf_text(&buf), "", "an empty buffer is an empty text");
    vel_buf_puts(&buf, "set");
    vel_buf_putc(&buf, ' ');
    vel_buf_printf(&buf, "%d of %s", 7, "nine");
    vel_buf_append(&buf, NULL, 0);
    is_str(vel_buf_text(&buf), "set 7 of nine", "texts are put together");
    is_int((long long)buf.len, 13, "len does not count the zero byte");
    vel_buf_clear(&buf);
    is_str(vel_buf_text(&buf), "", "a cleared buffer is an empty text");
    for (int i = 0; i < 100000; i++)
        vel_buf_putc(&buf, (char)('a' + i % 26));
    for (int i = 0; i < 100000; i++)
        is_same &= buf.data[i] == (char)('a' + i % 26);
    ok(is_same && buf.len == 100000 && !buf.data[buf.len],
       "growing keeps what is there");
    vel_buf_clear(&buf);
    vel_buf_append(&buf, "a\0b", 3);
    ok(buf.len == 3 && memcmp(buf.data, "a\0b", 4) == 0, "bytes may be zero");
    vel_buf_clear(&buf);
    vel_buf_printf(&buf, "%0500d", 1);
    ok(buf.len == 500 && buf.data[499] == '1', "a printed text may be long");
    vel_buf_fini(&buf);
    ok(!buf.data && buf.len == 0, "after the end nothing is left");
}

static void taking(void)
{
    struct vel_buf buf;
    size_t len = 99;

    vel_buf_init(&buf);
    char *text = vel_buf_take(&buf, &len);
    ok(text && !text[0] && len == 0, "an empty buffer gives an empty text away");
    free(text);
    vel_buf_puts(&buf, "abc");
    text = vel_buf_take(&buf, &len);
    is_str(text, "abc", "a buffer gives its content away");
    is_int((long long)len, 3, "with its length");
    ok(!buf.data && buf.len == 0, "and is empty then");
    free(text);
    vel_buf_puts(&buf, "abcd");
    text = vel_buf_take(&buf, NULL);
    is_str(text, "abcd", "whoever needs no length gets none");
    free(text);
    vel_buf_reserve(&buf, SIZE_MAX);
    ok(!vel_buf_take(&buf, NULL), "nor a text that could not be made");
}

static void failing(void)
{
    struct vel_buf buf;
    struct vel_err err = {0};
    size_t len = 99;

    vel_buf_init(&buf);
    vel_buf_puts(&buf, "kept");
    is_int(vel_buf_status(&buf, &err), 0, "all is well");
    is_int(vel_buf_reserve(&buf, SIZE_MAX - 2), VEL_ENOMEM, "too much is refused");
    is_int(vel_buf_reserve(&buf, SIZE_MAX), VEL_ENOMEM,
           "and so is a sum that overflows");
    vel_buf_puts(&buf, " and lost");
    is_str(vel_buf_text(&buf), "kept", "after a failure nothing is appended");
    is_int(vel_buf_status(&buf, &err), VEL_ENOMEM, "which is told at the end");
    ok(!vel_buf_take(&buf, &len) && len == 99, "and nothing is given away");
    vel_buf_init(&buf);
    vel_buf_reserve(&buf, SIZE_MAX);
    vel_buf_clear(&buf);
    vel_buf_puts(&buf, "new");
    is_int(vel_buf_status(&buf, &err), 0, "clearing forgets the failure");
    vel_buf_fini(&buf);
}

int main(void)
{
    growing();
    taking();
    failing();
    return done_testing();
}
