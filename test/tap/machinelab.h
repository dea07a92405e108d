/* SPDX-License-Identifier: BSD-3-Clause */
/* machinelab - what holds for every state machine that is a table. */
#ifndef TEST_TAP_MACHINELAB_H
#define TEST_TAP_MACHINELAB_H

#include "brain/machine.h"

/* One check each: all rows make sense and can be taken, every word is used, every state
 * can be reached from state 0, an event that is not in the table is refused. */
void machine_check(const struct vel_machine *machine);

/* Is there a way from a state to another? */
bool machine_leads(const struct vel_machine *machine, unsigned from, unsigned to);

#endif
