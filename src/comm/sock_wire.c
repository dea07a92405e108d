/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <string.h>

#include "base/crc.h"
#include "base/le.h"
#include "comm/sock_wire.h"
#include "comm/tags.h"

enum { WIRE_VERSION = 2 };
#define FRAME_MAGIC UINT32_C(0x46435648) /* "HVCF" */
#define HELLO_MAGIC UINT32_C(0x48435648) /* "HVCH" */

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
static const bool mac_is_checked = false;
#else
static const bool mac_is_checked = true;
#endif

void vel_frame_encode(const struct frame *frame, const struct vel_mac *mac,
                      uint8_t ret_bytes[FRAME_LEN])
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
    vel_le_put64(&w, frame->sum);
    vel_mac_make(mac, ret_bytes, FRAME_LEN - VEL_MAC, w.at);
}

int vel_frame_decode(const uint8_t bytes[FRAME_LEN], uint32_t from, struct vel_mac *mac,
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
    int rc = mac_is_checked ? vel_mac_check(mac, bytes, FRAME_LEN - VEL_MAC,
                                            bytes + FRAME_LEN - VEL_MAC, err)
                            : 0;
    if (rc < 0)
        return rc;
    unsigned kind = vel_le_get16(&r);
    f.kind = (enum frame_kind)kind;
    f.comm = vel_le_get64(&r);
    f.from = vel_le_get32(&r);
    f.tag = vel_le_get32(&r);
    f.len = vel_le_get64(&r);
    f.sum = vel_le_get64(&r);
    uint64_t most = kind == FRAME_DATA    ? FRAME_DATA_MOST
                    : kind == FRAME_ALARM ? FRAME_TEXT_MOST
                                          : 0;
    if (kind < FRAME_DATA || kind > FRAME_BYE || f.len > most || f.from != from ||
        (kind == FRAME_DATA && f.tag >= VEL_TAG_END))
        return vel_fail(err, VEL_ECORRUPT, "a frame of kind %u makes no sense", kind);
    *ret_frame = f;
    return 0;
}

uint64_t vel_frame_sum(const struct vel_mac *mac, const void *bytes, uint64_t len)
{
    if (len == 0)
        return 0;
    return len <= FRAME_BULK ? vel_mac_bytes(mac, bytes, (size_t)len)
                             : vel_crc32c(0, bytes, (size_t)len);
}

bool vel_frame_sum_is(const struct frame *frame, uint64_t sum)
{
    return !mac_is_checked || frame->sum == sum;
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
    vel_le_put_bytes(&w, hello->nonce, VEL_NONCE);
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
    memcpy(ret_hello->nonce, vel_le_get_bytes(&r, VEL_NONCE), VEL_NONCE);
    return 0;
}
