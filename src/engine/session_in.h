/* SPDX-License-Identifier: BSD-3-Clause */
/* session_in - a session as the files of this room see it. */
#ifndef VEL_ENGINE_SESSION_IN_H
#define VEL_ENGINE_SESSION_IN_H

#include <stdatomic.h>

#include "base/map.h"
#include "base/vec.h"
#include "engine/background.h"
#include "engine/policy.h"
#include "engine/rate_watch.h"
#include "engine/session.h"
#include "meta/index.h"
#include "meta/events.h"
#include "meta/filemap.h"
#include "meta/halt_watch.h"
#include "meta/ids.h"
#include "meta/prefix.h"
#include "jobs/part_files.h"
#include "sys/fs_limit.h"
#include "sys/fs_watch.h"
#include "sys/host.h"
#include "sys/lock.h"
#include "sys/logfile.h"
#include "topo/check.h"
#include "topo/reddesc.h"
#include "xfer/crew.h"
#include "xfer/flush.h"

struct vel_recovery;

/* A complete dataset that this launch can restore without fetching it. */
struct vel_held {
    struct vel_filemap map;
    struct vel_entry entry; /* as rank 0 last wrote it; its dataset is not used */
    char *level;            /* directory of the level here; NULL: on the prefix only */
    char *dir;              /* this rank's files; NULL: they are opened in place */
    size_t store;           /* its index */
    struct vel_vec parts;   /* of a dataset by other ranks: struct vel_brought_part */
    bool is_read_in_place;
    bool is_exposed; /* nothing protects it until it is flushed */
    unsigned owed;   /* what the background has still to do, as far as all ranks know */
    bool is_earlier; /* another launch has made it */
    bool is_told;    /* that the background has failed */
};

/* The dataset that is being written. */
struct vel_writing {
    struct vel_filemap map;
    const struct vel_reddesc *desc; /* the level */
    bool is_encoded;                /* its scheme is due; else SINGLE this time */
    bool is_later;    /* encoded in the background, and SINGLE till then */
    bool is_bypass;   /* to the prefix, under temporary names */
    bool takes_names; /* where files of other datasets were */
    int64_t news;     /* of the background, when all its files were there */
    bool was_full;    /* a file of this rank found no room */
    size_t due;       /* the level that desc is, or stands for */
    char *level, *dir;
    struct vel_map
        *routed;          /* cached names of files in the cache; of a bypass, of all */
    struct vel_map *sums; /* of some that are routed: struct vel_red_sum */
    struct vel_map *through; /* of those that are written where they belong */
    uint64_t begun;          /* monotonic */
};

enum vel_session_state { VEL_IDLE, VEL_WRITING, VEL_READING };

struct vel_session {
    struct vel_comm *world;
    struct vel_fs *fs;
    struct vel_fs *patient; /* the same, when that gives up what changes the prefix */
    struct vel_index *index;
    struct vel_fs_watch *watch; /* whose twin it is, or NULL: not yet */
    struct vel_fs_limit *limit; /* rank 0: of the prefix; NULL: none */
    struct vel_clock *clock;
    struct vel_conf *conf;
    struct vel_logfile *logfile; /* LOG_FILE */
    struct vel_host host;
    char *node;
    const char *unit;          /* only while the session opens, as is fault */
    enum vel_topo_fault fault; /* of settings that are refused */
    char *prefix, *dir;        /* dir: PREFIX/.veloc, or the unit's below it */
    char prefix_id[VEL_PREFIX_ID];
    struct vel_reddesc_owner owner;
    struct vel_groups *groups;
    struct vel_stores *stores;
    struct vel_reddescs *descs;
    char **store_homes; /* per store: "CACHE/USER/ID" on this node */
    bool *is_usable;    /* per store: its directory is there on all ranks */
    bool *is_full;      /* per store: it refused the dataset that is being started */
    uint64_t *refused;  /* per store: what was too much for it, whatever space it says
                           that it has */

    struct vel_comm *leaders; /* of nodes */
    struct vel_comm *alone;   /* this rank: the set of a level that is not encoded */
    struct vel_throttle throttle;   /* FLUSH_BANDWIDTH */
    struct vel_throttle *throttles; /* one per store, for its BANDWIDTH */
    struct vel_crew crew;           /* without a store: its files are copied */

