/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a redundancy descriptor: an error or a descriptor that can be written
 * and read again, never a crash. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "topo/reddesc.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct vel_reddesc desc, again;
    struct vel_buf written;
    struct vel_err err = {0};

    if (vel_reddesc_decode(bytes, len, &desc, &err) < 0) {
        if (!err.text[0])
            abort();
        return 0;
    }
    vel_buf_init(&written);
    /* escapes may make it longer than it can be */
    if (vel_reddesc_encode(&desc, &written, NULL) == 0) {
        if (vel_reddesc_decode(written.data, written.len, &again, NULL) < 0 ||
            strcmp(again.directory, desc.directory) != 0 || again.m != desc.m)
            abort();
        vel_reddesc_fini(&again);
    }
    vel_buf_fini(&written);
    vel_reddesc_fini(&desc);
    return 0;
}
