/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "base/crc.h"
#include "tap/rng.h"
#include "tap/tap.h"

/* one bit after the other, from the definition */
static uint32_t oracle(uint32_t crc, const unsigned char *bytes, size_t len)
{
    crc = ~crc;
    for (size_t i = 0; i < len; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
    }
    return ~crc;
}

int main(void)
{
    static unsigned char bytes[70000];
    struct vel_rng rng;
    int wrong = 0, wrong_parts = 0, wrong_joins = 0;

    ok(vel_crc32c(0, "123456789", 9) == 0xe3069283u, "the known checksum");
    ok(vel_crc32c(0, NULL, 0) == 0, "nothing has checksum 0");
    vel_rng_init(&rng, 42);
    vel_rng_fill(&rng, bytes, sizeof bytes);
    for (size_t len = 0; len < 600; len++) /* every alignment and remainder */
        wrong +=
            vel_crc32c(0, bytes + len % 17, len) != oracle(0, bytes + len % 17, len);
    is_int(wrong, 0, "all short lengths give the oracle's checksum");
    ok(vel_crc32c(0, bytes, sizeof bytes) == oracle(0, bytes, sizeof bytes),
       "a long one too");
    for (int i = 0; i < 300; i++) {
        size_t len = (size_t)vel_rng_below(&rng, sizeof bytes + 1);
        size_t cut = (size_t)vel_rng_below(&rng, len + 1);
        uint32_t whole = vel_crc32c(0, bytes, len), a = vel_crc32c(0, bytes, cut);
        wrong_parts += vel_crc32c(a, bytes + cut, len - cut) != whole;
        uint32_t b = vel_crc32c(0, bytes + cut, len - cut);
        wrong_joins += vel_crc32c_join(a, b, len - cut) != whole;
    }
    is_int(wrong_parts, 0, "a checksum goes on where it was left");
    is_int(wrong_joins, 0, "two checksums are joined without the bytes");
    ok(vel_crc32c_join(0x12345678u, 0, 0) == 0x12345678u,
       "joining nothing changes nothing");
    ok(vel_crc32c_join(0, vel_crc32c(0, "x", 1), UINT64_C(1) << 40) ==
           vel_crc32c(0, "x", 1),
       "joined to nothing, the second stays, whatever its length");
    return done_testing();
}