    struct vel_background *background; /* while the prefix cannot be written: nobody */
    struct vel_background *offered;    /* who it is else */
    bool is_met;                       /* the leader of this node knows us */
    char launch[VEL_LAUNCH_ROOM];
    char **homes; /* those of the stores that were usable then */
    size_t n_homes;
    struct vel_seal *seats; /* per level, rank 0's: who sits where */
    bool *is_seated;        /* per level, everyone's: it is known there */

    /* rank 0's */
    struct vel_ids ids;
    int64_t claimed;   /* the newest of them that was given */
    int64_t behind;    /* a dataset of which something was told and not waited for */
    int64_t unclaimed; /* the first that was given without a claim; 0: none */
    bool is_alone;     /* no other launch works with the prefix, as was seen last */
    struct vel_policy policy;
    struct vel_rate_watch rates; /* MTBF_FILE */
    struct vel_halt_watch halt;
    bool has_halt, is_halt_told;
    struct vel_event_log events;
    bool is_deaf;       /* events cannot be recorded, and that was told */
    uint64_t *last_use; /* per level, monotonic; 0: not yet */
    int64_t *ballot;    /* room for what level.c votes on */
    bool *is_spilling;  /* per level, everyone's: its store had no room the last time */

    int64_t last_id, last_checkpoint;
    uint64_t last_bytes; /* of this rank, in the last dataset: what the next may need */
    uint64_t expected, last_expected; /* what the program knew of it, now and then */
    struct vel_vec held;              /* struct vel_held, oldest first */
    struct vel_vec declined; /* int64_t: ids that this launch does not offer again */
    bool has_leftovers;      /* the same on all ranks: see leftovers.c */
    int64_t missed;          /* rank 0's: the newest checkpoint that cannot be had, and
                                why; 0: none is */
    char *why_missed;
    bool is_settling; /* the last promise was perhaps settled */
    int64_t kept;     /* a dataset that does not leave now; 0: none */
    int64_t stuck;    /* the oldest dataset that was waited for in vain; 0: none */
    enum vel_session_state state;
    struct vel_writing writing;
    size_t reading;            /* index in held */
    struct vel_queue *freeing; /* lets go of what was removed; NULL: nothing was yet */
    atomic_size_t n_freeing;   /* files of that */
};

/* --- calls.c --- */
/* Which calls a state allows: VEL_ESTATE with what to call before. Local. */
enum vel_session_event {
    VEL_DO_START,
    VEL_DO_COMPLETE,
    VEL_DO_RESTART,
    VEL_DO_RESTART_END,
    VEL_DO_OTHER
};
int vel_session_may(const struct vel_session *s, enum vel_session_event event,
                    struct vel_err *err);

/* What a program says of a dataset, as it says it. */
struct vel_session_asked {
    const char *name;
    int64_t version;
    unsigned use; /* 0: for what it is already */
};
/* Collective. The same, and all ranks ask for the same dataset by a name and a version
 * that can be: VEL_EINVAL. The two below are its halves, to be used around a fold of
 * those numbers by VEL_COMM_MIN. */
enum { VEL_SESSION_MEANT = 4, VEL_SESSION_BALLOT = 5 + VEL_SESSION_MEANT };
int vel_session_mean(const struct vel_session *s, enum vel_session_event event,
                     const struct vel_session_asked *asked, int64_t *ret_meant,
                     struct vel_err *err);
int vel_session_check_meant(const struct vel_session_asked *asked, const int64_t *meant,
                            struct vel_err *err);
int vel_session_may_all(struct vel_session *s, enum vel_session_event event,
                        const struct vel_session_asked *asked, struct vel_err *err);

/* --- logging.c: LOG_LEVEL, DEBUG and LOG_FILE in force, or not yet, or no longer ---
 */
void vel_session_log_begin(const struct vel_session *s);
int vel_session_log_open(struct vel_session *s, struct vel_err *err);
void vel_session_log_close(struct vel_session *s);

/* --- decide.c --- */
/* Rank 0 tells when the program is to end; others do nothing. Local. */
void vel_session_begin_halt(struct vel_session *s);
void vel_session_look_for_halt(struct vel_session *s);

/* --- closing.c --- */
/* Collective. What is due at the end comes to the prefix. */
int vel_session_flush_owed(struct vel_session *s, struct vel_err *err);
/* Collective. What is complete is encoded: whoever leaves cuts that off, and others
 * would wait for him. */
