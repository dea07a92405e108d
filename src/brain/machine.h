/* SPDX-License-Identifier: BSD-3-Clause */
/* machine - a state machine as a table: in a state, for an event, while facts hold, a
 * record is written, then something is done, then the state is another.
 *
 * Pure: it tells which row it is and does nothing. doc/protocol.txt and
 * doc/life.txt have the same tables for people; test/unit/leaderpage.c compares them.
 */
#ifndef VEL_BRAIN_MACHINE_H
#define VEL_BRAIN_MACHINE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* The record is durable before the action begins, so whoever finds it goes on from
 * `next`. Actions may be repeated: after a crash they are. */
struct vel_machine_row {
    uint8_t state;
    uint8_t event;
    uint16_t facts; /* bits that must all be set; the first row that fits is taken */
    uint8_t record; /* 0: none */
    uint8_t action; /* 0: none */
    uint8_t next;
};

struct vel_machine {
    const char *name;
    const char *const *states, *const *events, *const *records, *const *actions;
    const char *const *facts; /* the name of bit i */
    size_t nstates, nevents, nrecords, nactions, nfacts;
    const struct vel_machine_row *rows; /* by state */
    size_t nrows;
};

/* The row for an event; NULL: the table has none. From a process of ours that is a call
 * out of order; from the network it is a message that comes late or twice, and is
 * forgotten. */
const struct vel_machine_row *vel_machine_step(const struct vel_machine *machine,
                                               unsigned state, unsigned event,
                                               unsigned facts);

#endif
