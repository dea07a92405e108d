/* SPDX-License-Identifier: BSD-3-Clause */
/* placeholders - what stands at the names of this node's files until they are flushed:
 * all anchors of its leader, held, and said in the ledgers of its caches
 * (doc/life.txt, 5 and 11; doc/facts.txt, 5).
 *
 * A file is known by the directory of its part's dataset (HOME/N.K/B,
 * LEVEL/dataset.D), its rank and its cached name. Any thread may call; the prefix is
 * asked without a lock, so that one who waits for it keeps nobody else waiting.
 */
#ifndef VEL_JOBS_PLACEHOLDERS_H
#define VEL_JOBS_PLACEHOLDERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "jobs/anchor.h"
#include "jobs/batches.h"
#include "sys/fs.h"

struct vel_placeholders;

enum {
    VEL_HOLDS_MOST = 256, /* descriptors; further ones are followed by path, */
    VEL_HOLDS_OPEN = 64   /* those of open files, which need some themselves, earlier */
};

/* The ledgers are borrowed. NULL when out of memory. Accepts NULL to destroy. */
struct vel_placeholders *vel_placeholders_create(struct vel_fs *fs,
                                                 struct vel_batches *const *ledgers,
                                                 size_t n_ledgers);
void vel_placeholders_destroy(struct vel_placeholders *all);

struct vel_placeholder_file {
    const char *dir;
    int64_t rank;
    const char *name;
};

/* Those that earlier leaders have left in these caches. What of them is damaged is told
 * in the log: such files are published at their own names. */
int vel_placeholders_load(struct vel_placeholders *all, struct vel_err *err);

/* The file is made, or opened to be changed: what stands at `path`, if anything, is its
 * placeholder from now on. It is said, and found by its path, once it is closed. */
int vel_placeholders_open(struct vel_placeholders *all,
                          const struct vel_placeholder_file *file, const char *path,
                          struct vel_err *err);

/* The file is complete: it keeps the placeholder that it has had open, wherever that
 * was moved to and whoever has touched it; an empty one becomes a stub, and one that
 * was removed is gone for good. Without one, as vel_placeholders_set(). */
int vel_placeholders_close(struct vel_placeholders *all,
                           const struct vel_placeholder_file *file, const char *path,
                           const struct vel_stub_maker *maker, struct vel_err *err);

/* The file is complete: what stands at `path` is its placeholder, or a stub that is
 * made there. Set again, what stands there now is, unless it is the same. */
int vel_placeholders_set(struct vel_placeholders *all,
                         const struct vel_placeholder_file *file, const char *path,
                         const struct vel_stub_maker *maker, struct vel_err *err);

/* The file is that of another dataset, too. It has none: 0; or (path) the older one has
 * published it there, and whatever stands there by now, the newer one does not. */
int vel_placeholders_share(struct vel_placeholders *all,
                           const struct vel_placeholder_file *from,
                           const struct vel_placeholder_file *to, const char *path,
                           struct vel_err *err);

/* It is the file of that dataset alone, if that shares its placeholder; else of none.
 * `from` is no file of a batch any more, as its ledger says. */
int vel_placeholders_hand_over(struct vel_placeholders *all,
                               const struct vel_placeholder_file *from,
                               const char *to_dir, struct vel_err *err);

/* Where is it now, as vel_anchor_follow()? VEL_ENOENT: it has none. */
int vel_placeholders_follow(struct vel_placeholders *all,
                            const struct vel_placeholder_file *file,
                            enum vel_anchor_now *ret_now, char **ret_path,
                            struct vel_err *err);

/* As vel_anchor_publish(), of a file of dataset `id`; where it comes to stand is
 * on the disk before. Newer files with the same placeholder have the published file as
 * theirs from then on. VEL_ENOENT: it has none. */
int vel_placeholders_publish(struct vel_placeholders *all,
                             const struct vel_placeholder_file *file, int64_t id,
                             const char *temporary, enum vel_anchor_end *ret_end,
                             char **ret_path, struct vel_err *err);

/* The file is published by changing its placeholder in place: until that is over it is
 * known by its inode alone, also by the next leader. It has none: 0. */
int vel_placeholders_patching(struct vel_placeholders *all,
                              const struct vel_placeholder_file *file,
                              struct vel_err *err);

/* It was published so at `path`, or (NULL) not at all. Newer files with the same
 * placeholder have the published file as theirs from then on. */
int vel_placeholders_patched(struct vel_placeholders *all,
                             const struct vel_placeholder_file *file, const char *path,
                             struct vel_err *err);

/* Where a publication that was interrupted has put it, or was to: a new string; NULL
 * when nothing says so. */
char *vel_placeholders_recorded(struct vel_placeholders *all,
                                const struct vel_placeholder_file *file);

/* The newest file whose placeholder stands at `path`; the texts are new strings.
 * VEL_ENOENT: it is nobody's here. */
int vel_placeholders_whose(struct vel_placeholders *all, const char *path,
                           char **ret_dir, int64_t *ret_rank, char **ret_name,
                           struct vel_err *err);

/* The newest file that had its placeholder at `path` when that was last seen. */
int vel_placeholders_last_at(struct vel_placeholders *all, const char *path,
                             char **ret_dir, int64_t *ret_rank, char **ret_name,
                             struct vel_err *err);

/* There will be no such file: it is not followed any more. unlinks: and a stub goes
 * that no other file has, if the file was closed. */
int vel_placeholders_give_up(struct vel_placeholders *all,
                             const struct vel_placeholder_file *file, bool unlinks,
                             struct vel_err *err);

/* The same for all of a dataset, with their stubs. */
int vel_placeholders_lose(struct vel_placeholders *all, const char *dir,
                          struct vel_err *err);

/* All of a dataset is published, or its directory gone: nothing is followed any more.
 * rank < 0: of all ranks. */
void vel_placeholders_forget(struct vel_placeholders *all, const char *dir,
                             int64_t rank);

#endif
