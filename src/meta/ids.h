/* SPDX-License-Identifier: BSD-3-Clause */
/* ids - whose a dataset is: an id belongs to whoever makes the directory of the
 * dataset, and record "launch" in it says who that was (doc/protocol-leader.txt, 2).
 */
#ifndef VEL_META_IDS_H
#define VEL_META_IDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "meta/made.h"
#include "sys/fs.h"

/* The highest that is there; 0: none. */
int vel_id_last(struct vel_fs *fs, const char *dir, int64_t *ret_id,
                struct vel_err *err);

struct vel_id_owner {
    const char *launch;
    bool is_leaders; /* its leaders made it, of files; else a session did */
};

/* Claim an id above `above` and above all that are there; dir is PREFIX/.veloc. */
int vel_id_take(struct vel_fs *fs, const char *dir, int64_t above, int64_t *ret_id,
                struct vel_err *err);

/* And say for which launch; leaders say what it is with it, a session (made: NULL) does
 * not know yet. */
int vel_id_say(struct vel_fs *fs, const char *dir, int64_t id,
               const struct vel_id_owner *owner, const struct vel_made *made,
               struct vel_err *err);

/* Both, of a session. */
int vel_id_claim(struct vel_fs *fs, const char *dir, int64_t above,
                 const struct vel_id_owner *owner, int64_t *ret_id,
                 struct vel_err *err);

/* What leaders have said that it is. VEL_ENOENT: nobody did. */
int vel_id_made(struct vel_fs *fs, const char *dir, int64_t id, struct vel_made *ret,
                struct vel_err *err);

/* Who that was: a new string; *ret_is_leaders (may be NULL) as above. VEL_ENOENT:
 * nobody said so. */
int vel_id_launch(struct vel_fs *fs, const char *dir, int64_t id, char **ret_launch,
                  bool *ret_is_leaders, struct vel_err *err);

/* Is it the name of a directory that is being removed, and of which dataset? */
bool vel_id_is_going(const char *name, int64_t *ret_id);

/* Surely: one that has no such record, or a damaged one, is not. */
bool vel_id_is_of_leaders(struct vel_fs *fs, const char *dir, int64_t id);

/* The path of the record, a new string; NULL when out of memory. */
char *vel_id_launch_path(const char *dir, int64_t id);

#endif
