/* SPDX-License-Identifier: BSD-3-Clause */
/* part_new_in - what the files of part_new share. */
#ifndef VEL_VIEW_PART_NEW_IN_H
#define VEL_VIEW_PART_NEW_IN_H

#include "view/part_new.h"

/* "DIR/WHAT.NUMBER"; NULL when out of memory. */
char *vel_part_new_numbered(const char *dir, const char *what, int64_t number);

#endif