int vel_session_protect_owed(struct vel_session *s, struct vel_err *err);

/* --- alone.c --- */
/* Collective. Of the launches that work with `dir` one recovers at a time; NULL: locks
 * cannot tell. */
int vel_session_lock_recovery(struct vel_session *s, struct vel_lock **ret_lock,
                              struct vel_err *err);

/* --- claim.c: whose is which, while several launches work with a prefix --- */
/* Local. Others who are there are known. */
void vel_session_begin_claims(struct vel_session *s);
/* Local. The prefix for the thread that calls this, in what a checkpoint does there:
 * what has not come back after PEER_TIMEOUT fails, and until then all else at once. */
struct vel_fs *vel_session_limited(struct vel_session *s);
/* Rank 0: ids that were given while the prefix could not be written. */
void vel_session_claim_late(struct vel_session *s);
/* Rank 0: an id that nobody else has, and when it was given; the same again until it
 * was used. */
int vel_session_claim(struct vel_session *s, struct vel_dataset *ret,
                      struct vel_err *err);
/* Local. Does its claim say that it is no session's, or that of a launch that is
 * neither ours nor over? Then we neither offer nor change it. Who decides what can be
 * restored must know, and fails; to others it is another's while nobody knows. */
int vel_session_find_whose(const struct vel_session *s, int64_t id,
                           bool *ret_is_anothers, struct vel_err *err);
bool vel_session_is_anothers(const struct vel_session *s, int64_t id);
/* Local. Has this launch made it, and no leader of it? */
bool vel_session_is_own(const struct vel_session *s, int64_t id);
/* Local. Has that launch ended, or are its records gone? */
bool vel_session_is_over(const struct vel_session *s, const char *launch);
/* Local. Has another launch decided that ours is over? */
bool vel_session_is_ended(const struct vel_session *s);
/* Local. Rank 0: the index, without datasets of others: items struct vel_entry, newest
 * first. Elsewhere it is empty. left_out: NULL, or of who only cleans (struct
 * vel_index_range). */
int vel_session_load_index(struct vel_session *s, size_t *left_out,
                           struct vel_vec *ret_entries, struct vel_err *err);
/* Local. The newest one of that name and version; NULL: there is none. */
const struct vel_entry *vel_session_newest_entry(const struct vel_vec *entries,
                                                 const char *name, int64_t version);
/* Collective. All ranks get the entry that rank 0 has chosen, and free it; when it has
 * chosen none (NULL, as elsewhere) the id of *ret is 0. `rc` is what this rank did
 * before; a failure there is everyone's. */
int vel_session_share_entry(struct vel_session *s, int rc,
                            const struct vel_entry *chosen, struct vel_entry *ret,
                            struct vel_err *err);
/* Local. Remove this rank's part of a held dataset from the cache. */
int vel_session_remove_part(struct vel_session *s, const struct vel_held *held,
                            struct vel_err *err);

/* --- freeing.c: files whose names go while they are held open --- */
struct vel_freeing;
/* The large files below `dir`; NULL: none. */
struct vel_freeing *vel_freeing_begin(struct vel_session *s, const char *dir);
/* Their names are gone: their bytes go behind the program. Frees it. */
void vel_freeing_end(struct vel_session *s, struct vel_freeing *freeing);
/* All that was removed is free. */
void vel_freeing_wait(struct vel_session *s);

/* --- promise.c: what the background is to do --- */
/* Collective. All ranks owe bits of enum vel_background_owed for their parts of a
 * dataset in `dir`, and rank 0 settles it. `level`: its index among the descriptors,
 * when its sets are those; else negative. */
int vel_session_promise(struct vel_session *s, const struct vel_filemap *map, char *dir,
                        int level, unsigned owed, struct vel_err *err);
/* Local. Are its files to be read on the prefix by name, and go into no container? */
bool vel_session_is_plain(const struct vel_session *s,
                          const struct vel_dataset *dataset);
/* Collective. A held dataset is to come to the prefix, whatever else is owed of it. */
int vel_session_owe_flush(struct vel_session *s, struct vel_held *held,
                          struct vel_err *err);
/* Local. Nothing of it is under way on this node any more (VEL_OWE_NOTHING), or until
 * more is owed (VEL_OWE_REST). *ret_before: what was. */
