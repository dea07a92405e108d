/* SPDX-License-Identifier: BSD-3-Clause */
/* batches - a leader's ledger in a cache: the batches of files that this node has there
 * of its launch, and of launches that are over and that it has taken over
 * (doc/facts.txt, 5). Any thread may ask.
 *
 * A batch is named by its directory. VEL_ECANCEL: another leader writes in our place.
 */
#ifndef VEL_JOBS_BATCHES_H
#define VEL_JOBS_BATCHES_H

#include "sys/clock.h"
#include "view/batch.h"

struct vel_batches;

/* Everything is borrowed. */
struct vel_batches_of {
    struct vel_fs *fs;
    struct vel_clock *clock;
    const char *home; /* "CACHE/USER/ID" */
    const char *node, *launch;
    int64_t ranks;  /* of the launch; 0: not known */
    bool is_shared; /* other machines have this cache, too */
    uint64_t limit; /* T: after a failure of the cache itself */
};

/* In which boot of this machine this is; 0: not known, or of no meaning here. */
int64_t vel_batches_boot(const struct vel_batches *batches);

/* Nothing is written before there is something to be said. */
int vel_batches_create(const struct vel_batches_of *of, struct vel_batches **ret,
                       struct vel_err *err);
void vel_batches_destroy(struct vel_batches *batches);

/* Another leader of this launch may have been here: go on with what it had. Where that
 * cannot be read now, whoever asks what is owed tries it again, or fails. */
int vel_batches_adopt(struct vel_batches *batches, struct vel_err *err);

/* End the ledgers of this node whose launch is over, and take what they say. */
typedef int vel_batches_over_f(void *arg, const char *launch, bool *ret_is,
                               struct vel_err *err);
int vel_batches_take_over(struct vel_batches *batches, vel_batches_over_f *is_over,
                          void *arg, struct vel_err *err);

/* --- batches --- */

/* A new one of the key, which is of this launch. *ret_dir: a new string. */
int vel_batches_make(struct vel_batches *batches, const struct vel_batch_key *key,
                     int64_t level, int kind, char **ret_dir, struct vel_err *err);

/* It belongs to this key now; what is told of its launch stays. */
int vel_batches_renumber(struct vel_batches *batches, const char *dir,
                         const struct vel_batch_key *key, struct vel_err *err);

/* All of it goes, with the files. */
int vel_batches_remove(struct vel_batches *batches, const char *dir,
                       struct vel_err *err);

/* Is anything said of it, though it may be of datasets by now? */
bool vel_batches_has(struct vel_batches *batches, const char *dir);

/* Copies of those that have files of no dataset, or none at all, with these alone,
 * appended to *ret; or the one in a directory, VEL_ENOENT: it is none of these. */
int vel_batches_list(struct vel_batches *batches, struct vel_vec *ret,
                     struct vel_err *err);
int vel_batches_find(struct vel_batches *batches, const char *dir,
                     struct vel_batch *ret, struct vel_err *err);

/* The same, with what other leaders have in this cache: of several who begin when a
 * launch is over one is the heir, and all may take what is sealed. */
int vel_batches_list_all(struct vel_batches *batches, struct vel_vec *ret,
                         struct vel_err *err);

/* --- files --- */

/* A rank will write a file of this cached name: it is open, and its directory there.
 * What had the name before is none any more. VEL_ENOENT: what was in the batch is of
 * datasets, and it goes. */
int vel_batches_open(struct vel_batches *batches, const char *dir, int64_t rank,
                     const char *name, char **ret_path, struct vel_err *err);

/* It is complete; said again, what has the highest order counts. */
int vel_batches_close(struct vel_batches *batches, const char *dir, int64_t rank,
                      const char *name, int64_t order, int64_t size,
                      struct vel_err *err);

/* A rank of another node has closed it later: it is none of datasets after that which
 * it is of, and `before` it is of one none of that, either. On the disk when this
 * returns. */
int vel_batches_give(struct vel_batches *batches, const char *dir, int64_t rank,
                     const char *name, bool before, struct vel_err *err);

/* Of a key, in whichever generation: was what this rank has closed under the name, last
 * in datasets up to `id`, given away? */
