/* SPDX-License-Identifier: BSD-3-Clause */
/* background - who does beside the program what a session owes: the leader of this
 * node, as the engine sees it (doc/life.txt, 15). One function for each
 * message of a process to its leader; whoever can speak to a leader implements them.
 *
 * Everything here is local and called by one thread of a process at a time. A call may
 * block, and every wait ends: a leader that is gone or silent is asked for again, and
 * then it is VEL_ELOST or VEL_ETIMEOUT with the node's name.
 */
#ifndef VEL_ENGINE_BACKGROUND_H
#define VEL_ENGINE_BACKGROUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "conf/conf.h"
#include "jobs/mark.h"
#include "meta/launch.h"
#include "sys/clock.h"
#include "sys/fs.h"

struct vel_background;

/* What is owed for a part. */
enum vel_background_owed {
    VEL_OWE_NOTHING = 0, /* any more: it was done otherwise, or its part will go */
    VEL_OWE_ENCODE = 1,
    VEL_OWE_FLUSH = 2,
    VEL_OWE_REST = 4, /* what was owed rests while this process changes the part: until
                         something is owed again, or the process is gone */
};

/* How far a dataset is; the numbers are those of the leader (dataset_state). */
enum vel_behind {
    VEL_BEHIND_NONE,       /* it knows nothing of it */
    VEL_BEHIND_ANNOUNCED,  /* owed, and not yet settled */
    VEL_BEHIND_SEALED,     /* no redundancy yet */
    VEL_BEHIND_ENCODED,    /* everywhere */
    VEL_BEHIND_FLUSHING,   /* the same, and on its way to the prefix */
    VEL_BEHIND_FLUSHED,    /* it is there, complete */
    VEL_BEHIND_SUPERSEDED, /* a newer one has its names: it will not be flushed */
    VEL_BEHIND_LOST,       /* nobody can restore it from the caches */
};

struct vel_background_state {
    enum vel_behind behind;
    uint64_t left;      /* bytes still to be moved or encoded; 0: all is done, or
                           nothing is owed */
    uint64_t moved;     /* and so many were */
    bool is_protected;  /* encoded everywhere, also while it is flushed; or that was not
                           owed */
    struct vel_err err; /* why it is not further; VEL_OK: nothing is wrong. It is tried
                           again all the same */
};

#define VEL_BEHIND_ONCE (-1)
#define VEL_BEHIND_PROTECTED (-2)

enum vel_background_ping {
    VEL_PING_LEADER,  /* 1: it is there */
    VEL_PING_WORKER,  /* 1: a worker takes a job, 0: none does */
    VEL_PING_STORAGE, /* 1: caches and prefix can be listed, 0: they cannot */
    VEL_PING_BACKUP,  /* how many nodes do not answer that have not left */
};

/* What a process tells of itself; what it points to is borrowed until leave. */
struct vel_background_of {
    const struct vel_conf *conf;
    struct vel_fs *fs;
    struct vel_clock *clock;
    const char *prefix;    /* the directory itself */
    const char *dir;       /* PREFIX/.veloc, or a unit's below it: records of launches
                              and datasets are there */
    const char *prefix_id; /* the uuid in the caches' paths */
    const char *user;      /* and the user's name in them */
    const char *node;      /* where this process runs */
    char *const *homes;    /* "CACHE/USER/ID" of each store on this node */
    size_t n_homes;
    int rank, ranks;   /* of the session's communicator */
    const char *fresh; /* a random name, the same on all ranks: for a launch to which
                          nothing else gives one */
};

struct vel_background_ops {
    /* The launch that this process is in already, as by files of its own, with the same
     * prefix_id; of the rest of `of` only homes is looked at. NULL: none, or one with
     * other homes (*ret_differs). */
    const char *(*joined)(struct vel_background *b, const struct vel_background_of *of,
                          bool *ret_differs);

    /* The process is here. Returns when launches that are over have been ended and it
     * is decided what can be restored (the view). *ret_launch: the name of ours, the
     * same on all ranks. */
    int (*open)(struct vel_background *b, const struct vel_background_of *of,
                char ret_launch[VEL_LAUNCH_ROOM], struct vel_err *err);

    /* This node owes for a rank's part of a dataset, whose directory is `dir` (NULL: as
     * it was told before), just this, bits of enum vel_background_owed: on disk when it
     * returns. *ret_before: what was owed of it until now, by this launch or by one
     * that is over. Of NOTHING and REST: when it returns nothing of the dataset is
     * under way on this node, and nothing is begun; if it was staged, its files have
     * their names. */
    int (*owe)(struct vel_background *b, int64_t dataset, int rank, unsigned what,
               const char *dir, unsigned *ret_before, struct vel_err *err);

    /* Rank 0, after all ranks owe: the whole of it, a seal (brain/seal.h) as bytes.
     * On disk when it returns. Again when more is owed. */
    int (*settle)(struct vel_background *b, int64_t dataset, const void *record,
                  size_t len, struct vel_err *err);

    /* What becomes of one on the prefix (jobs/mark.h): by one process for all, in the
     * order in which it is told. It is done when this returns, or, !waits, soon: an
     * error then is that of the telling. VEL_EUNSUP: there is nobody to do it. */
    int (*mark)(struct vel_background *b, int64_t dataset, enum vel_mark what,
                bool waits, const void *record, size_t len, struct vel_err *err);

    /* How far is it? */
    int (*ask)(struct vel_background *b, int64_t dataset,
               struct vel_background_state *ret, struct vel_err *err);

    /* Wait until nothing is left of it to do, or nothing has moved for `patience`
     * seconds (0: FLUSH_STALL; VEL_BEHIND_ONCE: the same, or it has failed once): then
     * ret->left is not 0, and ret->err tells why. VEL_BEHIND_PROTECTED: not for its
     * flush. */
    int (*drain)(struct vel_background *b, int64_t dataset, int64_t patience,
                 struct vel_background_state *ret, struct vel_err *err);

    int (*ping)(struct vel_background *b, enum vel_background_ping what,
                int64_t *ret_value, struct vel_err *err);

    /* Does what is owed go on when this process and all others of the launch have ended
     * (an agent)? */
    bool (*outlives)(struct vel_background *b);

    /* The process ends, or only its session; in good order or not. What is owed stays
     * on disk. May be opened again. */
    int (*leave)(struct vel_background *b, bool is_well, struct vel_err *err);
};

/* The beginning of every implementation's struct. */
struct vel_background {
    const struct vel_background_ops *ops;
};

/* Who works beside the sessions that this process opens from now on; NULL, as at the
 * beginning: nobody. Offered by who can speak to a leader, of whom this room knows
 * nothing, before there is any other thread. */
void vel_background_offer(struct vel_background *background);
struct vel_background *vel_background_offered(void);

/* Where there can be no leaders: nothing is ever owed, and who wants it to be is told
 * so. */
struct vel_background *vel_background_nobody(void);

#endif
