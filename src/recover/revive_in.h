/* SPDX-License-Identifier: BSD-3-Clause */
/* What the ways of reviving a dataset share. */
#ifndef VEL_RECOVER_REVIVE_IN_H
#define VEL_RECOVER_REVIVE_IN_H

#include "recover/caches.h"
#include "recover/revive.h"
#include "red/set.h"

struct vel_revival {
    struct vel_caches *c;
    struct vel_comm *world;
    int64_t id;
    struct vel_filemap map;       /* of whoever has one: dataset and level */
    const struct vel_offer *here; /* my part, on my own node */
    const struct vel_offer *away; /* or where else it is whole */
    size_t store;                 /* where my part is or comes to be */
    int64_t index;
    char *level, *dir;
    bool is_whole;   /* my part is, here or brought here, as far as one sees */
    bool is_rebuilt; /* my part was made again */
    struct vel_revived *out;
    struct vel_err *err;
};

/* Collective. The lowest rank that was offered one tells everybody what the offer says.
 * VEL_ENOENT, without a sentence: there is none. */
int vel_revival_announce(struct vel_revival *r, const struct vel_offer *known,
                         size_t encoding, uint8_t ret_encoding[VEL_ENCODING_ID],
                         struct vel_filemap *ret_map);

/* --- revive_foreign.c: for another number of ranks than wrote it --- */
int vel_revive_foreign(struct vel_revival *r);

#endif
