/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as the settings that one rank tells the others: an error or files of
 * settings that can be told again, never a crash. */
#include "config.h"

#include <stdlib.h>

#include "conf/texts.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct vel_vec texts, again;
    struct vel_buf written;
    struct vel_err err = {0};

    vel_conf_texts_init(&texts);
    vel_conf_texts_init(&again);
    vel_buf_init(&written);
    if (vel_conf_texts_decode(bytes, len, &texts, &err) < 0) {
        if (!err.text[0])
            abort();
    } else if (vel_conf_texts_encode(&texts, &written, NULL) < 0 ||
               vel_conf_texts_decode(written.data, written.len, &again, NULL) < 0 ||
               again.n != texts.n) {
        abort();
    }
    vel_buf_fini(&written);
    vel_conf_texts_fini(&again);
    vel_conf_texts_fini(&texts);
    return 0;
}