int vel_session_take_back(struct vel_session *s, int64_t id, unsigned what,
                          const char *dir, unsigned *ret_before, struct vel_err *err);
/* Collective. What is owed of a dataset of an earlier launch rests while it is
 * recovered; *ret_before is the same on all ranks, and 0 without leaders. Then it
 * goes on as it was, or is owed for the parts as they lie now: where that fails it is
 * told, and only a communicator that broke is a failure. */
int vel_session_rest(struct vel_session *s, int64_t id, unsigned *ret_before,
                     struct vel_err *err);
int vel_session_go_on(struct vel_session *s, int64_t id, unsigned before,
                      struct vel_err *err);
int vel_session_owe_again(struct vel_session *s, struct vel_held *held, unsigned before,
                          struct vel_err *err);
/* Collective. The same for a held dataset, which is owed nothing then. */
int vel_session_take_back_held(struct vel_session *s, struct vel_held *held,
                               struct vel_err *err);

/* --- mark.c: what becomes of datasets on the prefix. Local, of rank 0; others do
 * nothing. --- */
/* Done when it returns. */
int vel_session_mark(struct vel_session *s, enum vel_mark what,
                     const struct vel_entry *entry, struct vel_err *err);
int vel_session_mark_id(struct vel_session *s, enum vel_mark what, int64_t id,
                        struct vel_err *err);
/* All that was told is done. */
void vel_session_mark_all(struct vel_session *s);
/* Behind the program, in the order in which it is told; without leaders nothing is. */
void vel_session_mark_behind(struct vel_session *s, enum vel_mark what,
                             const struct vel_entry *entry);
/* No cache has it any more, and the prefix not either. */
void vel_session_forget_behind(struct vel_session *s, int64_t id);

/* --- meet.c: who works beside us --- */
/* Collective. From here on the leader knows us. Where the prefix cannot be written
 * there is none, and that is told. */
int vel_session_meet(struct vel_session *s, struct vel_err *err);
/* Collective. The same after all, when the prefix can be written meanwhile. */
int vel_session_meet_late(struct vel_session *s, struct vel_err *err);
/* Local. Has this launch no leaders? */
bool vel_session_has_nobody(const struct vel_session *s);
/* Local. And no longer; one that does not answer has nothing against it. */
void vel_session_part(struct vel_session *s, bool is_well);
/* --- behind.c: what the background has done meanwhile --- */
/* Rank 0, local: how far those are of which anything is owed, for a fold by
 * VEL_COMM_MIN. Others say VEL_NO_NEWS. */
#define VEL_NO_NEWS INT64_MAX
int64_t vel_session_news(struct vel_session *s);
/* Collective. What came of it: what need not stay goes. */
int vel_session_learn(struct vel_session *s, int64_t news, struct vel_err *err);
/* Collective. With STRICT, a failure of the background that was not told yet. */
int vel_session_tell_failed(struct vel_session *s, struct vel_err *err);
/* Collective. Wait for the oldest that is owed, and `patience` seconds while nothing
 * moves (0: FLUSH_STALL). *ret_moved: something has come of it, so that there may be
 * more room. */
int vel_session_wait_oldest(struct vel_session *s, int64_t patience, bool *ret_moved,
                            struct vel_err *err);
/* Collective. Wait for one: until it is done or has failed once, which is told. */
int vel_session_wait_for(struct vel_session *s, int64_t id, struct vel_err *err);
/* Collective. Wait until all is encoded as it should be, whatever is left to flush. */
int vel_session_wait_protected(struct vel_session *s, struct vel_err *err);
/* Local, the same on all ranks. Has the oldest been waited for in vain? */
bool vel_session_is_stuck(const struct vel_session *s);
/* Local. The newest dataset that is encoded as it should be; 0: none. */
int64_t vel_session_newest_safe(const struct vel_session *s);
/* Is anything owed of what is held? Local, the same on all ranks. */
bool vel_session_is_owing(const struct vel_session *s);

/* --- movers.c: who moves files, and how fast --- */
/* Local. */
int vel_session_make_crew(struct vel_session *s, struct vel_err *err);
void vel_session_leave_crew(struct vel_session *s);
/* Local. The crew for what lies on the store of that index, or on none (stores->n). */
struct vel_crew vel_session_crew(struct vel_session *s, size_t store);

