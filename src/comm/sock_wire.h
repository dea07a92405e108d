/* SPDX-License-Identifier: BSD-3-Clause */
/* sock_wire - frames as bytes, and the proof that a peer knows the token.
 *
 * Pure data: knows no connection. What is decoded here was sent by anybody. */
#ifndef VEL_COMM_SOCK_WIRE_H
#define VEL_COMM_SOCK_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "comm/sock.h"

enum {
    FRAME_LEN = 40,
    HELLO_LEN = 36,
    PROOF_LEN = 16,
    NONCE_LEN = 16,
    REPLY_LEN = NONCE_LEN + PROOF_LEN,
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
    uint64_t len; /* of what follows */
};

void vel_frame_encode(const struct frame *frame, uint8_t ret_bytes[FRAME_LEN]);

/* VEL_ECORRUPT when it is none, or one that `from` must not send. */
int vel_frame_decode(const uint8_t bytes[FRAME_LEN], uint32_t from,
                     struct frame *ret_frame, struct vel_err *err);

/* The first words of whoever connects. */
struct hello {
    uint32_t from;
    uint32_t to;
    uint32_t size;
    uint8_t nonce[NONCE_LEN];
};

void vel_hello_encode(const struct hello *hello, uint8_t ret_bytes[HELLO_LEN]);
int vel_hello_decode(const uint8_t bytes[HELLO_LEN], struct hello *ret_hello,
                     struct vel_err *err);

enum proof_role { PROOF_ACCEPTS = 'A', PROOF_CONNECTS = 'C' };

/* The proof of one side, about its hello and the nonce of the one who answered it. */
void vel_proof_make(const uint8_t token[VEL_COMM_TOKEN], enum proof_role role,
                    const uint8_t hello[HELLO_LEN], const uint8_t nonce[NONCE_LEN],
                    uint8_t ret_proof[PROOF_LEN]);

/* Compares in a time that does not tell where they differ. */
int vel_proof_check(const uint8_t got[PROOF_LEN], const uint8_t want[PROOF_LEN],
                    struct vel_err *err);

#endif
