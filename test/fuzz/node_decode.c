/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as what comes in on a leader's connection, message behind message: an error
 * with a sentence, or a message that is within its table and is the same bytes again.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "brain/messages.h"
#include "fuzz/fuzz.h"

enum { CRC_LEN = 4 };

/* What was decoded is encoded to the bytes that it came from, but for the checksum, at
 * which a fuzzer's build does not look. */
static void encode_again(const struct vel_msg *msg, const uint8_t *bytes, size_t len)
{
    const size_t crc_at = VEL_MSG_HEAD - CRC_LEN;
    struct vel_buf again;

    vel_buf_init(&again);
    if (vel_msg_encode(msg, &again, NULL) < 0 || again.len != len ||
        memcmp(again.data, bytes, crc_at) != 0 ||
        memcmp(again.data + VEL_MSG_HEAD, bytes + VEL_MSG_HEAD, len - VEL_MSG_HEAD) !=
            0)
        abort();
    vel_buf_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    while (len >= VEL_MSG_HEAD) {
        struct vel_err err = {0};
        struct vel_msg_head head;
        struct vel_msg msg;

        int rc = vel_msg_head(bytes, &head, &err);
        if (rc < 0 && !err.text[0])
            abort();
        if (rc < 0 || head.len > len - VEL_MSG_HEAD)
            break;
        size_t whole = VEL_MSG_HEAD + head.len;
        rc = vel_msg_decode(bytes, whole, &msg, &err);
        if (rc < 0 && !err.text[0])
            abort();
        if (rc == 0)
            encode_again(&msg, bytes, whole);
        bytes += whole;
        len -= whole;
    }
    return 0;
}
