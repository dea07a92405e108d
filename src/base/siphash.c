/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <string.h>

#include "base/le.h"
#include "base/siphash.h"

static inline uint64_t rotate(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

/* In one expression, which compilers make one instruction of: this is all that a hash
 * of many blocks does (test/bench/delta.c). */
static inline uint64_t load(const uint8_t *b)
{
    return (uint64_t)b[0] | (uint64_t)b[1] << 8 | (uint64_t)b[2] << 16 |
           (uint64_t)b[3] << 24 | (uint64_t)b[4] << 32 | (uint64_t)b[5] << 40 |
           (uint64_t)b[6] << 48 | (uint64_t)b[7] << 56;
}

static inline void rounds(uint64_t v[4], int n)
{
    while (n-- > 0) {
        v[0] += v[1];
        v[1] = rotate(v[1], 13) ^ v[0];
        v[0] = rotate(v[0], 32);
        v[2] += v[3];
        v[3] = rotate(v[3], 16) ^ v[2];
        v[0] += v[3];
        v[3] = rotate(v[3], 21) ^ v[0];
        v[2] += v[1];
        v[1] = rotate(v[1], 17) ^ v[2];
        v[2] = rotate(v[2], 32);
    }
}

static inline void absorb(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    rounds(v, 2);
    v[0] ^= word;
}

void vel_siphash(const uint8_t key[VEL_SIPHASH_KEY], const void *bytes, size_t len,
                 uint8_t ret_mac[VEL_SIPHASH_LEN])
{
    uint64_t k0 = load(key), k1 = load(key + 8);
    uint64_t v[4] = {
        k0 ^ UINT64_C(0x736f6d6570736575), k1 ^ UINT64_C(0x646f72616e646f6d) ^ 0xee,
        k0 ^ UINT64_C(0x6c7967656e657261), k1 ^ UINT64_C(0x7465646279746573)};
    const uint8_t *at = bytes;
    uint8_t last[8] = {0};
    struct vel_le_writer w;

    for (size_t i = 0; i < len / 8; i++)
        absorb(v, load(at + 8 * i));
    if (len % 8 > 0)
        memcpy(last, at + len - len % 8, len % 8);
    last[7] = (uint8_t)len;
    absorb(v, load(last));

    vel_le_write_init(&w, ret_mac, VEL_SIPHASH_LEN);
    v[2] ^= 0xee;
    rounds(v, 4);
    vel_le_put64(&w, v[0] ^ v[1] ^ v[2] ^ v[3]);
    v[1] ^= 0xdd;
    rounds(v, 4);
    vel_le_put64(&w, v[0] ^ v[1] ^ v[2] ^ v[3]);
}
