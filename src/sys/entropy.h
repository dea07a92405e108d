/* SPDX-License-Identifier: BSD-3-Clause */
/* entropy - bytes that nobody can guess: identities, tokens, nonces. */
#ifndef VEL_SYS_ENTROPY_H
#define VEL_SYS_ENTROPY_H

#include <stddef.h>

#include "base/err.h"

int vel_entropy(void *bytes, size_t len, struct vel_err *err);

#endif
