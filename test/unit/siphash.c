/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <string.h>

#include "base/siphash.h"
#include "tap/tap.h"

/* The authors' vectors: key 00 01 .. 0f, message 00 01 .. of the given length. */
static void vector(size_t len, const char *want)
{
    uint8_t key[16], message[64], mac[16];
    char hex[33];
    static const char digits[] = "0123456789abcdef";

    for (int i = 0; i < 64; i++)
        message[i] = (uint8_t)i;
    memcpy(key, message, sizeof key);
    vel_siphash(key, message, len, mac);
    for (int i = 0; i < 16; i++) {
        hex[2 * i] = digits[mac[i] >> 4];
        hex[2 * i + 1] = digits[mac[i] & 15];
    }
    hex[32] = '\0';
    is_str(hex, want, "the published checksum of %zu bytes", len);
}

/* In pieces of all lengths. */
static void pieces(void)
{
    uint8_t key[16] = {3}, message[100], whole[16], parts[16];
    int same = 0, all = 0;

    for (int i = 0; i < 100; i++)
        message[i] = (uint8_t)(i * 7);
    for (size_t len = 0; len <= sizeof message; len++)
        for (size_t step = 1; step <= 20; step++) {
            struct vel_siphash s;

            vel_siphash(key, message, len, whole);
            vel_siphash_begin(&s, key);
            for (size_t at = 0; at < len; at += step)
                vel_siphash_add(&s, message + at, step < len - at ? step : len - at);
            vel_siphash_end(&s, parts);
            same += memcmp(whole, parts, sizeof whole) == 0;
            all++;
        }
    is_int(same, all, "bytes in pieces have the checksum of the whole");
}

int main(void)
{
    vector(0, "a3817f04ba25a8e66df67214c7550293");
    vector(1, "da87c1d86b99af44347659119b22fc45");
    vector(2, "8177228da4a45dc7fca38bdef60affe4");
    vector(3, "9c70b60c5267a94e5f33b6b02985ed51");
    vector(15, "5493e99933b0a8117e08ec0f97cfc3d9");
    pieces();
    return done_testing();
}
