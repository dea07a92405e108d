/* SPDX-License-Identifier: BSD-3-Clause */
/* Only as many parities are used as data positions are lost (k of them), and all data
 * that is left. Then one k x k matrix is inverted, k <= m, instead of one of (n-m) x
 * (n-m): the cost of a solution is k*k*n and not n*n*n, which for sets of 256 is the
 * difference between nothing and minutes. */
#include "config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "code/gf.h"
#include "code/matrix.h"

uint8_t vel_code_factor(struct vel_code code, size_t parity, size_t data)
{
    assert(parity < code.m && data < code.n - code.m);
    if (code.m == 1)
        return 1;
    /* Cauchy: 1 / (x + y) with the x from n-m on and the y below n-m, so that no two
     * are equal */
    return vel_gf_inverse((uint8_t)((code.n - code.m + parity) ^ data));
}

/* what is lost and what is there, by number */
struct loss {
    size_t k;                      /* lost data */
    uint16_t data[VEL_CODE_MAX];   /* their numbers, from 0 */
    uint16_t parity[VEL_CODE_MAX]; /* the k parities that replace them */
    uint8_t *inverse;              /* k x k */
};

static void sort_positions(struct vel_code code, const bool *is_lost, struct loss *loss,
                           struct vel_code_solution *ret)
{
    size_t parities = 0;

    for (size_t q = code.m; q < code.n; q++)
        if (is_lost[q])
            loss->data[loss->k++] = (uint16_t)(q - code.m);
    for (size_t q = 0; q < code.n; q++) {
        if (is_lost[q]) {
            ret->output[ret->outputs++] = (uint16_t)q;
        } else if (q >= code.m) {
            ret->source[ret->sources++] = (uint16_t)q;
        } else if (parities < loss->k) {
            loss->parity[parities++] = (uint16_t)q;
            ret->source[ret->sources++] = (uint16_t)q;
        }
    }
}

/* Gauss-Jordan on [a | inverse], both k x k. A square part of the code is never
 * singular, so a pivot is always found. */
static void invert(uint8_t *a, uint8_t *inverse, size_t k)
{
    memset(inverse, 0, k * k);
    for (size_t i = 0; i < k; i++)
        inverse[i * k + i] = 1;
    for (size_t i = 0; i < k; i++) {
        size_t p = i;

        while (a[p * k + i] == 0)
            p++;
        assert(p < k);
        for (size_t j = 0; p != i && j < k; j++) {
            uint8_t t = a[i * k + j];
            a[i * k + j] = a[p * k + j];
            a[p * k + j] = t;
            t = inverse[i * k + j];
            inverse[i * k + j] = inverse[p * k + j];
            inverse[p * k + j] = t;
        }
        uint8_t scale = vel_gf_inverse(a[i * k + i]);
        for (size_t j = 0; j < k; j++) {
            a[i * k + j] = vel_gf_mul(a[i * k + j], scale);
            inverse[i * k + j] = vel_gf_mul(inverse[i * k + j], scale);
        }
        for (size_t r = 0; r < k; r++) {
            uint8_t factor = a[r * k + i];
            if (r == i || factor == 0)
                continue;
            for (size_t j = 0; j < k; j++) {
                a[r * k + j] ^= vel_gf_mul(factor, a[i * k + j]);
                inverse[r * k + j] ^= vel_gf_mul(factor, inverse[i * k + j]);
            }
        }
    }
}

/* Lost data number l as a combination of the sources: the inverse times (parity - what
 * the data that is there contributes to it). */
static void data_row(struct vel_code code, const struct loss *loss, size_t l,
                     const struct vel_code_solution *s, uint8_t *row)
{
    const uint8_t *inv = loss->inverse + l * loss->k;

    for (size_t i = 0, p = 0; i < s->sources; i++) {
        size_t q = s->source[i];

        if (q < code.m) {
            row[i] = inv[p++];
            continue;
        }
        row[i] = 0;
        for (size_t j = 0; j < loss->k; j++)
            row[i] ^=
                vel_gf_mul(inv[j], vel_code_factor(code, loss->parity[j], q - code.m));
    }
}

/* A lost parity: its own factors for the data that is there, and through the rows
 * already found for the data that is not. */
static void parity_row(struct vel_code code, const struct loss *loss, size_t parity,
                       const struct vel_code_solution *s, const uint8_t *data_rows,
                       uint8_t *row)
{
    for (size_t i = 0; i < s->sources; i++) {
        size_t q = s->source[i];

        row[i] = q < code.m ? 0 : vel_code_factor(code, parity, q - code.m);
        for (size_t l = 0; l < loss->k; l++)
            row[i] ^= vel_gf_mul(vel_code_factor(code, parity, loss->data[l]),
                                 data_rows[l * s->sources + i]);
    }
}

int vel_code_solve(struct vel_code code, const bool *is_lost,
                   struct vel_code_solution *ret, struct vel_err *err)
{
    struct vel_code_solution s = {.coefs = NULL};
    struct loss loss = {.k = 0};
    uint8_t *square = NULL;
    int rc = 0;

    assert(code.m >= 1 && code.m < code.n && code.n <= VEL_CODE_MAX);
    sort_positions(code, is_lost, &loss, &s);
    if (s.outputs > code.m)
        return vel_fail(
            err, VEL_EINVAL,
            "%zu of %zu blocks of a stripe are lost, and the code bears %zu", s.outputs,
            code.n, code.m);
    assert(s.sources == code.n - code.m);
    size_t k = loss.k;
    s.coefs = malloc(s.outputs * s.sources + 1);
    loss.inverse = malloc(k * k + 1);
    square = malloc(k * k + 1);
    if (!s.coefs || !loss.inverse || !square) {
        rc = vel_out_of_memory(err, "solving a stripe");
        goto out;
    }
    for (size_t j = 0; j < k; j++)
        for (size_t l = 0; l < k; l++)
            square[j * k + l] = vel_code_factor(code, loss.parity[j], loss.data[l]);
    invert(square, loss.inverse, k);

    /* outputs ascend, so parity rows come first; the data rows they need are behind
     * them */
    uint8_t *data_rows = s.coefs + (s.outputs - k) * s.sources;
    for (size_t l = 0; l < k; l++)
        data_row(code, &loss, l, &s, data_rows + l * s.sources);
    for (size_t o = 0; o < s.outputs - k; o++)
        parity_row(code, &loss, s.output[o], &s, data_rows, s.coefs + o * s.sources);
    *ret = s;
    s.coefs = NULL;
out:
    free(square);
    free(loss.inverse);
    free(s.coefs);
    return rc;
}

void vel_code_solution_fini(struct vel_code_solution *solution)
{
    free(solution->coefs);
    solution->coefs = NULL;
}
