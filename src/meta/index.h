/* SPDX-License-Identifier: BSD-3-Clause */
/* index - what a prefix says of its datasets: their entries, which are facts in the
 * ledgers of the launches that have made them (doc/facts.txt, 6).
 *
 * For several threads. One of them may be bound: it waits for none of the others.
 */
#ifndef VEL_META_INDEX_H
#define VEL_META_INDEX_H

#include "base/ranges.h"
#include "ledger/ledger.h"
#include "ledger/line.h"
#include "meta/entry.h"
#include "meta/filelist.h"
#include "meta/over.h"

struct vel_index;

/* Nothing is read yet. `dir` is PREFIX/.veloc. */
int vel_index_open(struct vel_fs *fs, const char *dir, struct vel_index **ret,
                   struct vel_err *err);
void vel_index_close(struct vel_index *index);

/* What it was opened with. */
struct vel_fs *vel_index_fs(const struct vel_index *index);
const char *vel_index_dir(const struct vel_index *index);

/* This thread does not wait for others: for who writes, `limit` ns at most. */
void vel_index_bind(struct vel_index *index, uint64_t limit);

/* --- to read --- */

/* VEL_ENOENT: nothing is known of it. VEL_ECORRUPT: nobody can read that. */
int vel_entry_load(struct vel_index *index, int64_t id, struct vel_entry *ret,
                   struct vel_err *err);

/* How far a dataset is, as its entry says: with nothing to free. Fails like
 * vel_entry_load(). */
struct vel_index_where {
    enum vel_place_on_prefix place;
    bool is_replaced, is_fetchable, is_encoded;
};
int vel_index_where(struct vel_index *index, int64_t id, struct vel_index_where *ret,
                    struct vel_err *err);

/* List `list` of a dataset's files (struct vel_listed): the entry has it, or there is a
 * record, which may have what was named since it was staged. */
int vel_index_files(struct vel_index *index, int64_t id, int list, struct vel_vec *ret,
                    struct vel_err *err);

/* That of the entry alone; VEL_ENOENT: it has none. And has it that list? */
int vel_index_told_files(struct vel_index *index, int64_t id, int list,
                         struct vel_vec *ret);
bool vel_index_has_list(struct vel_index *index, int64_t id, int list);

/* Each file of all lists of an entry, as far as they can be read, until one gives
 * another result than 0, which is returned. */
typedef int vel_index_files_f(void *arg, const struct vel_listed *file);
int vel_index_each_file(struct vel_index *index, const struct vel_entry *entry,
                        vel_index_files_f *each, void *arg);

/* All entries, newest first: items of *ret are struct vel_entry. A damaged one is told
 * in the log and left out. No index is an empty one. left_out: as below. */
int vel_index_load(struct vel_index *index, size_t *left_out, struct vel_vec *ret,
                   struct vel_err *err);
void vel_index_fini(struct vel_vec *entries);

/* Those that are gone, of the launches that were read then. */
int vel_index_load_gone(struct vel_index *index, struct vel_ranges *ret,
                        struct vel_err *err);

/* Which entries are read: of datasets between these two, but not those below
 * `over_below` that are in `over` (may be NULL), which forgets what the index does not
 * have any more.
 *
 * A launch whose ledger cannot be read now may have anything. Who decides what is
 * restored or published must know, and fails. Who cleans, tells people or looks for one
 * entry leaves it out: it is told in the log, and counted. */
struct vel_index_range {
    int64_t above, below, over_below;
    struct vel_over *over;
    const char *launch; /* of this one alone; NULL: of all */
    size_t *left_out;   /* NULL: who must know */
};

/* One entry, which is the caller's; a result that is not 0 ends the reading, and is
 * returned. */
typedef int vel_index_f(void *arg, struct vel_entry *entry, struct vel_err *err);

/* The same entry by entry, newest first. */
int vel_index_each(struct vel_index *index, const struct vel_index_range *range,
                   vel_index_f *each, void *arg, struct vel_err *err);

/* Has a launch datasets of which somebody has said something, or may have? VEL_ENOENT:
 * it has no directory. */
int vel_index_has(struct vel_index *index, const char *launch, bool *ret_has,
                  struct vel_err *err);

/* Is a launch over (meta/launch.h)? That is so for good, and asked on the prefix until
 * then. */
