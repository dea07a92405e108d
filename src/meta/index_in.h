/* SPDX-License-Identifier: BSD-3-Clause */
/* index_in - what those who read entries share with those who write them. */
#ifndef VEL_META_INDEX_IN_H
#define VEL_META_INDEX_IN_H

#include <pthread.h>

#include "base/map.h"
#include "base/ranges.h"
#include "meta/follow.h"
#include "meta/index.h"

enum { VEL_INDEX_ROUNDS = 16 };

/* What counts of a dataset: fact `entry`. */
struct vel_said {
    int64_t id, count, owner;
    char *launch, *node; /* of the owner */
    char *text;          /* empty: nothing is known */
};

/* Where its line stands: texts stay in the ledger, and there may be many. */
struct vel_index_spot {
    int64_t id;
    uint64_t at; /* of the line's text in the term; or its place in `lines` */
    uint32_t count;
    unsigned len : 29; /* of that text */
    unsigned has_text : 1;
    unsigned is_doubtful : 1; /* a term before has it, and later ones are damaged */
    unsigned is_kept : 1;     /* in `lines` */
};

/* The datasets of a launch. */
struct vel_index_launch {
    struct vel_follow follow;
    struct vel_index_half *half;
    struct vel_vec spots;  /* struct vel_index_spot, by id */
    struct vel_vec lines;  /* char * */
    struct vel_vec sealed; /* char *: lines of seals, of what is over: */
    bool has_sealed;       /* these are all */
    size_t kept;           /* bytes of both */
    struct vel_ranges gone;
    int64_t last;     /* the highest id that it speaks of */
    bool is_done;     /* others alone write it */
    bool is_doubtful; /* lines of it are damaged, or were: what has none may have
                         had one */
    bool is_past;     /* marked (meta/launch.h), when all were listed */
    size_t told;      /* bytes of its line in digest.h; 0: it has none */
    unsigned looked;  /* when it was read, or looked at, for whom it is to stay so */
};

/* What one thread has read, or those that are not bound. */
struct vel_index_half {
    pthread_mutex_t lock;
    struct vel_map *launches; /* struct vel_index_launch, by name */
    struct vel_vec blocks;    /* struct vel_ids_block */
    size_t kept;              /* bytes of lines, of all */
    int still;                /* for one thread, which has asked so often for that: */
    pthread_t stiller;
    unsigned stills; /* times, from 1 */
    bool has_digest; /* it was read: digest.h */
    bool is_worn;    /* it is to be written anew */
    size_t digested; /* bytes of it */
};

struct vel_index {
    struct vel_fs *fs;
    char *dir;
    struct vel_index_half halves[2]; /* the second is the bound thread's */
    bool has_bound;
    pthread_t bound;
    pthread_mutex_t over_lock;
    struct vel_map *over; /* launches of which is known on the disk that they are */

    char *launch, *node;
    vel_index_keep_f *keep;
    void *arg;
    pthread_mutex_t term_lock; /* of is_held */
    pthread_cond_t term_free;
    bool is_held; /* by a thread, which alone has `term` */
    bool is_busy; /* the bound thread has waited for it in vain */
    uint64_t limit;
    struct vel_ledger *term;
};

void vel_said_fini(struct vel_said *said);

/* What a line says; false: it is no entry. */
bool vel_said_get(const struct vel_ledger_line *line, struct vel_said *ret);

/* What counts of a dataset in a term (NULL: there is none); false: nothing was said. */
bool vel_said_find(const struct vel_ledger_text *text, int64_t id,
                   struct vel_said *ret);

/* NULL: it has no entry there. */
const struct vel_index_spot *vel_index_find_spot(const struct vel_index_launch *launch,
                                                 int64_t id);

/* What stands there. VEL_EBUSY: it does not any more. */
int vel_index_load_spot(const struct vel_index_launch *launch,
                        const struct vel_index_spot *spot, struct vel_said *ret,
                        struct vel_err *err);

/* VEL_ECORRUPT: it is no entry of its dataset. */
int vel_said_decode(const struct vel_said *said, struct vel_entry *ret,
                    struct vel_err *err);

/* Does this thread take all as it was (vel_index_stand_still())? */
bool vel_index_is_still(const struct vel_index_half *half);

bool vel_index_is_bound(const struct vel_index *index);

/* Of this thread. What follows is done with it. */
struct vel_index_half *vel_index_lock_half(struct vel_index *index);
void vel_index_unlock_half(struct vel_index_half *half);

/* A launch as it was read last; and as it is now. VEL_ENOENT: it has no directory. */
int vel_index_get_launch(struct vel_index *index, struct vel_index_half *half,
                         const char *name, struct vel_index_launch **ret,
                         struct vel_err *err);
int vel_index_read_launch(struct vel_index *index, struct vel_index_half *half,
                          const char *name, struct vel_index_launch **ret,
                          struct vel_err *err);

/* Which launches there are, and what the digest says: that is read once, and with all
 * launches whenever these are listed. */
void vel_index_look_once(struct vel_index *index, struct vel_index_half *half);

/* All that was read of it; and the launch. */
void vel_index_forget_said(struct vel_index_launch *launch);
void vel_index_forget_launch(struct vel_index_half *half, const char *name);
void vel_index_launch_free(void *launch);

/* Of a launch that has nothing: a line of an entry, or of those that are gone, as it
 * was read before. False: there is no room, or it is none. */
bool vel_index_put_back(struct vel_index_launch *launch,
                        const struct vel_ledger_line *line);

/* What counts of a dataset now in the ledger of a launch, as far as can be read. */
struct vel_index_word {
    struct vel_said said; /* for who is done with it to finish */
    bool has_said;
    bool is_gone;
    bool is_doubtful; /* there may have been more */
};

int vel_index_said(struct vel_index *index, const char *launch, int64_t id,
                   struct vel_index_word *ret, struct vel_err *err);

/* Are lines of a ledger damaged, or were they when it was begun? */
bool vel_said_is_doubtful(const struct vel_ledger_text *text);

#endif