bool vel_batches_is_given(struct vel_batches *batches, const struct vel_batch_key *key,
                          int64_t id, int64_t rank, const char *name);

/* It is no file of the dataset any more. What is not there is none. */
int vel_batches_give_up(struct vel_batches *batches, const char *dir, int64_t rank,
                        const char *name, struct vel_err *err);

/* The order of a file of this launch that is closed and of no dataset; 0: it is none.
 * Those of other launches mean nothing here. */
int64_t vel_batches_order(struct vel_batches *batches, const char *dir, int64_t rank,
                          const char *name);

/* What ranks have closed up to an order is of a dataset now, which has it: say so in
 * the ledger; synced: on the disk. Then, when that is said in all caches, its names go,
 * and a directory with its last file. What is no batch of this cache is left alone. Is
 * it said of a part? */
struct vel_batches_taken {
    const char *dir;
    int64_t rank, upto;
};

int vel_batches_part(struct vel_batches *batches, int64_t id,
                     const struct vel_batches_taken *taken, size_t n, bool is_synced,
                     struct vel_err *err);
int vel_batches_leave(struct vel_batches *batches,
                      const struct vel_batches_taken *taken, size_t n,
                      struct vel_err *err);
bool vel_batches_has_part(struct vel_batches *batches, int64_t id, int64_t rank);

/* --- what else is said of files --- */

/* A note is a fact `stands`, `owes` or `copying`: said with the next count, its texts
 * borrowed. Of one subject the last one is kept, while its file, or dataset, is in the
 * cache. is_synced: it is on the disk when this returns. */
int vel_batches_note(struct vel_batches *batches, struct vel_fact fact, bool is_synced,
                     struct vel_err *err);

/* What the last note of a subject says, if it is known, and what the next one is to.
 * The texts that *next has are not its own. */
enum vel_batches_say {
    VEL_BATCHES_SAY_NOTHING,
    VEL_BATCHES_SAY_LATER,
    VEL_BATCHES_SAY_SYNCED,
};

typedef int vel_batches_change_f(void *arg, bool is_known, struct vel_fact *next,
                                 enum vel_batches_say *ret, struct vel_err *err);
int vel_batches_note_anew(struct vel_batches *batches, const struct vel_fact *subject,
                          vel_batches_change_f *change, void *arg, struct vel_err *err);

/* Notes `owes` of this cache: of its own, of others what they had said when this leader
 * read their ledgers last. The one of a subject, VEL_ENOENT: there is none; and all, of
 * which `each` asks no batches. */
typedef int vel_batches_note_f(void *arg, const struct vel_fact *note,
                               struct vel_err *err);
int vel_batches_owed(struct vel_batches *batches, const struct vel_fact *subject,
                     struct vel_fact *ret, struct vel_err *err);
int vel_batches_each_owed(struct vel_batches *batches, vel_batches_note_f *each,
                          void *arg, struct vel_err *err);

/* All ledgers of this cache are read again: what is said from now on is newer. */
int vel_batches_hear(struct vel_batches *batches, struct vel_err *err);

/* The last one of a subject that this ledger has or (with_others) all those of this
 * cache. VEL_ENOENT: there is none. */
int vel_batches_noted(struct vel_batches *batches, const struct vel_fact *subject,
                      bool with_others, struct vel_fact *ret, struct vel_err *err);

/* --- the ledger --- */

/* "CACHE/USER/ID", of the cache where it is. */
const char *vel_batches_home(const struct vel_batches *batches);
const char *vel_batches_node(const struct vel_batches *batches);
struct vel_fs *vel_batches_fs(const struct vel_batches *batches);

/* The directory of a level, in this cache: it is there, and its name on the disk. */
int vel_batches_make_level(struct vel_batches *batches, const char *level,
                           struct vel_err *err);

/* Are we still who writes there? Who is not removes nothing. */
int vel_batches_look(struct vel_batches *batches, struct vel_err *err);

/* All that was said is on the disk, and we are who says it. */
int vel_batches_settle(struct vel_batches *batches, struct vel_err *err);

#endif
