/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "record/record.h"
#include "tap/recordlab.h"
#include "tap/tap.h"

void recordlab_alter(const struct vel_buf *record, const char *type, const char *from,
                     const char *to, struct vel_buf *ret)
{
    struct vel_node *body = NULL;
    struct vel_buf text, altered;
    int version;

    vel_buf_init(&text);
    vel_buf_init(&altered);
    vel_buf_init(ret);
    if (vel_record_decode(record->data, record->len, type, 1, &version, &body, NULL) <
        0)
        bail_out("the record to be altered is none");
    vel_node_print(body, &text);
    vel_node_destroy(body);
    const char *at = strstr(vel_buf_text(&text), from);
    if (!at)
        bail_out("'%s' is not in %s", from, vel_buf_text(&text));
    vel_buf_append(&altered, text.data, (size_t)(at - text.data));
    vel_buf_puts(&altered, to);
    vel_buf_puts(&altered, at + strlen(from));
    if (vel_node_parse(altered.data, altered.len, &body, NULL) < 0 ||
        vel_record_encode(type, version, body, ret, NULL) < 0)
        bail_out("no record can be made of %s", vel_buf_text(&altered));
    vel_node_destroy(body);
    vel_buf_fini(&altered);
    vel_buf_fini(&text);
}

/* The decoder on exactly these bytes, so that a sanitizer sees a read behind them. */
static int decode_exactly(recordlab_decode_f *decode, const char *bytes, size_t len,
                          struct vel_err *err)
{
    char *exact = malloc(len + !len);
    int rc;

    if (!exact)
        bail_out("out of memory");
    memcpy(exact, bytes, len);
    rc = decode(exact, len, err);
    free(exact);
    return rc;
}

static void damaged_bytes(const struct vel_buf *record, recordlab_decode_f *decode)
{
    size_t believed = 0;

    for (size_t i = 0; i < record->len; i++) {
        struct vel_err err = {0};

        believed += decode_exactly(decode, record->data, i, &err) >= 0 || !err.text[0];
        record->data[i] ^= 0x10;
        err = (struct vel_err){0};
        believed += decode_exactly(decode, record->data, record->len, &err) >= 0 ||
                    !err.text[0];
        record->data[i] ^= 0x10;
    }
    is_int((long long)believed, 0,
           "no beginning of it is believed, nor a changed byte");
}

void recordlab_refused(const struct vel_buf *record, const char *type,
                       recordlab_decode_f *decode,
                       const struct recordlab_damage *damages, size_t n)
{
    damaged_bytes(record, decode);
    for (size_t i = 0; i < n; i++) {
        struct vel_err err = {0};
        struct vel_buf altered;
        int rc;

        recordlab_alter(record, type, damages[i].from, damages[i].to, &altered);
        rc = decode_exactly(decode, altered.data, altered.len, &err);
        if (!ok(rc == VEL_ECORRUPT && strstr(err.text, damages[i].sentence),
                "%s instead of %s is refused", damages[i].to, damages[i].from))
            note("result %d: '%s'", rc, err.text);
        vel_buf_fini(&altered);
    }
}
