/* SPDX-License-Identifier: BSD-3-Clause */
/* version - which h5veloc a program runs with, which may be newer than the one it was
 * built with. */
#include "config.h"

#include <string.h>

#include "veloc.h"

int VELOC_Get_version(char *version)
{
    if (!version)
        return VELOC_FAILURE;
    memcpy(version, VELOC_VERSION, sizeof VELOC_VERSION);
    return VELOC_SUCCESS;
}
