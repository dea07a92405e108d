/* SPDX-License-Identifier: BSD-3-Clause */
/* move - parts of a dataset go to the nodes where their ranks run now.
 *
 * A part travels as one string of bytes, its files one behind the other with the
 * redundancy file last, in pieces: at most one part leaves a process at a time, in
 * rounds, and at most one comes in. It is written under a name that no one looks at,
 * synced, and renamed when it is whole; the copy that it came from stays until the
 * caller removes it.
 */
#ifndef VEL_RECOVER_MOVE_H
#define VEL_RECOVER_MOVE_H

#include "recover/caches.h"

/* A part that this rank wants to have here. */
struct vel_wanted {
    const struct vel_offer *offer; /* NULL: none */
    const char *dir; /* the rank's directory, to be made; its parent is there */
};

/* Collective over world. Where a part cannot be had the reason is logged and *ret_came
 * is false: it then counts as lost. Fails only when the ranks cannot talk. */
int vel_move(const struct vel_caches *caches, const struct vel_wanted *wanted,
             bool *ret_came, struct vel_err *err);

#endif
