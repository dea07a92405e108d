/* SPDX-License-Identifier: BSD-3-Clause */
/* ids - whose a dataset is. Ids are given in blocks: one from F on belongs to whoever
 * makes the directory PREFIX/.veloc/ids/F, and a name in it says who that was, and how
 * many there are (doc/format-meta.txt, 13). `dir` is PREFIX/.veloc here.
 */
#ifndef VEL_META_IDS_H
#define VEL_META_IDS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/err.h"
#include "base/vec.h"
#include "sys/fs.h"

enum { VEL_IDS_MOST = 64 }; /* in a block */

struct vel_id_owner {
    const char *launch;
    bool is_leaders; /* its leaders made it, of files; else a session did */
};

/* --- to give them --- */

/* The block of one process. Begins as zeros. */
struct vel_ids {
    int64_t first, next, end;
};

/* The next id, above `above` and above all that others had claimed when this was
 * called; *ret_now (may be NULL): when that was, by the clock of the file system. */
int vel_ids_give(struct vel_fs *fs, const char *dir, struct vel_ids *ids, int64_t above,
                 const struct vel_id_owner *owner, int64_t *ret_id,
                 struct timespec *ret_now, struct vel_err *err);

/* Claim a block of `count` ids above `above` and above all blocks. */
int vel_ids_claim(struct vel_fs *fs, const char *dir, int64_t above, int64_t count,
                  const struct vel_id_owner *owner, int64_t *ret_first,
                  struct vel_err *err);

/* Claim this one, which was given while nobody could claim any. VEL_EEXIST: another
 * launch has. */
int vel_ids_claim_late(struct vel_fs *fs, const char *dir, int64_t id,
                       const struct vel_id_owner *owner, struct vel_err *err);

/* --- to ask --- */

/* Who has made a dataset: a new string; *ret_is_leaders (may be NULL) as above.
 * VEL_ENOENT: nobody has claimed its id. */
int vel_id_launch(struct vel_fs *fs, const char *dir, int64_t id, char **ret_launch,
                  bool *ret_is_leaders, struct vel_err *err);

/* Surely: one that nobody has claimed is not. */
bool vel_id_is_of_leaders(struct vel_fs *fs, const char *dir, int64_t id);

struct vel_ids_block {
    int64_t first, last;
    char *launch; /* NULL: nobody has said whose it is */
    bool is_leaders;
    bool is_told;    /* for who keeps them: meta/digest.h has it; */
    unsigned looked; /* when it was looked at (meta/index_in.h) */
};

/* All of them, ascending: struct vel_ids_block. Those that are in `known`, the same of
 * some that are somebody's (may be NULL), are not listed while they are there. */
int vel_ids_list(struct vel_fs *fs, const char *dir, const struct vel_vec *known,
                 struct vel_vec *ret, struct vel_err *err);
void vel_ids_list_fini(struct vel_vec *blocks);

/* The one that has an id, and the last one that is somebody's; the launch is the
 * caller's. VEL_ENOENT: there is none. */
int vel_ids_load(struct vel_fs *fs, const char *dir, int64_t id,
                 struct vel_ids_block *ret, struct vel_err *err);
int vel_ids_last(struct vel_fs *fs, const char *dir, struct vel_ids_block *ret,
                 struct vel_err *err);

/* Is one that is somebody's still there, and his? Yes, where that cannot be known. */
bool vel_ids_has(struct vel_fs *fs, const char *dir, const struct vel_ids_block *block);

/* Of these the one that has an id; NULL: none. */
const struct vel_ids_block *vel_ids_find(const struct vel_vec *blocks, int64_t id);

/* Remove one. The last one stays: ids go on above it. */
int vel_ids_remove(struct vel_fs *fs, const char *dir,
                   const struct vel_ids_block *block, struct vel_err *err);

#endif
