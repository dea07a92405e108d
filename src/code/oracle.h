/* SPDX-License-Identifier: BSD-3-Clause */
/* oracle - the same arithmetic, byte by byte and without tables or ISA-L: what tests
 * believe. */
#ifndef VEL_CODE_ORACLE_H
#define VEL_CODE_ORACLE_H

#include <stddef.h>
#include <stdint.h>

uint8_t vel_oracle_mul(uint8_t a, uint8_t b);

/* What vel_gf_coder_run() must give. */
void vel_oracle_run(size_t rows, size_t sources, const uint8_t *coefs, size_t len,
                    const uint8_t *const *in, uint8_t *const *out);

#endif
