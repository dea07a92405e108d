/* SPDX-License-Identifier: BSD-3-Clause */
/* siphash - SipHash-2-4 with 128 bits: a checksum that only who has the key can make
 * (Aumasson and Bernstein, 2012). */
#ifndef VEL_BASE_SIPHASH_H
#define VEL_BASE_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

enum { VEL_SIPHASH_KEY = 16, VEL_SIPHASH_LEN = 16 };

void vel_siphash(const uint8_t key[VEL_SIPHASH_KEY], const void *bytes, size_t len,
                 uint8_t ret_mac[VEL_SIPHASH_LEN]);

/* The same of bytes that do not lie together. */
struct vel_siphash {
    uint64_t v[4];
    uint8_t rest[8]; /* of the last word: len % 8 bytes */
    size_t len;
};

void vel_siphash_begin(struct vel_siphash *s, const uint8_t key[VEL_SIPHASH_KEY]);
void vel_siphash_add(struct vel_siphash *s, const void *bytes, size_t len);
void vel_siphash_end(struct vel_siphash *s, uint8_t ret_mac[VEL_SIPHASH_LEN]);

#endif
