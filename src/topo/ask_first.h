/* SPDX-License-Identifier: BSD-3-Clause */
/* ask_first - rank 0 gets a text of each rank, works out a record for each, and all get
 * theirs. */
#ifndef VEL_TOPO_ASK_FIRST_H
#define VEL_TOPO_ASK_FIRST_H

#include <stddef.h>

#include "base/err.h"
#include "comm/comm.h"

/* texts[i] is that of rank i, of n; its record goes to place i of ret_records. */
typedef int vel_answer_f(void *arg, const char *const *texts, size_t n,
                         void *ret_records, struct vel_err *err);

/* Collective. The record of this rank, of `len` bytes, the same length on all. When
 * `answer` fails all ranks say its status and its sentence. */
int vel_ask_first(struct vel_comm *comm, const char *text, vel_answer_f *answer,
                  void *arg, void *ret_record, size_t len, struct vel_err *err);

#endif
