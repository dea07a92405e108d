/* SPDX-License-Identifier: BSD-3-Clause */
/* key - the secret of this user's leaders on a prefix, by which they know each other
 * over TCP: PREFIX/.veloc/key.UID, 32 random bytes, made once. */
#ifndef VEL_IDENT_KEY_H
#define VEL_IDENT_KEY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "sys/fs.h"

enum { VEL_KEY = 32, VEL_KEY_NONCE = 16, VEL_KEY_PROOF = 16 };

struct vel_key {
    uint8_t bytes[VEL_KEY];
};

/* Read the key of that user (geteuid()) in `dir`, the .veloc of the prefix, or make it.
 * VEL_EUNSAFE: what is there is a link, another user's, open to others, or of another
 * size. */
int vel_key_get(struct vel_fs *fs, const char *dir, uid_t user, struct vel_key *ret,
                struct vel_err *err);

enum vel_key_side { VEL_KEY_ACCEPTS = 'A', VEL_KEY_CONNECTS = 'C' };

/* That one side knows the key: SipHash under both halves over the side, the bytes of
 * the connecting one's hello and the nonce of the other. */
int vel_key_prove(const struct vel_key *key, enum vel_key_side side, const void *hello,
                  size_t hello_len, const uint8_t nonce[VEL_KEY_NONCE],
                  uint8_t ret_proof[VEL_KEY_PROOF], struct vel_err *err);

/* VEL_EUNSAFE when it is another. Takes as long wherever they differ. */
int vel_key_check(const uint8_t got[VEL_KEY_PROOF], const uint8_t want[VEL_KEY_PROOF],
                  struct vel_err *err);

#endif
