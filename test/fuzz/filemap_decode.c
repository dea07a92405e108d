/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a file map: an error or a map that can be written and read again, never
 * a crash. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "meta/filemap.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct vel_filemap map, again;
    struct vel_buf written;
    struct vel_err err = {0};

    if (vel_filemap_decode(bytes, len, &map, &err) < 0) {
        if (!err.text[0])
            abort();
        return 0;
    }
    if (!vel_dataset_is_name(map.dataset.name) || map.rank < 0 || map.dataset.id < 1 ||
        map.dataset.ranks < 1)
        abort();
    vel_buf_init(&written);
    if (vel_filemap_encode(&map, &written, NULL) < 0 ||
        vel_filemap_decode(written.data, written.len, &again, NULL) < 0 ||
        strcmp(map.dataset.name, again.dataset.name) != 0 || map.rank != again.rank)
        abort();
    vel_filemap_fini(&again);
    vel_buf_fini(&written);
    vel_filemap_fini(&map);
    return 0;
}
