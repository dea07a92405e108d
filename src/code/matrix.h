/* SPDX-License-Identifier: BSD-3-Clause */
/* matrix - which combination of the blocks of a stripe gives which other block.
 *
 * A stripe has n positions: the first m hold parity, the other n-m hold data. Parity p
 * is the sum of factor(p, d) * data d: all ones for m = 1 (XOR), a Cauchy matrix
 * otherwise, every square part of which can be inverted, so that any m lost positions
 * can be computed from the others.
 */
#ifndef VEL_CODE_MATRIX_H
#define VEL_CODE_MATRIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { VEL_CODE_MAX = 256 }; /* positions of a stripe */

/* The code of a set: 1 <= m < n <= VEL_CODE_MAX. */
struct vel_code {
    size_t n;
    size_t m;
};

uint8_t vel_code_factor(struct vel_code code, size_t parity, size_t data);

/* How to compute the lost positions of one stripe. */
struct vel_code_solution {
    size_t sources; /* always n - m */
    size_t outputs;
    uint16_t source[VEL_CODE_MAX]; /* positions, ascending */
    uint16_t output[VEL_CODE_MAX]; /* the lost positions, ascending */
    uint8_t *coefs;                /* outputs x sources, row by row */
};

/* is_lost has n entries; encoding is the loss of positions 0 .. m-1. VEL_EINVAL when
 * more than m are lost. Free with vel_code_solution_fini(). */
int vel_code_solve(struct vel_code code, const bool *is_lost,
                   struct vel_code_solution *ret, struct vel_err *err);
void vel_code_solution_fini(struct vel_code_solution *solution);

#endif
