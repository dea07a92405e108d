/* SPDX-License-Identifier: BSD-3-Clause */
/* rebuild_in - between rebuild.c, which looks for sets and encodings, and
 * rebuild_set.c, which makes one set whole. For these two alone. */
#ifndef VEL_RED_REBUILD_IN_H
#define VEL_RED_REBUILD_IN_H

#include "red/member.h"
#include "red/rebuild.h"
#include "red/restore.h"
#include "red/shelf.h"

/* one member of the set at hand */
struct seat {
    const struct vel_found *found; /* NULL: nothing is left of it */
    char *dir;                     /* NULL: not known yet */
    bool is_lost;
    struct vel_err why;
    struct vel_red_header header; /* of a lost one, put together from the others */
    bool has_header;
    struct vel_member member;
    struct vel_restore restore;
};

struct rebuild {
    struct vel_fs *fs;
    const struct vel_rebuild_options *options;
    const char *into;
    struct vel_shelf shelf;
    struct seat *seats; /* VEL_SET_MAX of them */
    struct vel_rebuilt_set *set;
};

/* Make the set whole from found[begin..end), which are of one set and encoding. Who was
 * lost is noted in r->set. VEL_EINVAL: more is lost than the scheme bears. */
int vel_rebuild_try(struct rebuild *r, size_t begin, size_t end, struct vel_err *err);

/* Forget who was noted. */
void vel_rebuilt_forget(struct vel_rebuilt_set *set);

#endif
