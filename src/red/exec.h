/* SPDX-License-Identifier: BSD-3-Clause */
/* exec - move the bytes that a plan tells. Executors decide nothing and know no
 * schemes. */
#ifndef VEL_RED_EXEC_H
#define VEL_RED_EXEC_H

#include <stddef.h>

#include "base/err.h"
#include "comm/comm.h"
#include "red/member.h"
#include "red/plan.h"

enum {
    VEL_EXEC_MEMORY_DEFAULT = 16 << 20,
    VEL_EXEC_MEMORY_LEAST = 1 << 20,
};

/* In one process that reaches all members that take part: member[r] is NULL where a
 * plan does not use r. `tick`, when not NULL, is called with the bytes done so far (of
 * the sum of all jobs). */
typedef void vel_exec_tick_f(void *arg, uint64_t done, uint64_t total);
int vel_exec_local(const struct vel_layout *layout, const struct vel_plan *plan,
                   struct vel_member **member, size_t memory, vel_exec_tick_f *tick,
                   void *arg, struct vel_err *err);

/* Collective over the set, whose members have the ranks of `comm`. `member` may be NULL
 * where the local preparation failed with `rc`: such a member goes on with zeros, so
 * that nobody waits, and all get its failure. At most `memory` bytes of buffers. */
int vel_exec_comm(const struct vel_layout *layout, const struct vel_plan *plan,
                  struct vel_member *member, struct vel_comm *comm, size_t memory,
                  int rc, struct vel_err *err);

#endif
