/* SPDX-License-Identifier: BSD-3-Clause */
/* key - the secret of this user's leaders on a prefix, by which they know each other
 * over TCP: PREFIX/.veloc/key.UID, 32 random bytes, made once. */
#ifndef VEL_IDENT_KEY_H
#define VEL_IDENT_KEY_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/proof.h"
#include "sys/fs.h"

struct vel_key {
    uint8_t bytes[VEL_SECRET];
};

/* Read the key of that user (geteuid()) in `dir`, the .veloc of the prefix, or make it.
 * VEL_EUNSAFE: what is there is a link, another user's, open to others, or of another
 * size. */
int vel_key_get(struct vel_fs *fs, const char *dir, uid_t user, struct vel_key *ret,
                struct vel_err *err);

#endif
