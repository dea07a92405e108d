/* SPDX-License-Identifier: BSD-3-Clause */
/* flushing - a dataset goes to the prefix without its program: each node copies its own
 * parts, whoever owns the dataset (number K) decides when names change.
 *
 * Plain blocking functions for worker threads, which nothing but the records tells of
 * each other. Each may be called again after a crash at any point. Everything an owner
 * leaves has its number K in it, so that one who was frozen and thaws does no harm
 * (doc/protocol.txt, 4).
 */
#ifndef VEL_JOBS_FLUSHING_H
#define VEL_JOBS_FLUSHING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "conf/conf.h"
#include "jobs/delta.h"
#include "meta/index.h"
#include "meta/filelist.h"
#include "sys/clock.h"
#include "sys/fs.h"
#include "xfer/copy.h"
#include "xfer/transport.h"

struct vel_flush_job;

/* Where files are to be called what (section 10). A file that gets no name is none of
 * the dataset's on the prefix, which cannot be fetched then. */
struct vel_flushing_names {
    /* False: the program has removed its name. */
    bool (*is_wanted)(void *arg, const struct vel_flush_job *job,
                      const struct vel_listed *file);
    /* Rename `temporary`; *ret_path: to what, a new string. VEL_ENOENT: to its cached
     * name. VEL_EEXIST: to nothing, since somebody else's file is there and stays, or
     * the program has removed its name; that is no failure. */
    int (*publish)(void *arg, const struct vel_flush_job *job, const char *temporary,
                   const struct vel_listed *file, char **ret_path, struct vel_err *err);
    /* What stands there is about to be changed in place. And it has its name, `path`,
     * by that, or was left as it is: NULL. */
    int (*patching)(void *arg, const struct vel_flush_job *job,
                    const struct vel_listed *file, struct vel_err *err);
    int (*patched)(void *arg, const struct vel_flush_job *job,
                   const struct vel_listed *file, const char *path,
                   struct vel_err *err);
    /* Where an earlier call has renamed it to, if it did; NULL: to its cached name. */
    char *(*recorded)(void *arg, const struct vel_flush_job *job,
                      const struct vel_listed *file);
};

/* What is the same for all jobs of a leader. Everything is borrowed. */
struct vel_flushing {
    struct vel_fs *fs;
    struct vel_clock *clock;
    const char *prefix;
    const char *dir;                 /* PREFIX/.veloc */
    struct vel_index *index;         /* of that */
    const char *node;                /* this node's name */
    struct vel_transport *transport; /* of jobs without one; NULL: copied here */
    struct vel_copy_how copy;        /* without throttles and watch */
    bool checks_crc;
    bool has_delta; /* FLUSH_DELTA: only what has changed; */
    bool may_patch; /* and files may be changed in place where nothing else helps,
                       and be a mix of two versions meanwhile */
    double percent; /* FLUSH_PERCENT, for the throttles of its jobs */
    uint64_t resume_every; /* bytes between two notes; 0: 64 MiB, and 2 s */

    const struct vel_flushing_names *names; /* NULL: files get their cached names */
    void *arg;

    /* entries that are not read for every flush again; NULL: all are */
    struct vel_over *published; /* what older datasets end with: on the prefix, or
                                   replaced */
    struct vel_over *replaced;  /* datasets that have lost files there */
};

/* The settings that say how this process copies: conf, fs and clock are borrowed. */
void vel_flushing_init(struct vel_flushing *flushing, const struct vel_conf *conf,
                       struct vel_fs *fs, struct vel_clock *clock);

/* A node's share of a flush. Everything is borrowed. */
struct vel_flush_part {
    int rank;
    const char *dir; /* CACHE/../dataset.D/rank.R */
};

struct vel_flush_job {
    int64_t id, owner;                  /* D, K */
    int list;                           /* N of files.N, unlike that of other nodes */
    const struct vel_entry *staged;     /* by an owner before K, whose number is in the
                                           temporary names; NULL: by K */
    const struct vel_flush_part *parts; /* by rank */
    size_t n;
    const char *home;                /* where this node has it: CACHE/../dataset.D */
    struct vel_batches *ledger;      /* of that cache */
    const char *store;               /* directory of the store, for vendors' services */
    struct vel_transport *transport; /* of that store; NULL: that of all */
    struct vel_throttle *device;     /* of that store, for all its jobs; NULL: none */
    uint64_t container_size; /* the files go into containers of so many bytes; 0: not */
    int lists;               /* of the dataset */
    bool may_resume; /* whoever copied before is known not to write any more: its
                        lock was free, or its job here is over */
    struct vel_throttle *throttle;
    const struct vel_watch *watch;
};

