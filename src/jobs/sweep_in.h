/* SPDX-License-Identifier: BSD-3-Clause */
/* sweep_in - what the files of a sweep share: a sweep under way. */
#ifndef VEL_JOBS_SWEEP_IN_H
#define VEL_JOBS_SWEEP_IN_H

#include "base/vec.h"
#include "jobs/sweep.h"
#include "meta/ids.h"
#include "view/seals.h"

struct vel_sweeping {
    const struct vel_sweep *of;
    struct vel_vec names;  /* char *: those in PREFIX/.veloc */
    struct vel_vec blocks; /* struct vel_ids_block: whose datasets are */
    struct vel_vec over;   /* int64_t: datasets of which nobody has anything any more */
    struct vel_vec away;   /* int64_t: lost datasets that a node which is away may have,
                              or a cache that nobody looked at */
    struct vel_vec known;  /* int64_t: those whose entries say that all is there */
    struct vel_vec sealed; /* int64_t: those whose seals are there */
    struct vel_vec trimmed; /* const char *: launches that only have datasets on the
                               prefix, to be looked at once more: */
    bool is_second;         /* when these were swept */
    bool is_cut; /* there is more than one sweep removes: it ends before the rest */
    struct vel_seals_of seals;
    int64_t singles; /* datasets of one file that were seen, the newest first */
    struct vel_swept ret;
};

/* "DIR/" BEFORE NAME BEHIND; NULL without memory. */
char *vel_sweep_path(const struct vel_sweeping *s, const char *before, const char *name,
                     const char *behind);
bool vel_sweep_is_there(const struct vel_sweeping *s, const char *path);
/* Surely: what cannot be known is there. */
bool vel_sweep_is_absent(const struct vel_sweeping *s, const char *path);

/* Not that of who sweeps. */
bool vel_sweep_is_over(const struct vel_sweeping *s, const char *launch);

/* Look at all datasets, of which nothing is forgotten yet; then do it. */
int vel_sweep_look(struct vel_sweeping *s, struct vel_err *err);
int vel_sweep_datasets(struct vel_sweeping *s, struct vel_err *err);
int vel_sweep_blocks(struct vel_sweeping *s, struct vel_err *err);

/* Of a launch that is over: does anybody want any of its seals? Then, or when its
 * ledger has more bytes than `most`, those that nobody does go when they are many; else
 * all are still there, for the launch goes as a whole, or nobody asks for them.
 */
int vel_sweep_seals(struct vel_sweeping *s, const char *launch, uint64_t most,
                    bool *ret_needed, struct vel_err *err);

/* "meet.H.K", "writer.H.K": removed when there is a higher one, or when the launch is
 * gone; but not the last of a meeting without a name. */
bool vel_sweep_is_claim(const char *name);
int vel_sweep_claim(struct vel_sweeping *s, const char *name, const char *path,
                    struct vel_err *err);

#endif
