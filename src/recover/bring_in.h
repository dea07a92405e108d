/* SPDX-License-Identifier: BSD-3-Clause */
/* What the ways of bringing a dataset share. */
#ifndef VEL_RECOVER_BRING_IN_H
#define VEL_RECOVER_BRING_IN_H

#include "pull/pull.h"
#include "recover/recovery.h"
#include "red/redfile.h"

struct vel_lent {
    int rank;
    char *dir; /* where its part lies here */
};

struct vel_bringing {
    struct vel_recovery *r;
    struct vel_comm *world;
    const struct vel_view_dataset *d;
    struct vel_filemap map; /* of some part of this encoding: dataset and level */
    size_t store; /* where parts come to lie here; of the own part, where it is */
    int *keeper;  /* of another number of ranks: who uses the part of each in the end;
                     below 0: nobody */
    struct vel_vec lent; /* struct vel_lent: parts that others have asked for */
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

/* Where it would be in a store: a new string; NULL: no memory. */
char *vel_bring_dir(const struct vel_bringing *b, size_t store, int rank);

/* Where parts of its level come to lie. */
int vel_bring_choose(struct vel_bringing *b);

/* no_rebuild: the others of its set are not asked. */
int vel_bring_pull(struct vel_bringing *b, struct vel_pull_source *source, int rank,
                   bool no_rebuild, struct vel_pulled *ret, struct vel_err *err);

/* Collective. */
int vel_bring_rounds(struct vel_bringing *b,
                     int (*work)(void *arg, struct vel_pull_source *source,
                                 struct vel_err *err));

/* Does anything of a rank's part lie in a store of this one? */
bool vel_bring_has(const struct vel_bringing *b, int rank);

/* A part of the result; takes *dir over when it succeeds. */
int vel_bring_add(struct vel_bringing *b, int rank, bool has_come, char **dir);

/* --- bring_copies.c --- */
/* Collective. The parts of the result are used: other copies of them go. */
int vel_bring_remove_copies(struct vel_bringing *b);

/* --- bring_own.c: for as many ranks as wrote it --- */
int vel_bring_own(struct vel_bringing *b);

#endif
