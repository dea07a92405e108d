/* SPDX-License-Identifier: BSD-3-Clause */
/* names - a number for each of the names that were asked for last. Programs make files
 * for weeks: of many names the half that nobody has asked for longest is forgotten.
 */
#ifndef VEL_BRAIN_NAMES_H
#define VEL_BRAIN_NAMES_H

#include <stdint.h>

#include "base/vec.h"

struct vel_names {
    struct vel_vec newer, older; /* struct vel_named, sorted */
    size_t most;                 /* in each of them */
};

enum { VEL_NAMES_MOST = 1 << 15 };

void vel_names_init(struct vel_names *names, size_t most);
void vel_names_fini(struct vel_names *names);

/* Of a name that is not known it is 0. Good until the next call; NULL: out of memory.
 */
int64_t *vel_names_number(struct vel_names *names, const char *name);

#endif