/* --- place.c --- */
/* Where a file of the dataset under way is written: in the cache, or beside its place
 * on the prefix. A new string. */
int vel_session_place(const struct vel_session *s, const char *name, char **ret_path,
                      struct vel_err *err);
/* Local. What there is of its files in the cache, whole or not. */
uint64_t vel_session_written(const struct vel_session *s);
/* Collective. Make the directories of the level that was chosen, or of another one when
 * its store refuses. */
int vel_session_make_place(struct vel_session *s, struct vel_err *err);
/* Local. Remove this rank's part of the dataset under way. */
void vel_session_remove_place(struct vel_session *s);

/* --- spill.c --- */
/* Local. The dataset under way has no room for its redundancy: its files go to the
 * prefix, under temporary names. */
int vel_session_spill(struct vel_session *s, struct vel_err *err);
/* Local. This rank's files that were written to the prefix itself, as a flush would
 * have listed them; appended. */
int vel_session_list_written(struct vel_session *s, struct vel_vec *files,
                             struct vel_err *err);
/* Local. It is on the prefix, and needs no directories in the cache any more. */
void vel_session_leave_cache(struct vel_session *s);

/* --- recovery.c --- */
int vel_session_recover(struct vel_session *s, struct vel_err *err);

/* --- held.c: what can be restored --- */
void vel_held_fini(struct vel_held *held);
struct vel_held *vel_session_held(const struct vel_session *s, size_t i);
/* Takes over *held, also on failure. */
int vel_session_hold(struct vel_session *s, struct vel_held *held, struct vel_err *err);
/* Local. Remove this rank's part of a held dataset, and forget it. What it has on the
 * prefix stays when it can be fetched from there, or when that is asked for. */
void vel_session_evict(struct vel_session *s, size_t i, bool keeps_prefix);
/* An output that is not on the prefix yet: this is the only copy. */
bool vel_held_is_owed(const struct vel_held *held);
/* Collective. Checkpoints whose flush has failed, and that newer ones stand for, are
 * owed no longer. */
int vel_session_give_up_old(struct vel_session *s, struct vel_err *err);
/* Local. As many older ones as COUNT of their stores does not allow go, but none that
 * is owed. */
void vel_session_evict_old(struct vel_session *s);
/* Has a store more checkpoints of this launch than COUNT? Local, the same on all ranks.
 */
bool vel_session_is_overfull(const struct vel_session *s, size_t store);
struct vel_held *vel_session_held_of(const struct vel_session *s, int64_t id);
/* The newest of that name and version; NULL when there is none. name NULL: any; version
 * below 0: any. */
struct vel_held *vel_session_find(const struct vel_session *s, const char *name,
                                  int64_t version);

/* --- leftovers.c: datasets that nobody can restore --- */
/* Collective. Of what is in the index (rank 0's) and was to be in caches, some is
 * nowhere: not held. Of that it is said what the caches had nothing of; and noted for
 * a sweep. */
int vel_session_miss(struct vel_session *s, const struct vel_vec *entries,
                     const struct vel_recovery *recovery, struct vel_err *err);
/* Local. Dataset `id` cannot be had, for that reason, unless its entry (NULL: none
 * counts) says that it still can, or need not. */
void vel_session_note_missed(struct vel_session *s, const struct vel_entry *entry,
                             int64_t id, const char *why);
/* Collective. With RESTART=REQUIRE on rank 0: fails when that is newer than all that is
 * held. */
int vel_session_require(struct vel_session *s, struct vel_err *err);
/* Local. A newer dataset is complete: what was set aside before it goes, and the
 * entries of what is nowhere. */
void vel_session_sweep(struct vel_session *s);
/* Local. Their space is needed: what was set aside goes. */
void vel_session_sweep_aside(struct vel_session *s);

/* --- level.c: where a new dataset goes --- */
/* Collective. `rc` is what this rank did before; a failure there is everyone's. The
 * numbers `meant` are folded on the way, unless NULL. */
int vel_session_choose(struct vel_session *s, struct vel_writing *w, int rc,
                       int64_t *meant, struct vel_err *err);

/* Local. Is there room for the next dataset on the file system of `dir`: for what the
 * program expects and more than the last one took; where stores are on it, of all ranks
 * that fill them, and with redundancy. */
bool vel_session_fits(struct vel_session *s, const char *dir);

/* Local. The dataset under way has found no place: if that was for lack of space, the
 * next one needs more than this rank has written and could have. */
