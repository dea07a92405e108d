/* SPDX-License-Identifier: BSD-3-Clause */
/* terms - the ledger of a launch, launch.L/1.K (doc/protocol.txt, 4). Each of
 * its terms has one writer: a chair of the launch, or somebody who has one thing to
 * say: that it is over, say. What counts is what the highest term with a begin says.
 *
 * A chair has a number of its own, for it may need several terms: chairs of a launch
 * have 1, 2, ... one after the other.
 */
#ifndef VEL_META_TERMS_H
#define VEL_META_TERMS_H

#include "base/ranges.h"
#include "ledger/read.h"

/* Who writes a term. */
struct vel_terms_self {
    const char *launch, *node; /* the launch may be another one than that of the term */
};

/* The newest chair, 0: there is none yet; and its node, a new string. NULL: nobody can
 * read that. `launch_dir` is launch.L everywhere here. */
int vel_terms_chair(struct vel_fs *fs, const char *launch_dir, int64_t *ret_chair,
                    char **ret_node, struct vel_err *err);

/* Become this chair, *ret_is_first: nothing of the launch was said before; or go on as
 * it when its term cannot be written any more. VEL_EEXIST: there is such a chair, or a
 * later one; VEL_ECANCEL: the launch is over, or to go on there is a newer chair. */
int vel_terms_claim(struct vel_fs *fs, const char *launch_dir, int64_t chair,
                    const struct vel_terms_self *self, struct vel_ledger **ret,
                    bool *ret_is_first, struct vel_err *err);
int vel_terms_go_on(struct vel_fs *fs, const char *launch_dir, int64_t chair,
                    const struct vel_terms_self *self, struct vel_ledger **ret,
                    struct vel_err *err);

/* What counts now; *ret_has false: nothing does. VEL_ENOENT: there is no such
 * directory; VEL_ECORRUPT: nobody can read what would. */
int vel_terms_load(struct vel_fs *fs, const char *launch_dir,
                   struct vel_ledger_text *ret, bool *ret_has, struct vel_err *err);

/* Begin a term that says something else. *facts has the lines that count, and becomes
 * those of the begin; 0: there is nothing to be changed, 1: there is. It is asked
 * before a term is claimed, and after that. */
typedef int vel_terms_change_f(void *arg, const struct vel_ledger_text *now,
                               struct vel_buf *facts, struct vel_err *err);
int vel_terms_change(struct vel_fs *fs, const char *launch_dir,
                     const struct vel_terms_self *self, vel_terms_change_f *change,
                     void *arg, bool *ret_is_changed, struct vel_err *err);

/* Say that the launch is over: for good. `own`: the term of its chair, where that is
 * who says so, or NULL. *ret_is_mine false: it was over before. VEL_EBUSY: it has got a
 * new chair meanwhile, so it may live. */
int vel_terms_end(struct vel_fs *fs, const char *launch_dir,
                  const struct vel_terms_self *self, struct vel_ledger *own,
                  bool *ret_is_mine, struct vel_err *err);

/* The line that says so. Does a term? */
int vel_terms_put_done(const struct vel_terms_self *self, struct vel_buf *ret,
                       struct vel_err *err);
bool vel_terms_has_done(const struct vel_ledger_text *text);

/* Which datasets are gone: those of which a line says so, until one says how far one of
 * them is. And append the lines that say so. */
int vel_terms_fold_gone(const struct vel_ledger_line *line, struct vel_ranges *gone,
                        struct vel_err *err);
int vel_terms_put_gone(const struct vel_ranges *gone, struct vel_buf *ret,
                       struct vel_err *err);

/* Has that been said? VEL_ENOENT: there is no such directory; VEL_EBUSY: it was, and
 * somebody may leave it out, who has claimed a term before that. */
int vel_terms_are_over(struct vel_fs *fs, const char *launch_dir, bool *ret_are,
                       struct vel_err *err);

/* Is it the name of one in that directory? */
bool vel_terms_is_name(const char *name);

/* Remove all terms, the lowest first: who looks for a newer one is to find it. */
int vel_terms_remove(struct vel_fs *fs, const char *launch_dir);

#endif
