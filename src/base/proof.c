/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdbool.h>

#include "base/le.h"
#include "base/proof.h"

/* Hashed before what is no frame, where others have their number. */
#define NO_FRAME UINT64_MAX

/* The secret is two keys: with the second a hash of the words is made, with the first
 * one over both. */
static void hash_words(const uint8_t secret[VEL_SECRET], char use, const void *words,
                       size_t len, uint8_t ret[VEL_SIPHASH_LEN])
{
    struct vel_siphash s;
    uint8_t inner[VEL_SIPHASH_LEN];

    vel_siphash_begin(&s, secret + VEL_SIPHASH_KEY);
    vel_siphash_add(&s, &use, 1);
    vel_siphash_add(&s, words, len);
    vel_siphash_end(&s, inner);
    vel_siphash_begin(&s, secret);
    vel_siphash_add(&s, inner, sizeof inner);
    vel_siphash_add(&s, &use, 1);
    vel_siphash_add(&s, words, len);
    vel_siphash_end(&s, ret);
}

void vel_proof_make(const uint8_t secret[VEL_SECRET], enum vel_proof_side side,
                    const void *words, size_t len, uint8_t ret_proof[VEL_PROOF])
{
    hash_words(secret, (char)side, words, len, ret_proof);
}

static bool differ(const uint8_t a[VEL_SIPHASH_LEN], const uint8_t b[VEL_SIPHASH_LEN])
{
    uint8_t bits = 0;

    for (int i = 0; i < VEL_SIPHASH_LEN; i++)
        bits |= (uint8_t)(a[i] ^ b[i]);
    return bits != 0;
}

int vel_proof_check(const uint8_t got[VEL_PROOF], const uint8_t want[VEL_PROOF],
                    struct vel_err *err)
{
    if (!differ(got, want))
        return 0;
    return vel_fail(err, VEL_EUNSAFE,
                    "it does not know the key, or something between us changes what is "
                    "said or the addresses");
}

void vel_proof_secret(const uint8_t secret[VEL_SECRET], const void *words, size_t len,
                      uint8_t ret_secret[VEL_SECRET])
{
    hash_words(secret, 's', words, len, ret_secret);
    hash_words(secret, 't', words, len, ret_secret + VEL_SIPHASH_LEN);
}

void vel_mac_begin(struct vel_mac *says, struct vel_mac *hears,
                   const uint8_t secret[VEL_SECRET], enum vel_proof_side mine,
                   const void *words, size_t len)
{
    bool accepts = mine == VEL_PROOF_ACCEPTS;

    says->n = hears->n = 0;
    hash_words(secret, accepts ? 'a' : 'c', words, len, says->key);
    hash_words(secret, accepts ? 'c' : 'a', words, len, hears->key);
}

static void hash_numbered(const struct vel_mac *mac, uint64_t number, const void *bytes,
                          size_t len, uint8_t ret[VEL_SIPHASH_LEN])
{
    struct vel_siphash s;
    struct vel_le_writer w;
    uint8_t n[8];

    vel_le_write_init(&w, n, sizeof n);
    vel_le_put64(&w, number);
    vel_siphash_begin(&s, mac->key);
    vel_siphash_add(&s, n, sizeof n);
    vel_siphash_add(&s, bytes, len);
    vel_siphash_end(&s, ret);
}

void vel_mac_make(const struct vel_mac *mac, const void *frame, size_t len,
                  uint8_t ret_mac[VEL_MAC])
{
    hash_numbered(mac, mac->n, frame, len, ret_mac);
}

int vel_mac_check(struct vel_mac *mac, const void *frame, size_t len,
                  const uint8_t got[VEL_MAC], struct vel_err *err)
{
    uint8_t want[VEL_MAC];

    vel_mac_make(mac, frame, len, want);
    if (differ(got, want))
        return vel_fail(err, VEL_ECORRUPT,
                        "a frame was changed on its way, or is somebody else's");
    mac->n++;
    return 0;
}

uint64_t vel_mac_bytes(const struct vel_mac *mac, const void *bytes, size_t len)
{
    struct vel_le_reader r;
    uint8_t hash[VEL_SIPHASH_LEN];

    hash_numbered(mac, NO_FRAME, bytes, len, hash);
    vel_le_read_init(&r, hash, sizeof hash);
    return vel_le_get64(&r);
}
