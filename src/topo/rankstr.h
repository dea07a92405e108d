/* SPDX-License-Identifier: BSD-3-Clause */
/* rankstr - which ranks gave the same text. */
#ifndef VEL_TOPO_RANKSTR_H
#define VEL_TOPO_RANKSTR_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "comm/comm.h"

enum { VEL_RANKSTR_MAX = 4096 }; /* bytes of a text */

struct vel_rankstr {
    uint32_t group, groups; /* the number of this rank's text, of so many texts */
    uint32_t rank, ranks;   /* this rank's place among those of its group, by rank, and
                               their number */
};

/* Collective. Number the distinct texts of all members: groups are numbered 0.. in the
 * order of their lowest rank. VEL_EINVAL on all: a text longer than VEL_RANKSTR_MAX. */
int vel_rankstr(struct vel_comm *comm, const char *text, struct vel_rankstr *ret,
                struct vel_err *err);

/* The same in one process: texts[i] and ret[i] are those of rank i. */
int vel_rankstr_all(const char *const *texts, size_t n, struct vel_rankstr *ret,
                    struct vel_err *err);

#endif
