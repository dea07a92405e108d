/* SPDX-License-Identifier: BSD-3-Clause */
/* version - which h5veloc a program runs with, which may be newer than the one it was
 * built with. */
#include "config.h"

#include <string.h>

#include "api/state.h"
#include "veloc.h"

int VELOC_Get_version(char *version)
{
    if (!version)
        return vel_api_refuse("VELOC_Get_version was given no room for the result");
    memcpy(version, VELOC_VERSION, sizeof VELOC_VERSION);
    return vel_api_leave_local(0);
}