struct vel_flush_copied {
    uint64_t files, bytes;         /* of the node */
    uint64_t resumed;              /* bytes that were there already */
    struct vel_delta_counts delta; /* of what was copied now */
};

/* --- on each node --- */

/* Copy this node's files to temporary names of K, checked and synced; files.N lists
 * them. VEL_ECANCEL: the watch said so; VEL_ESTATE: there is a newer owner. After
 * either, and after any other failure, what is there is for the next attempt, or for
 * vel_flushing_retreat(). */
int vel_flushing_copy(const struct vel_flushing *flushing,
                      const struct vel_flush_job *job,
                      struct vel_flush_copied *ret_copied, struct vel_err *err);

/* The temporary files of files.N get their names, by whomever they were staged.
 * Everything is staged, and so it goes forward only. */
int vel_flushing_name(const struct vel_flushing *flushing,
                      const struct vel_flush_job *job, struct vel_err *err);

/* Remove this node's temporary files of K and of owners before it, and what says how
 * far they were. Those that have their names stay. */
int vel_flushing_retreat(const struct vel_flushing *flushing,
                         const struct vel_flush_job *job, struct vel_err *err);

/* Nobody here knows what a file of a dataset was to replace: was what stands at its
 * path written after the dataset had got its number? Not by an older dataset, nor by
 * this one; and no stub. */
bool vel_flushing_is_since(const struct vel_flushing *flushing,
                           const struct vel_dataset *about, const char *name,
                           const char *path);

/* The same of a dataset by its entry, 1 or 0; of one without nobody has. */
int vel_flushing_find_since(const struct vel_flushing *flushing, int64_t id,
                            const char *name, const char *path, struct vel_err *err);

/* --- by the owner alone --- */

/* VEL_ESTATE when there is an owner above K, or claim K is gone with its dataset. */
int vel_flushing_check_owner(const struct vel_flushing *flushing, int64_t id,
                             int64_t owner, struct vel_err *err);

/* All nodes have copied: write the entry, STAGED, with their short lists, then look
 * whether it is still ours (VEL_ESTATE). VEL_EUNSUP: two files have one name; nothing
 * was written. entry->owner is K; entry->lists how many lists there are. */
int vel_flushing_stage(const struct vel_flushing *flushing, struct vel_entry *entry,
                       struct vel_err *err);

/* All nodes have renamed: the entry, PREFIX; what older datasets lost files to it is
 * marked in theirs. */
int vel_flushing_publish(const struct vel_flushing *flushing, struct vel_entry *entry,
                         struct vel_err *err);

/* Another dataset that has a name on the prefix in common with this one. */
struct vel_flush_rival {
    int64_t id, owner;
    enum vel_place_on_prefix place;
};

/* The names of a dataset that all nodes have copied, by their lists; NULL: they cannot
 * be read. The caller destroys them. */
struct vel_map *vel_flushing_names(const struct vel_flushing *flushing, int64_t id);

/* Who must be settled before D renames: those on their way (FLUSHING, STAGED) that are
 * older, and those that are newer and STAGED or on the prefix, by which D is
 * superseded. Items of *ret are struct vel_flush_rival, oldest first. To be asked after
 * vel_flushing_stage(): of two that share a name at least one then sees the other. */
int vel_flushing_rivals(const struct vel_flushing *flushing,
                        const struct vel_entry *entry, struct vel_vec *ret,
                        struct vel_err *err);

/* Finish or undo what owners before K, which is claimed, have left of a dataset that
 * another one waits for, or that is not to be flushed; of the job id, owner and home
 * count. (To go on with a flush nothing is undone: copy again, after writing the entry
 * of K, FLUSHING, or name what is staged.) That is:
 * a staged one gets its names, and is PREFIX; of another the temporary files and lists
 * go, and it is CACHE, replaced by `by` (0: not). The entry is that of K
 * afterwards; *ret is what it says, to be freed. VEL_ENOENT: no such entry. */
int vel_flushing_settle(const struct vel_flushing *flushing,
                        const struct vel_flush_job *job, int64_t by,
                        struct vel_entry *ret, struct vel_err *err);

#endif
