/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a record: an error or a body that can be written again, never a crash.
 */
#include "config.h"

#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "record/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct vel_node *body;
    struct vel_buf again;
    struct vel_err err = {0};
    char *name;
    int version;

    if (vel_record_decode(bytes, len, "sample", 3, &version, &body, &err) < 0) {
        if (!err.text[0])
            abort();
        return 0;
    }
    if (vel_node_get_name(body, "name", &name, NULL) == 0)
        free(name);
    vel_buf_init(&again);
    if (vel_record_encode("sample", version, body, &again, NULL) < 0)
        abort();
    vel_node_destroy(body);
    if (vel_record_decode(again.data, again.len, "sample", 3, &version, &body, NULL) <
        0)
        abort();
    vel_node_destroy(body);
    vel_buf_fini(&again);
    return 0;
}
