/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a checkpoint image: an error, or a header and a table that are written
 * again byte for byte but for the checksum, never a crash. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "api/image_format.h"
#include "fuzz/fuzz.h"

/* every region lies between header and table */
static void look_at(const struct vel_image_table *table)
{
    for (size_t i = 0; i < table->lines.n; i++) {
        const struct vel_image_line *line = vel_image_line_at(&table->lines, i);
        uint64_t end = line->at + vel_image_line_bytes(line);
        bool is_there;

        if (line->at < VEL_IMAGE_HEADER || end <= line->at || end > table->at ||
            vel_image_table_find(table, line->id, &is_there) != i || !is_there)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct vel_image_table table;
    struct vel_err err = {0};
    uint8_t header[VEL_IMAGE_HEADER];
    struct vel_buf again;
    uint64_t at;
    size_t n;

    if (len < VEL_IMAGE_HEADER)
        return 0;
    if (vel_image_peek(bytes, len, &at, &n, &err) < 0 ||
        vel_image_decode(bytes, bytes + at, n, len, &table, &err) < 0) {
        if (!err.text[0])
            abort();
        return 0;
    }
    look_at(&table);
    vel_buf_init(&again);
    if (vel_image_encode(&table, &again, header, NULL) < 0 || again.len != n ||
        (n > 0 && memcmp(again.data, bytes + at, n) != 0) ||
        memcmp(header, bytes, 12) != 0 || memcmp(header + 16, bytes + 16, 48) != 0)
        abort();
    vel_buf_fini(&again);
    vel_image_table_fini(&table);
    return 0;
}
