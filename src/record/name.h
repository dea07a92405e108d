/* SPDX-License-Identifier: BSD-3-Clause */
/* name - the name of a file as UTF-8 text and back (doc/format-record.txt, 3). */
#ifndef VEL_RECORD_NAME_H
#define VEL_RECORD_NAME_H

#include "base/err.h"

/* A new string; NULL when out of memory. */
char *vel_name_encode(const char *name);

/* A new string; VEL_ECORRUPT when the text is no encoded name. */
int vel_name_decode(const char *text, char **ret_name, struct vel_err *err);

#endif
