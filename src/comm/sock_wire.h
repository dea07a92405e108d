/* SPDX-License-Identifier: BSD-3-Clause */
/* sock_wire - frames and first words as bytes.
 *
 * Pure data: knows no connection. What is decoded here was sent by anybody. */
#ifndef VEL_COMM_SOCK_WIRE_H
#define VEL_COMM_SOCK_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/proof.h"
#include "comm/sock.h"

enum {
    FRAME_LEN = 40 + VEL_MAC,
    FRAME_BULK = 64 << 10, /* longer messages have a checksum that anybody can make */
    HELLO_LEN = 36,
    FRAME_TEXT_MOST = VEL_ERR_TEXT - 1
};
#define FRAME_DATA_MOST (UINT64_C(1) << 48)

enum frame_kind {
    FRAME_DATA = 1,  /* a message */
    FRAME_ALIVE = 2, /* the sender waits and lives */
    FRAME_ALARM = 3, /* the comm is broken: `tag` is the status, the text follows */
    FRAME_BYE = 4    /* the sender leaves in good order */
};

struct frame {
    enum frame_kind kind;
    uint64_t comm; /* 0: all comms of these connections */
    uint32_t from; /* the rank where the connections were made */
    uint32_t tag;
    uint64_t len; /* of what follows, */
    uint64_t sum; /* and what vel_frame_sum() makes of it */
};

/* As the next one that *mac's side says; who sends it counts it. */
void vel_frame_encode(const struct frame *frame, const struct vel_mac *mac,
                      uint8_t ret_bytes[FRAME_LEN]);

/* VEL_ECORRUPT when it is none, or not the next one, or one that `from` must not send.
 */
int vel_frame_decode(const uint8_t bytes[FRAME_LEN], uint32_t from, struct vel_mac *mac,
                     struct frame *ret_frame, struct vel_err *err);

/* Of the bytes that a frame announces. */
uint64_t vel_frame_sum(const struct vel_mac *mac, const void *bytes, uint64_t len);

/* Are they these? */
bool vel_frame_sum_is(const struct frame *frame, uint64_t sum);

/* The first words of whoever connects. */
struct hello {
    uint32_t from;
    uint32_t to;
    uint32_t size;
    uint8_t nonce[VEL_NONCE];
};

void vel_hello_encode(const struct hello *hello, uint8_t ret_bytes[HELLO_LEN]);
int vel_hello_decode(const uint8_t bytes[HELLO_LEN], struct hello *ret_hello,
                     struct vel_err *err);

#endif
