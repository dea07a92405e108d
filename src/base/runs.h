/* SPDX-License-Identifier: BSD-3-Clause */
/* runs - a list of numbers from 0 on as text, in which what repeats or counts up stands
 * once: "0..15 3*16 7" are 0 to 15, sixteen times 3, and 7.
 */
#ifndef VEL_BASE_RUNS_H
#define VEL_BASE_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"

/* More are refused, for a few bytes may be many numbers. */
enum { VEL_RUNS_MOST = 1 << 22 };

/* Appended; items of numbers are int64_t. */
void vel_runs_put(const struct vel_vec *numbers, struct vel_buf *ret);

/* At most `count` numbers, and never more than VEL_RUNS_MOST, from `least` to `most`.
 * VEL_ECORRUPT: the text is not what vel_runs_put() writes of such. */
int vel_runs_parse(const char *text, size_t count, int64_t least, int64_t most,
                   struct vel_vec *ret, struct vel_err *err);

/* Is each one greater than that before it? */
bool vel_runs_rise(const struct vel_vec *numbers);

#endif
