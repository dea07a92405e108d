/* SPDX-License-Identifier: BSD-3-Clause */
/* gf - arithmetic in GF(2^8), polynomial 0x11d, by ISA-L: the one door to its erasure
 * code.
 *
 * An encoding is `rows` linear combinations of `sources` vectors of bytes, prepared
 * once from its coefficients and then run over any number of pieces.
 */
#ifndef VEL_CODE_GF_H
#define VEL_CODE_GF_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

uint8_t vel_gf_mul(uint8_t a, uint8_t b);

/* a != 0 */
uint8_t vel_gf_inverse(uint8_t a);

struct vel_gf_coder;

/* coefs[row * sources + i] is the factor of source i in that row; 1 <= rows, sources <=
 * 256. */
int vel_gf_coder_create(size_t rows, size_t sources, const uint8_t *coefs,
                        struct vel_gf_coder **ret_coder, struct vel_err *err);
void vel_gf_coder_destroy(struct vel_gf_coder *coder);

/* out[row][0..len-1] = sum of coefs * in[i]. No output may overlap an input. Any thread
 * may run the same coder. */
void vel_gf_coder_run(const struct vel_gf_coder *coder, size_t len,
                      const uint8_t *const *in, uint8_t *const *out);

#endif
