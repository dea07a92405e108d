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

void vel_siphash_begin(struct vel_siphash *s, const uint8_t key[VEL_SIPHASH_KEY])
{
    uint64_t k0 = load(key), k1 = load(key + 8);

    *s = (struct vel_siphash){.v = {k0 ^ UINT64_C(0x736f6d6570736575),
                                    k1 ^ UINT64_C(0x646f72616e646f6d) ^ 0xee,
                                    k0 ^ UINT64_C(0x6c7967656e657261),
                                    k1 ^ UINT64_C(0x7465646279746573)}};
}

void vel_siphash_add(struct vel_siphash *s, const void *bytes, size_t len)
{
    uint64_t v[4] = {s->v[0], s->v[1], s->v[2], s->v[3]};
    const uint8_t *at = bytes;
    size_t has = s->len % 8;

    s->len += len;
    if (has > 0) {
        size_t more = len < 8 - has ? len : 8 - has;

        memcpy(s->rest + has, at, more);
        at += more;
        len -= more;
        if (has + more < 8)
            return;
        absorb(v, load(s->rest));
    }
    for (; len >= 8; at += 8, len -= 8)
        absorb(v, load(at));
    if (len > 0)
        memcpy(s->rest, at, len);
    memcpy(s->v, v, sizeof v);
}

void vel_siphash_end(struct vel_siphash *s, uint8_t ret_mac[VEL_SIPHASH_LEN])
{
    uint8_t last[8] = {0};
    struct vel_le_writer w;
    uint64_t *v = s->v;

    memcpy(last, s->rest, s->len % 8);
    last[7] = (uint8_t)s->len;
    absorb(v, load(last));

    vel_le_write_init(&w, ret_mac, VEL_SIPHASH_LEN);
    v[2] ^= 0xee;
    rounds(v, 4);
    vel_le_put64(&w, v[0] ^ v[1] ^ v[2] ^ v[3]);
    v[1] ^= 0xdd;
    rounds(v, 4);
    vel_le_put64(&w, v[0] ^ v[1] ^ v[2] ^ v[3]);
}

void vel_siphash(const uint8_t key[VEL_SIPHASH_KEY], const void *bytes, size_t len,
                 uint8_t ret_mac[VEL_SIPHASH_LEN])
{
    struct vel_siphash s;

    vel_siphash_begin(&s, key);
    vel_siphash_add(&s, bytes, len);
    vel_siphash_end(&s, ret_mac);
}
