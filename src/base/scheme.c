/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <strings.h>

#include "base/scheme.h"

static const char *const scheme_names[] = {[VEL_SINGLE] = "SINGLE",
                                           [VEL_PARTNER] = "PARTNER",
                                           [VEL_XOR] = "XOR",
                                           [VEL_RS] = "RS"};

const char *vel_scheme_name(enum vel_scheme scheme)
{
    return scheme >= VEL_SINGLE && scheme <= VEL_RS ? scheme_names[scheme] : "unknown";
}

int vel_scheme_parse(const char *name, enum vel_scheme *ret_scheme, struct vel_err *err)
{
    for (int s = VEL_SINGLE; s <= VEL_RS; s++)
        if (strcasecmp(name, scheme_names[s]) == 0) {
            *ret_scheme = (enum vel_scheme)s;
            return 0;
        }
    return vel_fail(err, VEL_EINVAL,
                    "'%s' is no redundancy scheme: use SINGLE, PARTNER, XOR or RS",
                    name);
}
