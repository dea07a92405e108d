/* SPDX-License-Identifier: BSD-3-Clause */
/* library - the shared libraries that we call, through handles of our own. The loader
 * would bind a call by its name alone, to whatever function of that name the program or
 * another library brings along. */
#ifndef VEL_BASE_LIBRARY_H
#define VEL_BASE_LIBRARY_H

#include "base/err.h"

enum vel_library { VEL_LIBRARY_ISAL, VEL_LIBRARY_JANSSON };

/* Can all of them be loaded? Nothing that calls one may begin before. */
int vel_library_check(struct vel_err *err);

/* The function of that name in the library, NULL when the library cannot be loaded. */
void *vel_library_find(enum vel_library library, const char *name);

#endif
