/* SPDX-License-Identifier: BSD-3-Clause */
/* veloc.h - the VELOC C API of h5veloc. */
#ifndef VELOC_H
#define VELOC_H

#include <mpi.h>

#define VELOC_VERSION_MAJOR 0
#define VELOC_VERSION_MINOR 1
#define VELOC_VERSION_PATCH 0
#define VELOC_VERSION "0.1.0"

/* Room for any name, path or text that the library returns. */
#define VELOC_MAX_NAME 1024

#define VELOC_SUCCESS 0
#define VELOC_FAILURE (-1)

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library at run time as "major.minor.patch", into `version` with
 * room for VELOC_MAX_NAME bytes. May be called before VELOC_Init. VELOC_FAILURE when
 * version is NULL. */
int VELOC_Get_version(char *version);

#ifdef __cplusplus
}
#endif

#endif
