/* SPDX-License-Identifier: BSD-3-Clause */
/* ids - whose a dataset is: an id belongs to whoever makes the directory of the
 * dataset, and record "launch" in it says who that was (doc/protocol-leader.txt, 2).
 */
#ifndef VEL_META_IDS_H
#define VEL_META_IDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "sys/fs.h"

/* The highest that is there; 0: none. */
int vel_id_last(struct vel_fs *fs, const char *dir, int64_t *ret_id,
                struct vel_err *err);

struct vel_id_owner {
    const char *launch;
    bool is_leaders; /* its leaders made it, of files; else a session did */
};

/* Claim an id above `above` and above all that are there, for a launch; dir is
 * PREFIX/.veloc. */
int vel_id_claim(struct vel_fs *fs, const char *dir, int64_t above,
                 const struct vel_id_owner *owner, int64_t *ret_id,
                 struct vel_err *err);

/* Say whose it is, of one whose directory is there. */
int vel_id_say(struct vel_fs *fs, const char *dir, int64_t id,
               const struct vel_id_owner *owner, struct vel_err *err);

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
