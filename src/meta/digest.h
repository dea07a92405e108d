/* SPDX-License-Identifier: BSD-3-Clause */
/* digest - what marked launches say of their datasets, and whose their ids are, once
 * more in one file, PREFIX/.veloc/digest.UID (doc/format-meta.txt, 14): who begins
 * reads that, and their ledgers only where a directory is not as it was. A cache of
 * what the prefix says elsewhere: it may go, be torn or be old.
 */
#ifndef VEL_META_DIGEST_H
#define VEL_META_DIGEST_H

#include "meta/index_in.h"

/* Into a half that is locked, once, when all launches were listed. What cannot be read
 * is not there. */
void vel_digest_load(struct vel_index *index, struct vel_index_half *half);

/* The same of its bytes. */
void vel_digest_take(struct vel_index_half *half, const char *bytes, size_t len);

/* Append what a half, which is locked, knows and it has not. */
void vel_digest_save(struct vel_index *index, struct vel_index_half *half);

#endif
