/* SPDX-License-Identifier: BSD-3-Clause */
/* scheme - the redundancy schemes by number and by name. The numbers stand in files. */
#ifndef VEL_BASE_SCHEME_H
#define VEL_BASE_SCHEME_H

#include "base/err.h"

enum vel_scheme {
    VEL_SINGLE = 1,
    VEL_PARTNER = 2,
    VEL_XOR = 3,
    VEL_RS = 4,
};

enum { VEL_SET_MAX = 256 }; /* members of a set */

/* "SINGLE", "PARTNER", "XOR", "RS"; and back: VEL_EINVAL for any other word. */
const char *vel_scheme_name(enum vel_scheme scheme);
int vel_scheme_parse(const char *name, enum vel_scheme *ret_scheme,
                     struct vel_err *err);

#endif
