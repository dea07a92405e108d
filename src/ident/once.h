/* SPDX-License-Identifier: BSD-3-Clause */
/* once - what is decided by who makes a file first (doc/protocol.txt, 4): a
 * record that is made once (vel_fs_once()). A claim is the same with a number: whoever
 * makes NAME.K has taken the right from NAME.(K-1).
 *
 * It does not know what is decided.
 */
#ifndef VEL_IDENT_ONCE_H
#define VEL_IDENT_ONCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "record/node.h"
#include "sys/fs.h"

/* Make a record as record/record.h would save it, with one key more ("maker", random),
 * by which an answer that was lost on its way is settled. *ret_is_mine: false when
 * another was there before, whatever it holds: load it (record/record.h). It survives a
 * power loss when this returns. VEL_EUNSUP: the file system has no link(2). After
 * another failure it may have been made or not; the same call again tells, but then as
 * another's. */
int vel_once(struct vel_fs *fs, const char *path, const char *type, int version,
             const struct vel_node *record, bool *ret_is_mine, struct vel_err *err);

/* The same for those who live: a loss of power may take it, or leave a torn one. */
int vel_once_unsynced(struct vel_fs *fs, const char *path, const char *type,
                      int version, const struct vel_node *record, bool *ret_is_mine,
                      struct vel_err *err);

/* Make the claim above+1, once, as dir/NAME.K. VEL_EEXIST: someone has made it, or a
 * later one; *ret_k is written only when it is ours. */
int vel_claim(struct vel_fs *fs, const char *dir, const char *name, int64_t above,
              const char *type, int version, const struct vel_node *record,
              int64_t *ret_k, struct vel_err *err);

/* The highest K of dir/NAME.K; 0 when there is none, or no directory. */
int vel_claim_newest(struct vel_fs *fs, const char *dir, const char *name,
                     int64_t *ret_k, struct vel_err *err);

/* Load dir/NAME.K as record/record.h does. */
int vel_claim_load(struct vel_fs *fs, const char *dir, const char *name, int64_t k,
                   const char *type, int newest, struct vel_node **ret_record,
                   struct vel_err *err);

#endif
