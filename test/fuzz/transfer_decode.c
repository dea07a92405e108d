/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as the record of a transfer: an error or one whose names stay inside, and
 * which can be written and read again, never a crash. */
#include "config.h"

#include <stdlib.h>

#include "base/path.h"
#include "fuzz/fuzz.h"
#include "meta/transfer.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct vel_transfer_record record, again;
    struct vel_buf written;
    struct vel_err err = {0};

    if (vel_transfer_record_decode(bytes, len, &record, &err) < 0) {
        if (!err.text[0])
            abort();
        return 0;
    }
    for (size_t i = 0; i < record.files.n; i++) {
        const struct vel_transfer_file *f = vel_vec_at(&record.files, i);

        if (f->from[0] != '/' || !vel_path_is_inner(f->name))
            abort();
    }
    vel_buf_init(&written);
    if (vel_transfer_record_encode(&record, &written, NULL) < 0 ||
        vel_transfer_record_decode(written.data, written.len, &again, NULL) < 0 ||
        again.files.n != record.files.n || again.state.len != record.state.len)
        abort();
    vel_buf_fini(&written);
    vel_transfer_record_fini(&again);
    vel_transfer_record_fini(&record);
    return 0;
}
