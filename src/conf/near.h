/* SPDX-License-Identifier: BSD-3-Clause */
/* near - how much two words differ, to guess what a user meant. */
#ifndef VEL_CONF_NEAR_H
#define VEL_CONF_NEAR_H

#include <stdbool.h>
#include <stddef.h>

/* The best candidate so far. */
struct vel_near {
    const char *word;
    const char *best; /* NULL: none is near enough */
    size_t distance;
};

void vel_near_init(struct vel_near *near, const char *word);
void vel_near_try(struct vel_near *near, const char *candidate);

/* ": did you mean BEST?", or "" for NULL: the end of a sentence. Returns text. */
enum { VEL_NEAR_HINT = 80 };
const char *vel_near_hint(const char *best, char text[VEL_NEAR_HINT]);

#endif
