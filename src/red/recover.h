/* SPDX-License-Identifier: BSD-3-Clause */
/* recover - a recovery in its parts, for those who have more to agree on than one set:
 * everything is rebuilt and checked first, and takes effect when it is committed. */
#ifndef VEL_RED_RECOVER_H
#define VEL_RED_RECOVER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/vec.h"
#include "red/header.h"
#include "red/redfile.h"
#include "red/restore.h"
#include "red/set.h"

struct vel_recover {
    const struct vel_red_set *set;
    size_t n, me;
    const struct vel_vec *found;    /* my redundancy files */
    const struct vel_redfile *mine; /* of the encoding at hand; NULL: I have none */
    bool is_lost[VEL_SET_MAX];
    struct vel_err why; /* when I am lost */
    struct vel_red_header header;
    bool has_header;
    struct vel_member member;   /* when I am there */
    struct vel_restore restore; /* when I am lost */
    struct vel_red_report report;
    struct vel_err *err;
};

/* Collective over the set. `found` are this member's redundancy files
 * (vel_redfile_scan); both are borrowed until the end. */
int vel_recover_begin(const struct vel_red_set *set, const struct vel_vec *found,
                      struct vel_recover **ret_recover, struct vel_err *err);

/* Collective over the set. Rebuild with this encoding: afterwards everything is checked
 * and on disk, under temporary names. VEL_EINVAL: more is lost than the scheme bears;
 * another encoding may be tried. */
int vel_recover_prepare(struct vel_recover *r, const struct vel_encoding *encoding);

/* Collective over the set. Rename, and remove what other encodings left. */
int vel_recover_commit(struct vel_recover *r);

/* Leave; what was not committed has changed nothing. *ret_report (may be NULL) receives
 * what was done. Accepts NULL. */
void vel_recover_end(struct vel_recover *r, struct vel_red_report *ret_report);

/* Collective. Lost members get a header with the lists of their files from those who
 * keep them, the others one as they have it; *r->header is there afterwards. */
int vel_recover_brief(struct vel_recover *r);

#endif
