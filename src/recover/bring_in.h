/* SPDX-License-Identifier: BSD-3-Clause */
/* What the ways of bringing a dataset share. */
#ifndef VEL_RECOVER_BRING_IN_H
#define VEL_RECOVER_BRING_IN_H

#include "recover/recovery.h"

struct vel_lent {
    int rank;
    char *dir; /* where its part lies here */
};

struct vel_bringing {
    struct vel_recovery *r;
    struct vel_comm *world;
    const struct vel_view_dataset *d;
    struct vel_kept kept; /* its store: of the own part, where that is */
    struct vel_vec lent;  /* struct vel_lent: parts that others have asked for */
    struct vel_brought *out;
    struct vel_err *err;

    /* as many ranks as wrote it: this rank's part */
    char *dir;
    bool was_here;   /* something of it lay in a store of this rank before */
    bool is_whole;   /* it is, as far as one sees */
    bool is_rebuilt; /* it was made again */
    bool has_come;   /* from another node */
};

static inline int vel_bring_no_memory(struct vel_err *err)
{
    return vel_out_of_memory(err, "restoring a dataset");
}

/* Where a rank's part of the encoding that is restored lies here, whole if it can be: a
 * new string, and its store; NULL: nowhere. */
char *vel_bring_where(const struct vel_bringing *b, int rank, size_t *ret_store,
                      bool *ret_is_whole);

/* Collective. */
int vel_bring_rounds(struct vel_bringing *b,
                     int (*work)(void *arg, struct vel_pull_source *source,
                                 struct vel_err *err));

/* --- bring_copies.c --- */
/* Collective. The parts of the result are used: other copies of them go. */
int vel_bring_remove_copies(struct vel_bringing *b);

/* --- bring_own.c: for as many ranks as wrote it --- */
int vel_bring_own(struct vel_bringing *b);

#endif
