/* SPDX-License-Identifier: BSD-3-Clause */
/* rankstr - which members of a communicator gave the same text. */
#ifndef VEL_TOPO_RANKSTR_H
#define VEL_TOPO_RANKSTR_H

#include <stdint.h>

#include "base/err.h"
#include "comm/comm.h"

enum { VEL_RANKSTR_MAX = 4096 }; /* bytes of a text */

struct vel_rankstr {
    uint32_t group, groups; /* the number of this member's text, of so many texts */
    uint32_t rank, ranks; /* this member's place among those of its group, by rank, and
                             their number */
};

/* Collective. Number the distinct texts of all members: groups are numbered 0.. in the
 * order of their lowest rank. No member holds more than a few texts at a time, and each
 * sends O(log(size)^2) messages. VEL_EINVAL on all: a text longer than VEL_RANKSTR_MAX.
 */
int vel_rankstr(struct vel_comm *comm, const char *text, struct vel_rankstr *ret,
                struct vel_err *err);

#endif
