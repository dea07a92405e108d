/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a line of the log of events: an error or an event, never a crash. */
#include "config.h"

#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "meta/events.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct vel_event_line line;
    struct vel_err err = {0};

    if (vel_event_decode((const char *)bytes, len, &line, &err) < 0) {
        if (!err.text[0])
            abort();
        return 0;
    }
    /* what the struct promises to whoever prints it */
    if (!line.event.word || line.event.id < 0 || line.event.bytes < 0 ||
        !(line.event.time >= 0) || !(line.event.seconds >= 0))
        abort();
    vel_event_line_fini(&line);
    return 0;
}