int vel_index_is_over(struct vel_index *index, const char *launch, bool *ret_is_over,
                      struct vel_err *err);

/* Who has made a dataset, as vel_id_launch() says it; a block of ids is read once. */
int vel_index_maker(struct vel_index *index, int64_t id, char **ret_launch,
                    bool *ret_is_leaders, struct vel_err *err);

/* All blocks of ids, as vel_ids_list() gives them. */
int vel_index_blocks(struct vel_index *index, struct vel_vec *ret, struct vel_err *err);

/* Is a dataset gone, or was there never one of this id? Not so, when that
 * cannot be known. */
bool vel_index_is_gone(struct vel_index *index, int64_t id);

/* The highest id of which anything is said, or was claimed before the last block. */
int vel_index_last(struct vel_index *index, int64_t *ret_id, struct vel_err *err);

/* Who may change what becomes of a dataset: the owner with the highest number, and its
 * launch, a new string (NULL: nobody asks). The first is who has sealed it. VEL_ENOENT:
 * the dataset is gone. */
int vel_index_owner(struct vel_index *index, int64_t id, int64_t *ret_owner,
                    char **ret_launch, struct vel_err *err);

/* Each line that seals something in a launch that is over, and the size of its ledger:
 * 1. 0: these are not known
 * here, so its ledger is to be read. */
typedef int vel_index_sealed_f(void *arg, const struct vel_ledger_line *line,
                               struct vel_err *err);
int vel_index_sealed(struct vel_index *index, const char *launch, uint64_t *ret_size,
                     vel_index_sealed_f *each, void *arg, struct vel_err *err);

/* Until it goes on, as often as it has asked for that, this thread, which has many
 * questions, takes what a launch that is over says as it was when it asked first. Only
 * for who writes nothing meanwhile, or at the end. */
void vel_index_stand_still(struct vel_index *index);
void vel_index_go_on(struct vel_index *index);

/* It hears, nevertheless, what was said of one launch. */
void vel_index_look_anew(struct vel_index *index, const char *launch);

/* Whoever begins after this need not read the ledgers of marked launches that this
 * index has read (meta/digest.h). Nothing depends on it. */
void vel_index_digest(struct vel_index *index);

/* --- to write --- */

/* Whose this index is. `keep` makes the term of a chair one that can be written, and
 * is asked by the bound thread before it writes; without it, and while there is no such
 * term, this one is no chair. */
typedef int vel_index_keep_f(void *arg, struct vel_err *err);
int vel_index_sign(struct vel_index *index, const char *launch, const char *node,
                   vel_index_keep_f *keep, void *arg, struct vel_err *err);

/* The term of this chair, for one thread at a time: *vel_index_term(), which may be
 * replaced, is the index's. VEL_EBUSY: another one has it for long. */
int vel_index_hold(struct vel_index *index, struct vel_err *err);
struct vel_ledger **vel_index_term(struct vel_index *index);
void vel_index_release(struct vel_index *index);

/* Say what is so now; the entry goes on to have its lists. VEL_ESTATE: a later owner
 * has said something else, or the dataset is gone. */
int vel_entry_save(struct vel_index *index, const struct vel_entry *entry,
                   struct vel_err *err);

/* The same with these short lists, items struct vel_entry_list, of what is staged, and
 * then published. That it is published is on the disk when the chair of its launch says
 * something else, or syncs: until then who comes after a loss of power finds that it is
 * staged, and goes on. */
int vel_entry_save_lists(struct vel_index *index, const struct vel_entry *entry,
                         const struct vel_vec *lists, struct vel_err *err);

/* All that this chair has said is on the disk. */
int vel_index_sync(struct vel_index *index);

/* The same of one that may be gone, but caches have had it; or that nobody has claimed
 * yet: a session has made it while the prefix was away, so it is this launch's. */
int vel_entry_enter(struct vel_index *index, const struct vel_entry *entry,
                    struct vel_err *err);

/* Become the owner after all that there were. */
int vel_index_claim(struct vel_index *index, int64_t id, int64_t *ret_owner,
                    struct vel_err *err);

/* Say that these are gone: nothing of them counts any more, until somebody enters them.
 * On failure some of them may be. */
int vel_index_forget(struct vel_index *index, const int64_t *ids, size_t n,
                     struct vel_err *err);

#endif
