/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as an index entry: an error or an entry that can be written and read again,
 * never a crash. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "meta/entry.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct vel_entry entry, again;
    struct vel_buf written;
    struct vel_err err = {0};

    if (vel_entry_decode(bytes, len, &entry, &err) < 0) {
        if (!err.text[0])
            abort();
        return 0;
    }
    if (!vel_dataset_is_name(entry.dataset.name) || entry.lists < 0 ||
        entry.dataset.id < 1 || entry.place > VEL_ON_PREFIX)
        abort();
    vel_buf_init(&written);
    if (vel_entry_encode(&entry, &written, NULL) < 0 ||
        vel_entry_decode(written.data, written.len, &again, NULL) < 0 ||
        entry.place != again.place || entry.failed != again.failed)
        abort();
    vel_entry_fini(&again);
    vel_buf_fini(&written);
    vel_entry_fini(&entry);
    return 0;
}
