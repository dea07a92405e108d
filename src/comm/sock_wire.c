/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdbool.h>
#include <string.h>

#include "base/crc.h"
#include "base/le.h"
#include "base/siphash.h"
#include "comm/sock_wire.h"
#include "comm/tags.h"

enum { WIRE_VERSION = 1 };
#define FRAME_MAGIC UINT32_C(0x46435648) /* "HVCF" */
#define HELLO_MAGIC UINT32_C(0x48435648) /* "HVCH" */

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
static const bool crc_is_checked = false;
#else
static const bool crc_is_checked = true;
#endif

void vel_frame_encode(const struct frame *frame, uint8_t ret_bytes[FRAME_LEN])
{
    struct vel_le_writer w;
    vel_le_write_init(&w, ret_bytes, FRAME_LEN);
    vel_le_put32(&w, FRAME_MAGIC);
    vel_le_put16(&w, WIRE_VERSION);
    vel_le_put16(&w, (uint16_t)frame->kind);
    vel_le_put64(&w, frame->comm);
    vel_le_put32(&w, frame->from);
    vel_le_put32(&w, frame->tag);
    vel_le_put64(&w, frame->len);
    vel_le_put32(&w, 0);
    vel_le_put32(&w, vel_crc32c(0, ret_bytes, FRAME_LEN - 4));
}

int vel_frame_decode(const uint8_t bytes[FRAME_LEN], uint32_t from,
                     struct frame *ret_frame, struct vel_err *err)
{
    struct vel_le_reader r;
    struct frame f;
    vel_le_read_init(&r, bytes, FRAME_LEN);
    if (vel_le_get32(&r) != FRAME_MAGIC)
        return vel_fail(err, VEL_ECORRUPT, "it does not speak our protocol");
    unsigned version = vel_le_get16(&r);
    if (version != WIRE_VERSION)
        return vel_fail(err, VEL_EUNSUP, "it speaks version %u of the protocol, we %d",
                        version, WIRE_VERSION);
    unsigned kind = vel_le_get16(&r);
    f.kind = (enum frame_kind)kind;
    f.comm = vel_le_get64(&r);
    f.from = vel_le_get32(&r);
    f.tag = vel_le_get32(&r);
    f.len = vel_le_get64(&r);
    vel_le_get32(&r);
    uint32_t crc = vel_le_get32(&r);
    if (crc_is_checked && crc != vel_crc32c(0, bytes, FRAME_LEN - 4))
        return vel_fail(err, VEL_ECORRUPT, "a frame has a wrong checksum");
    uint64_t most = kind == FRAME_DATA    ? FRAME_DATA_MOST
                    : kind == FRAME_ALARM ? FRAME_TEXT_MOST
                                          : 0;
    if (kind < FRAME_DATA || kind > FRAME_BYE || f.len > most || f.from != from ||
        (kind == FRAME_DATA && f.tag >= VEL_TAG_END))
        return vel_fail(err, VEL_ECORRUPT, "a frame of kind %u makes no sense", kind);
    *ret_frame = f;
    return 0;
}

void vel_hello_encode(const struct hello *hello, uint8_t ret_bytes[HELLO_LEN])
{
    struct vel_le_writer w;
    vel_le_write_init(&w, ret_bytes, HELLO_LEN);
    vel_le_put32(&w, HELLO_MAGIC);
    vel_le_put32(&w, WIRE_VERSION);
    vel_le_put32(&w, hello->from);
    vel_le_put32(&w, hello->to);
    vel_le_put32(&w, hello->size);
    vel_le_put_bytes(&w, hello->nonce, NONCE_LEN);
}

int vel_hello_decode(const uint8_t bytes[HELLO_LEN], struct hello *ret_hello,
                     struct vel_err *err)
{
    struct vel_le_reader r;
    vel_le_read_init(&r, bytes, HELLO_LEN);
    if (vel_le_get32(&r) != HELLO_MAGIC)
        return vel_fail(err, VEL_ECORRUPT, "it does not speak our protocol");
    uint32_t version = vel_le_get32(&r);
    if (version != WIRE_VERSION)
        return vel_fail(err, VEL_EUNSUP, "it speaks version %u of the protocol, we %d",
                        version, WIRE_VERSION);
    ret_hello->from = vel_le_get32(&r);
    ret_hello->to = vel_le_get32(&r);
    ret_hello->size = vel_le_get32(&r);
    memcpy(ret_hello->nonce, vel_le_get_bytes(&r, NONCE_LEN), NONCE_LEN);
    return 0;
}

/* The token is two keys: with the second a checksum of the words is made, with the
 * first one over both. */
void vel_proof_make(const uint8_t token[VEL_COMM_TOKEN], enum proof_role role,
                    const uint8_t hello[HELLO_LEN], const uint8_t nonce[NONCE_LEN],
                    uint8_t ret_proof[PROOF_LEN])
{
    uint8_t words[PROOF_LEN + 1 + HELLO_LEN + NONCE_LEN];
    words[PROOF_LEN] = (uint8_t)role;
    memcpy(words + PROOF_LEN + 1, hello, HELLO_LEN);
    memcpy(words + PROOF_LEN + 1 + HELLO_LEN, nonce, NONCE_LEN);
    vel_siphash(token + VEL_SIPHASH_KEY, words + PROOF_LEN, sizeof words - PROOF_LEN,
                words);
    vel_siphash(token, words, sizeof words, ret_proof);
}

int vel_proof_check(const uint8_t got[PROOF_LEN], const uint8_t want[PROOF_LEN],
                    struct vel_err *err)
{
    uint8_t differ = 0;
    for (int i = 0; i < PROOF_LEN; i++)
        differ |= (uint8_t)(got[i] ^ want[i]);
    return differ == 0 ? 0 : vel_fail(err, VEL_EUNSAFE, "it does not know the token");
}
