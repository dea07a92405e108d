/* SPDX-License-Identifier: BSD-3-Clause */
/* terms - the ledger of a launch, launch.L/1.K (doc/protocol-leader.txt, 3). Each of
 * its terms has one writer: a chair of the launch, or whoever ends it, in the last one.
 * What counts is what the highest term with a begin says.
 *
 * Here terms have numbers from 1, as messages do: term T is ledger 1.(T-1).
 */
#ifndef VEL_META_TERMS_H
#define VEL_META_TERMS_H

#include "ledger/ledger.h"

/* Who writes a term. */
struct vel_terms_self {
    const char *launch, *node; /* the launch is another one where that ends this one */
    const char *address;       /* of a chair; "" of who ends a launch */
};

/* The newest term, and the node of its chair, a new string; NULL: who has it ends the
 * launch, or has tried to. 0: there is none. `launch_dir` is launch.L everywhere here.
 */
int vel_terms_newest(struct vel_fs *fs, const char *launch_dir, int64_t *ret_term,
                     char **ret_node, struct vel_err *err);

/* Become the chair in exactly this term. VEL_EEXIST: it is there, or a later one;
 * VEL_ECANCEL: the launch is over. */
int vel_terms_claim(struct vel_fs *fs, const char *launch_dir, int64_t term,
                    const struct vel_terms_self *self, struct vel_ledger **ret,
                    struct vel_err *err);

/* Say that the launch is over: for good. `own`: the ledger of its chair, where that is
 * who says so, or NULL. *ret_is_mine false: it was over before. */
int vel_terms_end(struct vel_fs *fs, const char *launch_dir,
                  const struct vel_terms_self *self, struct vel_ledger *own,
                  bool *ret_is_mine, struct vel_err *err);

/* Has that been said? VEL_ENOENT: there is no such directory. */
int vel_terms_are_over(struct vel_fs *fs, const char *launch_dir, bool *ret_are,
                       struct vel_err *err);

#endif
