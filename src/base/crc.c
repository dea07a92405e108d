/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <limits.h>
#include <pthread.h>

#include <isa-l/crc.h>

#include "base/crc.h"
#include "base/library.h"

static __typeof__(crc32_iscsi) *isal_crc32_iscsi;

static void bind(void)
{
    isal_crc32_iscsi = vel_library_find(VEL_LIBRARY_ISAL, "crc32_iscsi");
}

uint32_t vel_crc32c(uint32_t crc, const void *bytes, size_t len)
{
    /* ISA-L takes an int and neither inverts at the start nor at the end */
    const size_t most = INT_MAX & ~(size_t)4095;
    const unsigned char *at = bytes;
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, bind);
    crc = ~crc;
    while (len > 0) {
        size_t n = len < most ? len : most;

        /* it reads only; its prototype lacks the const */
        crc = isal_crc32_iscsi((unsigned char *)(uintptr_t)at, (int)n, crc);
        at += n;
        len -= n;
    }
    return ~crc;
}

/* a * b modulo the polynomial, both with the x^0 coefficient in the top bit (reflected
 * form) */
static uint32_t multiply(uint32_t a, uint32_t b)
{
    const uint32_t polynomial = 0x82f63b78u;
    uint32_t product = 0;

    for (; b; b <<= 1) {
        if (b & 0x80000000u)
            product ^= a;
        a = a & 1 ? (a >> 1) ^ polynomial : a >> 1;
    }
    return product;
}

uint32_t vel_crc32c_join(uint32_t crc_a, uint32_t crc_b, uint64_t len_b)
{
    /* appending len_b bytes multiplies A's remainder by x^(8*len_b); square and
     * multiply */
    uint32_t power = 0x00800000u;  /* x^8 */
    uint32_t factor = 0x80000000u; /* 1 */

    for (; len_b; len_b >>= 1) {
        if (len_b & 1)
            factor = multiply(factor, power);
        power = multiply(power, power);
    }
    return multiply(crc_a, factor) ^ crc_b;
}
