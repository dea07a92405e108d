/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a list of files: an error or a list whose names stay inside, and which
 * can be written and read again, never a crash. */
#include "config.h"

#include <stdlib.h>

#include "base/path.h"
#include "fuzz/fuzz.h"
#include "meta/filelist.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct vel_vec files, again;
    struct vel_buf written;
    struct vel_err err = {0};
    const struct vel_listed *f;

    vel_vec_init(&files, sizeof *f);
    vel_vec_init(&again, sizeof *f);
    vel_buf_init(&written);
    if (vel_filelist_decode(bytes, len, &files, &err) < 0) {
        if (!err.text[0])
            abort();
        vel_filelist_fini(&files);
        return 0;
    }
    f = files.items;
    for (size_t i = 0; i < files.n; i++)
        if (!vel_path_is_inner(f[i].name) || f[i].rank < 0 || f[i].mode > 07777)
            abort();
    if (vel_filelist_encode(&files, &written, NULL) < 0 ||
        vel_filelist_decode(written.data, written.len, &again, NULL) < 0 ||
        again.n != files.n)
        abort();
    vel_buf_fini(&written);
    vel_filelist_fini(&again);
    vel_filelist_fini(&files);
    return 0;
}
