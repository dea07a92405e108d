/* SPDX-License-Identifier: BSD-3-Clause */
/* carry - what a ledger takes over before it begins (doc/format-ledger.txt, 4): what
 * counts of its own launch, and launches that it ends. */
#ifndef VEL_LEDGER_CARRY_H
#define VEL_LEDGER_CARRY_H

#include "ledger/read.h"

struct vel_carry {
    const struct vel_ledger_dir *dir;
    struct vel_ledger_name own;
    struct vel_vec texts; /* struct vel_ledger_text, by launch: what counts of each that
                             it carries now, and of its own; no begin: nothing does */
};

void vel_carry_init(struct vel_carry *carry, const struct vel_ledger_dir *dir,
                    struct vel_ledger_name own);
void vel_carry_fini(struct vel_carry *carry);

/* What counts of its own launch below its claim. VEL_ECANCEL: nothing does; the launch
 * takes a new number. Not for a launch that begins. */
int vel_carry_own(struct vel_carry *carry, struct vel_err *err);

/* End a launch with a lower number that is over, and take what counts of it; of several
 * the highest first. One that is another's to carry is left alone. */
int vel_carry_launch(struct vel_carry *carry, const struct vel_ledger_self *self,
                     int64_t launch, struct vel_err *err);

/* Is a launch carried, by what it has read or by itself? */
bool vel_carry_has(const struct vel_carry *carry, int64_t launch);

/* What its begin says (struct vel_ledger_from, by launch): all that it carries, from
 * the floor on. */
int vel_carry_list(const struct vel_carry *carry, int64_t *ret_floor,
                   struct vel_vec *ret, struct vel_err *err);

/* After its begin, and a look: remove ledgers that nobody needs any more. What cannot
 * be removed is left to a later begin. */
int vel_carry_remove(const struct vel_carry *carry, struct vel_err *err);

#endif
