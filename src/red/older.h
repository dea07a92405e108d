/* SPDX-License-Identifier: BSD-3-Clause */
/* older - an older encoding from which the one that is being made can be had by
 * difference (doc/format-parity.txt, 8).
 *
 * Only speed depends on it: where members do not have the same one, or it is damaged,
 * or too much has changed, all is encoded as without it.
 */
#ifndef VEL_RED_OLDER_H
#define VEL_RED_OLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "comm/comm.h"
#include "red/changes.h"
#include "red/member.h"
#include "red/redfile.h"
#include "red/set.h"

enum { VEL_OLDER_WORDS = 2 };

struct vel_older {
    const struct vel_red_set *set;
    struct vel_vec found;             /* struct vel_redfile, the newest version first */
    const struct vel_redfile *chosen; /* of these, when all agree on one */
    struct vel_member member;         /* that one, to be read */
    struct vel_changes changes;       /* from that one */
};

/* Local. What a member of such files could begin with, and the identity of what it
 * would, in words to be folded by their maximum: those of nothing when it has nothing,
 * or no files. */
void vel_older_init(struct vel_older *older, const struct vel_red_set *set,
                    const struct vel_manifest *own, int64_t ret_words[VEL_OLDER_WORDS]);
void vel_older_fini(struct vel_older *older);

/* The words of nothing. */
void vel_older_none(int64_t words[VEL_OLDER_WORDS]);
bool vel_older_is_none(const int64_t words[VEL_OLDER_WORDS]);

/* Collective, where the folded words are not those of nothing. Are all members at the
 * same older encoding, of the layout of `header`? Then older->changes tells how their
 * files differ, and `member` is read and written as the difference. False: it is as it
 * was; also where it is NULL, with a member that cannot take part. */
bool vel_older_agree(struct vel_older *older, const int64_t words[VEL_OLDER_WORDS],
                     const struct vel_red_header *header, struct vel_member *member);

/* What that has saved a member that has computed, but not yet copied, its payload. */
struct vel_red_saved vel_older_saved(const struct vel_older *older,
                                     const struct vel_layout *layout,
                                     const struct vel_member *member);

#endif
