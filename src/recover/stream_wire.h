/* SPDX-License-Identifier: BSD-3-Clause */
/* stream_wire - what both sides of a stream agree on. */
#ifndef VEL_RECOVER_STREAM_WIRE_H
#define VEL_RECOVER_STREAM_WIRE_H

enum {
    VEL_STREAM_TAG = 0x5200,
    VEL_STREAM_HEAD = 16, /* length of the list, bytes of a piece */
    VEL_STREAM_LIST_MAX = 1 << 30,
    VEL_STREAM_PIECE_MAX = 1 << 30,
};

#endif
