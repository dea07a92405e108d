/* SPDX-License-Identifier: BSD-3-Clause */
/* regain - what a lost member's redundancy file said, put together from those of
 * others.
 */
#ifndef VEL_RED_REGAIN_H
#define VEL_RED_REGAIN_H

#include <stddef.h>

#include "base/err.h"
#include "red/header.h"

/* others[i] is the header of member i, of the encoding of `model`, or NULL where it is
 * not at hand; a damaged member's may still tell its list. *ret has every list, and
 * checksums of the payload that are still 0. VEL_ECORRUPT: nobody keeps one of the
 * lists. */
int vel_red_regain(const struct vel_red_header *model,
                   const struct vel_red_header *const *others, size_t me,
                   struct vel_red_header *ret, struct vel_err *err);

#endif
