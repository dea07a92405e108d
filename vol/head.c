/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdint.h>
#include <string.h>

#include "head.h"

/* Places in it; behind the flags are four addresses and the checksum of all before. */
enum {
    AT_VERSION = 8,
    AT_ADDRESS_SIZE = 9,
    AT_FLAGS = 11,
    AT_ADDRESSES = 12,
    SUM_SIZE = 4
};

static const unsigned char signature[] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};

static uint32_t turn(uint32_t x, int bits)
{
    return x << bits | x >> (32 - bits);
}

static uint32_t little(const unsigned char *bytes, size_t len)
{
    uint32_t x = 0;

    for (size_t i = 0; i < len && i < 4; i++)
        x |= (uint32_t)bytes[i] << 8 * i;
    return x;
}

/* The hash lookup3 of Bob Jenkins: HDF5's checksum of metadata. */
struct hash {
    uint32_t a, b, c;
};

static void add(struct hash *h, const unsigned char *bytes, size_t len)
{
    h->a += little(bytes, len);
    h->b += len > 4 ? little(bytes + 4, len - 4) : 0;
    h->c += len > 8 ? little(bytes + 8, len - 8) : 0;
}

static void mix(struct hash *h)
{
    static const int bits[] = {4, 6, 8, 16, 19, 4};

    for (int i = 0; i < 6; i++) {
        struct hash was = *h;

        was.a = (was.a - was.c) ^ turn(was.c, bits[i]);
        was.c += was.b;
        *h = (struct hash){was.b, was.c, was.a}; /* the next turn is the next one's */
    }
}

static uint32_t finish(struct hash *h)
{
    static const int bits[] = {14, 11, 25, 16, 4, 14, 24};

    for (int i = 0; i < 7; i++) {
        uint32_t c = (h->c ^ h->b) - turn(h->b, bits[i]);

        *h = (struct hash){h->b, c, h->a};
    }
    return h->b;
}

static uint32_t sum_of(const unsigned char *bytes, size_t len)
{
    uint32_t first = 0xdeadbeef + (uint32_t)len;
    struct hash h = {first, first, first};

    for (; len > 12; len -= 12, bytes += 12) {
        add(&h, bytes, 12);
        mix(&h);
    }
    add(&h, bytes, len);
    return finish(&h);
}

size_t vel_head_closed(void *bytes, size_t len)
{
    unsigned char *head = bytes;
    size_t at;
    uint32_t sum;

    if (len < AT_ADDRESSES || memcmp(head, signature, sizeof signature) != 0 ||
        head[AT_VERSION] != 3 || head[AT_FLAGS] == 0)
        return 0;
    at = AT_ADDRESSES + 4 * (size_t)head[AT_ADDRESS_SIZE];
    if (at + SUM_SIZE > len || sum_of(head, at) != little(head + at, SUM_SIZE))
        return 0;
    head[AT_FLAGS] = 0;
    sum = sum_of(head, at);
    for (int i = 0; i < SUM_SIZE; i++)
        head[at + (size_t)i] = (unsigned char)(sum >> 8 * i);
    return at + SUM_SIZE;
}
