/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <assert.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <isa-l/erasure_code.h>
#include <isa-l/raid.h>

#include "base/library.h"
#include "code/gf.h"

enum {
    VECTORS_MAX = 256,
    TABLE_SIZE = 32, /* bytes that ISA-L expands a coefficient to */
    XOR_ALIGN = 32,  /* xor_gen wants its vectors aligned so */
};

struct vel_gf_coder {
    size_t rows;
    size_t sources;
    bool is_xor; /* one row of ones: plain XOR, without a table */
    uint8_t tables[];
};

static struct isal {
    __typeof__(ec_encode_data) *encode_data;
    __typeof__(ec_init_tables) *init_tables;
    __typeof__(gf_inv) *inv;
    __typeof__(gf_mul) *mul;
    __typeof__(xor_gen) *xor_gen;
} functions;

static void bind(void)
{
    functions.encode_data = vel_library_find(VEL_LIBRARY_ISAL, "ec_encode_data");
    functions.init_tables = vel_library_find(VEL_LIBRARY_ISAL, "ec_init_tables");
    functions.inv = vel_library_find(VEL_LIBRARY_ISAL, "gf_inv");
    functions.mul = vel_library_find(VEL_LIBRARY_ISAL, "gf_mul");
    functions.xor_gen = vel_library_find(VEL_LIBRARY_ISAL, "xor_gen");
}

static const struct isal *isal(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, bind);
    return &functions;
}

uint8_t vel_gf_mul(uint8_t a, uint8_t b)
{
    return isal()->mul(a, b);
}

uint8_t vel_gf_inverse(uint8_t a)
{
    assert(a != 0);
    return isal()->inv(a);
}

static bool all_ones(const uint8_t *coefs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (coefs[i] != 1)
            return false;
    return true;
}

int vel_gf_coder_create(size_t rows, size_t sources, const uint8_t *coefs,
                        struct vel_gf_coder **ret_coder, struct vel_err *err)
{
    assert(rows >= 1 && rows <= VECTORS_MAX && sources >= 1 && sources <= VECTORS_MAX);
    struct vel_gf_coder *coder = malloc(sizeof *coder + rows * sources * TABLE_SIZE);

    if (!coder)
        return vel_out_of_memory(err, "preparing an erasure code");
    coder->rows = rows;
    coder->sources = sources;
    coder->is_xor = rows == 1 && all_ones(coefs, sources);
    /* it reads the coefficients only; its prototype lacks the const */
    isal()->init_tables((int)sources, (int)rows, (unsigned char *)(uintptr_t)coefs,
                        coder->tables);
    *ret_coder = coder;
    return 0;
}

void vel_gf_coder_destroy(struct vel_gf_coder *coder)
{
    free(coder);
}

static bool is_aligned(const void *at)
{
    return (uintptr_t)at % XOR_ALIGN == 0;
}

/* XOR through the RAID code, which has no table to look up: only for aligned vectors,
 * at least two of them. Returns the bytes done. */
static size_t run_xor(size_t sources, size_t len, const uint8_t *const *in,
                      uint8_t *out)
{
    void *vectors[VECTORS_MAX + 1];
    size_t whole = len - len % XOR_ALIGN;

    if (sources < 2 || whole == 0 || whole > INT_MAX || !is_aligned(out))
        return 0;
    for (size_t i = 0; i < sources; i++) {
        if (!is_aligned(in[i]))
            return 0;
        vectors[i] = (void *)(uintptr_t)in[i];
    }
    vectors[sources] = out;
    return isal()->xor_gen((int)sources + 1, (int)whole, vectors) == 0 ? whole : 0;
}

void vel_gf_coder_run(const struct vel_gf_coder *coder, size_t len,
                      const uint8_t *const *in, uint8_t *const *out)
{
    const size_t most = INT_MAX & ~(size_t)4095;
    uint8_t *from[VECTORS_MAX], *to[VECTORS_MAX];
    size_t done = coder->is_xor ? run_xor(coder->sources, len, in, out[0]) : 0;

    while (done < len) {
        size_t n = len - done < most ? len - done : most;

        for (size_t i = 0; i < coder->sources; i++)
            from[i] = (uint8_t *)(uintptr_t)in[i] + done;
        for (size_t r = 0; r < coder->rows; r++)
            to[r] = out[r] + done;
        isal()->encode_data((int)n, (int)coder->sources, (int)coder->rows,
                            (unsigned char *)(uintptr_t)coder->tables, from, to);
        done += n;
    }
}