void vel_session_learn_size(struct vel_session *s);

/* --- protect.c --- */
/* Collective. Apply the level of w to `n` files in its directory; `rc` as above. */
int vel_session_protect(struct vel_session *s, const struct vel_writing *w, int rc,
                        char *const *names, size_t n, struct vel_err *err);

/* --- publish.c: to the prefix --- */
/* Local, by rank 0's entries. Files that a session has written on the prefix, and that
 * have not all their names yet, get them, and what was being removed goes; *entries are
 * as it came out. Failures are told in the log. */
void vel_session_finish_begun(struct vel_session *s, struct vel_vec *entries);
/* Collective. The same for one that is staged, and to be read: a failure is one. */
int vel_session_finish_one(struct vel_session *s, struct vel_entry *entry,
                           struct vel_err *err);
int vel_session_finish_held(struct vel_session *s, struct vel_held *held,
                            struct vel_err *err);
/* Collective. A held dataset is on the prefix when it returns, and still held, while
 * others may have left. Where it fails it is tried again by the background. */
int vel_session_flush(struct vel_session *s, int64_t id, struct vel_held **ret_held,
                      struct vel_err *err);
/* The same, and each file has its own name there. */
int vel_session_flush_named(struct vel_session *s, int64_t id,
                            struct vel_held **ret_held, struct vel_err *err);
/* Local. Is a flush due, by the books of this rank? Those of rank 0 count. */
bool vel_session_flush_due(const struct vel_session *s,
                           const struct vel_dataset *dataset, bool is_exposed,
                           bool is_last);
/* Collective. The oldest on the prefix go, as PREFIX_SIZE says, behind the program. */
int vel_session_slide(struct vel_session *s, struct vel_err *err);
/* Collective. The dataset under way was written to the prefix, and is held there only.
 */
int vel_session_adopt(struct vel_session *s, struct vel_held *held,
                      struct vel_vec *files, struct vel_err *err);
/* Collective. This rank's files of a held dataset, with sizes and checksums: items
 * struct vel_flush_file. Local. */
int vel_session_files(struct vel_session *s, const struct vel_held *held,
                      struct vel_vec *ret_files, struct vel_err *err);

/* --- through.c: files that are written where they belong, past the cache. Local. ---
 */
/* What was written through of the dataset under way, listed in its directory. */
int vel_session_list_through(struct vel_session *s, struct vel_err *err);
/* A list (items struct vel_listed) into a rank's directory. */
int vel_session_save_through(const struct vel_session *s, const char *dir,
                             const struct vel_vec *files, struct vel_err *err);
/* Are those of this rank still what was written? */
int vel_session_check_through(struct vel_session *s, const struct vel_held *held,
                              struct vel_err *err);
/* Where one of this rank is; VEL_ENOENT without a sentence. */
int vel_session_find_through(struct vel_session *s, const struct vel_held *held,
                             const char *name, char **ret_path, struct vel_err *err);
/* Read the list before the dataset goes, and remove its files when it has gone. */
void vel_session_keep_through(struct vel_session *s, const struct vel_held *held,
                              struct vel_vec *ret_files);
void vel_session_remove_through(struct vel_session *s, const struct vel_vec *files);

/* --- fetch.c --- */
/* Collective. An entry of the index into the caches, protected; or to be read in place.
 */
int vel_session_fetch(struct vel_session *s, const struct vel_entry *entry,
                      struct vel_err *err);
/* Collective. Are the files of a dataset on the prefix still those of its flush? */
int vel_session_check_in_place(struct vel_session *s, const struct vel_held *held,
                               struct vel_err *err);
/* Collective. The current one, else the newest that can be fetched, if there is any.
 * What fails is told in the log; *ret_is_put_off: nothing came, but some may when the
 * program asks for it. A failure: nobody knows what there is. */
int vel_session_fetch_newest(struct vel_session *s, bool *ret_is_put_off,
                             struct vel_err *err);

/* Rank 0 writes an event; others do nothing. Local. */
void vel_session_tell(struct vel_session *s, struct vel_event event,
                      const struct vel_dataset *dataset);
/* How many groups of that name the job has; arg is the session. */
size_t vel_session_count_groups(void *arg, const char *name);
double vel_session_seconds(const struct vel_session *s, uint64_t since);

#endif
