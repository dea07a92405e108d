/* SPDX-License-Identifier: BSD-3-Clause */
/* rules - which DATASET line a file belongs to, and the numbers in its name.
 *
 * In a PATTERN {step} and {rank} are numbers, * is any text, slashes included, and
 * every other character is itself. A number is all digits that stand there, and a
 * second {step} or {rank} is the same number as the first. A pattern without a leading
 * slash is meant from the prefix on; one with a slash may lead through symbolic links,
 * which paths of files do not have.
 */
#ifndef VEL_CONF_RULES_H
#define VEL_CONF_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "conf/conf.h"

enum { VEL_RULE_STEP = 63 }; /* most digits of a step */

struct vel_rule_fit {
    const struct vel_line *line;         /* its name is the rule's */
    const struct vel_dataset_rule *rule; /* what it says */
    char step[VEL_RULE_STEP + 1];        /* the digits at {step}; "": it has none */
    bool has_rank;                       /* it has {rank}: one file of each process */
};

/* Can it be a PATTERN, or an EXCLUDE? */
int vel_rule_check(const char *pattern, struct vel_err *err);

/* The first line whose PATTERN the file at `path` fits, but not its EXCLUDE. Both paths
 * are absolute and normalised. False: none; *ret is unchanged then. */
bool vel_rules_find(const struct vel_conf *conf, const char *prefix, const char *path,
                    struct vel_rule_fit *ret);

/* The path with {step} and {rank} for its numbers: what the files of all ranks and
 * steps have in common. False: no line with {rank} has it. */
bool vel_rules_shape(const struct vel_conf *conf, const char *prefix, const char *path,
                     struct vel_buf *ret);

/* Are such files written at their own paths? */
bool vel_rule_is_live(const struct vel_dataset_rule *rule);

/* Does the file at `path` fit a pattern that was checked? */
bool vel_rule_fits(const char *pattern, const char *prefix, const char *path);

/* Would it, in another directory? */
bool vel_rule_fits_elsewhere(const char *pattern, const char *path);

#endif
