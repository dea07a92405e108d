/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "code/oracle.h"

uint8_t vel_oracle_mul(uint8_t a, uint8_t b)
{
    unsigned product = 0, x = a;

    for (; b; b >>= 1, x <<= 1) {
        if (x & 0x100)
            x ^= 0x11d;
        if (b & 1)
            product ^= x;
    }
    return (uint8_t)product;
}

void vel_oracle_run(size_t rows, size_t sources, const uint8_t *coefs, size_t len,
                    const uint8_t *const *in, uint8_t *const *out)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t b = 0; b < len; b++) {
            uint8_t sum = 0;

            for (size_t i = 0; i < sources; i++)
                sum ^= vel_oracle_mul(coefs[r * sources + i], in[i][b]);
            out[r][b] = sum;
        }
}
