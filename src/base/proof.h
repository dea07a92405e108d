/* SPDX-License-Identifier: BSD-3-Clause */
/* proof - two who know a secret show it to each other, and know each other's frames
 * from then on (doc/protocol-comm.txt has the bytes).
 *
 * Both have the same words: what they have said to each other, and where. A proof is of
 * one side over these words, so it is good nowhere else. The keys of what follows come
 * from the same words, one for each direction. With each frame its number in that
 * direction is hashed: what somebody else has made, changed, repeated or left out does
 * not fit.
 */
#ifndef VEL_BASE_PROOF_H
#define VEL_BASE_PROOF_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/siphash.h"

enum { VEL_SECRET = 32, VEL_NONCE = 16, VEL_PROOF = 16, VEL_MAC = VEL_SIPHASH_LEN };

enum vel_proof_side {
    VEL_PROOF_KNOCKS = 'K',   /* who connects, by its first words alone */
    VEL_PROOF_ACCEPTS = 'A',  /* who was connected to, */
    VEL_PROOF_CONNECTS = 'C', /* and who connects, over the words of both */
};

/* It needs the secret: 16 bytes that tell nothing of it. */
void vel_proof_make(const uint8_t secret[VEL_SECRET], enum vel_proof_side side,
                    const void *words, size_t len, uint8_t ret_proof[VEL_PROOF]);

/* VEL_EUNSAFE when they differ. Takes as long wherever they do. */
int vel_proof_check(const uint8_t got[VEL_PROOF], const uint8_t want[VEL_PROOF],
                    struct vel_err *err);

/* A secret of those who know this one and these words. */
void vel_proof_secret(const uint8_t secret[VEL_SECRET], const void *words, size_t len,
                      uint8_t ret_secret[VEL_SECRET]);

/* One direction of a connection. */
struct vel_mac {
    uint8_t key[VEL_SIPHASH_KEY];
    uint64_t n; /* frames so far */
};

/* Both directions after these words, for the side that is `mine`: VEL_PROOF_ACCEPTS, or
 * _CONNECTS. */
void vel_mac_begin(struct vel_mac *says, struct vel_mac *hears,
                   const uint8_t secret[VEL_SECRET], enum vel_proof_side mine,
                   const void *words, size_t len);

/* What belongs to a frame if it is the next one. Who sends it, or has found it right,
 * counts it. */
void vel_mac_make(const struct vel_mac *mac, const void *frame, size_t len,
                  uint8_t ret_mac[VEL_MAC]);

/* VEL_ECORRUPT: it is not the next one of who has proved himself. Counts it else. */
int vel_mac_check(struct vel_mac *mac, const void *frame, size_t len,
                  const uint8_t got[VEL_MAC], struct vel_err *err);

/* Of bytes that a frame announces; of any frame of that direction. */
uint64_t vel_mac_bytes(const struct vel_mac *mac, const void *bytes, size_t len);

#endif
