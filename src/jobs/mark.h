/* SPDX-License-Identifier: BSD-3-Clause */
/* mark - what becomes of a session's dataset on the prefix, as its program says or
 * finds: written, and done, by one process for all (doc/protocol.txt, 7).
 *
 * A plain blocking function for a worker thread. Each may be called again after a crash
 * at any point.
 */
#ifndef VEL_JOBS_MARK_H
#define VEL_JOBS_MARK_H

#include "jobs/flushing.h"

/* The numbers are those of the message. `record`: the entry of the dataset, encoded. */
enum vel_mark {
    VEL_MARK_ENTER = 1, /* it is in the caches: the record is entered, if it is new */
    VEL_MARK_STAGE,     /* its files are on the prefix under temporary names, and
                           listed: they get their own, as those of the record */
    VEL_MARK_PUBLISH,   /* somebody has staged it: the same */
    VEL_MARK_FETCH,     /* it is about to be fetched; */
    VEL_MARK_FAIL,      /* that has failed */
    VEL_MARK_REFUSE,   /* the program has found it bad: of an entry, or of the record */
    VEL_MARK_CURRENT,  /* a restart takes it first */
    VEL_MARK_REPLACE,  /* its files were written over those of others: which? */
    VEL_MARK_DROP,     /* nodes that are not here now are to delete it, too; */
    VEL_MARK_UNDROP,   /* nobody else ever had a part of it */
    VEL_MARK_WITHDRAW, /* it leaves the prefix, and the caches hold it: what was
                          written through stays */
    VEL_MARK_EVICT,    /* the caches alone had it, and do not any more */
    VEL_MARK_FORGET,   /* its entry goes; its files stay, and so do containers */
    VEL_MARK_REMOVE,   /* it leaves the prefix, files and all that tells of it */
    VEL_MARK_NOTHING   /* but all that was told before is done */
};

struct vel_marking {
    const struct vel_flushing *flushing;
    /* Those that share a name with what is staged, and are on their way, are settled.
     * VEL_EBUSY: one is getting its names just now. */
    int (*settle_rivals)(void *arg, const struct vel_entry *entry, struct vel_err *err);
    void *arg;
};

/* VEL_EBUSY: to be tried again soon. */
int vel_mark(const struct vel_marking *marking, enum vel_mark what, int64_t id,
             const void *record, size_t len, struct vel_err *err);

#endif
