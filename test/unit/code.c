/* SPDX-License-Identifier: BSD-3-Clause */
/* Every loss that a code bears is computed back, and ISA-L does what the scalar oracle
 * does. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tap/rng.h"
#include "code/gf.h"
#include "code/matrix.h"
#include "tap/tap.h"

enum { LEN = 97 }; /* no multiple of any vector width */

/* --- the oracle: the same arithmetic, byte by byte and without tables or ISA-L --- */

static uint8_t oracle_mul(uint8_t a, uint8_t b)
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

static void oracle_run(size_t rows, size_t sources, const uint8_t *coefs, size_t len,
                       const uint8_t *const *in, uint8_t *const *out)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t b = 0; b < len; b++) {
            uint8_t sum = 0;

            for (size_t i = 0; i < sources; i++)
                sum ^= oracle_mul(coefs[r * sources + i], in[i][b]);
            out[r][b] = sum;
        }
}

/* --- against it --- */

static void field(void)
{
    int differ = 0, no_inverse = 0;

    for (int a = 0; a < 256; a++)
        for (int b = 0; b < 256; b++)
            differ += vel_gf_mul((uint8_t)a, (uint8_t)b) !=
                      oracle_mul((uint8_t)a, (uint8_t)b);
    for (int a = 1; a < 256; a++)
        no_inverse += vel_gf_mul((uint8_t)a, vel_gf_inverse((uint8_t)a)) != 1;
    is_int(differ, 0, "all 65536 products are those of the oracle");
    is_int(no_inverse, 0, "every element but zero has its inverse");
}

static void coder_against_oracle(void)
{
    static const size_t lengths[] = {0, 1, 31, 32, 33, 64, 1000, 4096, 65537};
    struct vel_rng rng;
    int wrong = 0;

    vel_rng_init(&rng, 7);
    for (int round = 0; round < 200; round++) {
        size_t sources = 1 + vel_rng_below(&rng, 12), rows = 1 + vel_rng_below(&rng, 5);
        size_t len = lengths[vel_rng_below(&rng, 9)], offset = vel_rng_below(&rng, 3);
        uint8_t coefs[12 * 5],
            *bytes = aligned_alloc(64, 32 * (65600 + 64 - 65600 % 64));
        uint8_t *in[12], *out[5], *want[5];
        struct vel_gf_coder *coder;

        vel_rng_fill(&rng, coefs, sizeof coefs);
        if (round % 4 == 0)
            memset(coefs, 1, sizeof coefs), rows = 1; /* XOR */
        for (size_t i = 0; i < 12 + 10; i++) {
            uint8_t *at = bytes + i * 65664 + offset * (i % 2);
            vel_rng_fill(&rng, at, len);
            if (i < 12)
                in[i] = at;
            else if (i < 17)
                out[i - 12] = at;
            else
                want[i - 17] = at;
        }
        if (vel_gf_coder_create(rows, sources, coefs, &coder, NULL) < 0)
            bail_out("out of memory");
        vel_gf_coder_run(coder, len, (const uint8_t *const *)in, out);
        oracle_run(rows, sources, coefs, len, (const uint8_t *const *)in, want);
        for (size_t r = 0; r < rows; r++)
            wrong += memcmp(out[r], want[r], len) != 0;
        vel_gf_coder_destroy(coder);
        free(bytes);
    }
    is_int(
        wrong, 0,
        "200 random encodings of all lengths and alignments are the oracle's (seed 7)");
}

static uint8_t stripe[VEL_CODE_MAX][LEN], again[VEL_CODE_MAX][LEN];

/* compute the lost positions of `stripe` into `again`; true when they are what they
 * were */
static bool comes_back(struct vel_code code, const bool *is_lost)
{
    struct vel_code_solution s;
    const uint8_t *in[VEL_CODE_MAX];
    uint8_t *out[VEL_CODE_MAX];
    bool same = true;

    if (vel_code_solve(code, is_lost, &s, NULL) < 0)
        return false;
    for (size_t i = 0; i < s.sources; i++) {
        same = same && !is_lost[s.source[i]];
        in[i] = stripe[s.source[i]];
    }
    for (size_t o = 0; o < s.outputs; o++)
        out[o] = again[s.output[o]];
    oracle_run(s.outputs, s.sources, s.coefs, LEN, in, out);
    for (size_t q = 0; q < code.n; q++)
        same = same && (!is_lost[q] || memcmp(again[q], stripe[q], LEN) == 0);
    vel_code_solution_fini(&s);
    return same;
}

/* random data and its parity */
static void fill_stripe(struct vel_code code, struct vel_rng *rng)
{
    for (size_t q = 0; q < code.n; q++)
        vel_rng_fill(rng, stripe[q], LEN);
    for (size_t p = 0; p < code.m; p++)
        for (size_t b = 0; b < LEN; b++) {
            uint8_t sum = 0;
            for (size_t d = 0; d < code.n - code.m; d++)
                sum ^= oracle_mul(vel_code_factor(code, p, d), stripe[code.m + d][b]);
            stripe[p][b] = sum;
        }
}

static void every_loss_of_small_sets(void)
{
    struct vel_rng rng;
    int cases = 0, bad = 0, accepted = 0;

    vel_rng_init(&rng, 3);
    for (size_t n = 2; n <= 10; n++)
        for (size_t m = 1; m < n; m++) {
            struct vel_code code = {n, m};

            fill_stripe(code, &rng);
            for (unsigned mask = 0; mask < 1u << n; mask++) {
                bool is_lost[VEL_CODE_MAX] = {false};
                struct vel_code_solution s;

                for (size_t q = 0; q < n; q++)
                    is_lost[q] = mask >> q & 1;
                if ((size_t)__builtin_popcount(mask) <= m) {
                    cases++;
                    bad += !comes_back(code, is_lost);
                } else if (vel_code_solve(code, is_lost, &s, NULL) == 0) {
                    accepted++;
                    vel_code_solution_fini(&s);
                }
            }
        }
    note("%d losses tried", cases);
    is_int(bad, 0,
           "every loss of up to m of n blocks comes back, for all n <= 10 and all m");
    is_int(accepted, 0, "every loss of more than m blocks is refused");
}

static void large_sets(void)
{
    static const struct vel_code codes[] = {
        {256, 1}, {256, 2}, {256, 128}, {255, 4}, {200, 199}};
    struct vel_rng rng;
    int bad = 0;

    vel_rng_init(&rng, 5);
    for (size_t c = 0; c < sizeof codes / sizeof codes[0]; c++) {
        fill_stripe(codes[c], &rng);
        for (int round = 0; round < 3; round++) {
            bool is_lost[VEL_CODE_MAX] = {false};

            for (size_t lost = 0; lost < codes[c].m;) {
                size_t q = vel_rng_below(&rng, codes[c].n);
                lost += !is_lost[q];
                is_lost[q] = true;
            }
            bad += !comes_back(codes[c], is_lost);
        }
    }
    is_int(bad, 0, "sets of up to 256 bear m losses too (random, seed 5)");
}

int main(void)
{
    field();
    coder_against_oracle();
    every_loss_of_small_sets();
    large_sets();
    return done_testing();
}
