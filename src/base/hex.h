/* SPDX-License-Identifier: BSD-3-Clause */
/* hex - bytes as text: two lower-case digits for each. */
#ifndef VEL_BASE_HEX_H
#define VEL_BASE_HEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VEL_HEX_ROOM(n) (2 * (n) + 1)

/* `ret` has room for VEL_HEX_ROOM(n). */
void vel_hex(const uint8_t *bytes, size_t n, char *ret);

/* From exactly 2 n digits as vel_hex() writes them. */
bool vel_unhex(const char *text, uint8_t *ret, size_t n);

#endif
