/* SPDX-License-Identifier: BSD-3-Clause */
/* recordlab - records with one thing wrong in them, and checksums that fit. */
#ifndef TEST_TAP_RECORDLAB_H
#define TEST_TAP_RECORDLAB_H

#include "base/buf.h"

/* What decoders are tried with. */
struct recordlab_damage {
    const char *from; /* in the text of the body; must be there */
    const char *to;
    const char *sentence; /* what the failure's has to hold */
};

/* The record with the first `from` of its body replaced by `to`, as new bytes in *ret.
 */
void recordlab_alter(const struct vel_buf *record, const char *type, const char *from,
                     const char *to, struct vel_buf *ret);

/* Decode these bytes and free what came of it. */
typedef int recordlab_decode_f(const void *bytes, size_t len, struct vel_err *err);

/* Checks: each of n damages is refused with its sentence, and so are all beginnings of
 * the record, and the record with any byte changed. */
void recordlab_refused(const struct vel_buf *record, const char *type,
                       recordlab_decode_f *decode,
                       const struct recordlab_damage *damages, size_t n);

#endif
