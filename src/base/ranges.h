/* SPDX-License-Identifier: BSD-3-Clause */
/* ranges - a set of numbers, as text the ranges that they form: "0-15 17". */
#ifndef VEL_BASE_RANGES_H
#define VEL_BASE_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"

struct vel_range {
    int64_t first, last;
};

struct vel_ranges {
    struct vel_vec of; /* struct vel_range, from the lowest on, none beside another */
};

void vel_ranges_init(struct vel_ranges *ranges);
void vel_ranges_fini(struct vel_ranges *ranges);

/* Numbers from 0 to `most`. VEL_ECORRUPT: the text is not what vel_ranges_put()
 * writes. */
int vel_ranges_parse(const char *text, int64_t most, struct vel_ranges *ret,
                     struct vel_err *err);
void vel_ranges_put(const struct vel_ranges *ranges, struct vel_buf *ret);

bool vel_ranges_has(const struct vel_ranges *ranges, int64_t number);

/* What is there stays; what is not there is not missed. */
int vel_ranges_add(struct vel_ranges *ranges, int64_t number, struct vel_err *err);
int vel_ranges_add_range(struct vel_ranges *ranges, const struct vel_range *range,
                         struct vel_err *err);
int vel_ranges_remove(struct vel_ranges *ranges, int64_t number, struct vel_err *err);

#endif
