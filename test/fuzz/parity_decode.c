/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as the header of a redundancy file: an error or a header that is written
 * again byte for byte as long as its checksum does not count, never a crash. */
#include "config.h"

#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "red/header.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct vel_red_header header;
    struct vel_buf again;
    struct vel_err err = {0};
    uint64_t size, payload;

    if (vel_red_header_peek(bytes, len, &size, &payload, &err) < 0 ||
        vel_red_header_decode(bytes, len, len + payload, &header, &err) < 0) {
        if (!err.text[0])
            abort();
        return 0;
    }
    vel_buf_init(&again);
    if (vel_red_header_encode(&header, &again, NULL) < 0 || again.len != len)
        abort();
    vel_buf_fini(&again);
    vel_red_header_fini(&header);
    return 0;
}
