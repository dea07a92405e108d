/* SPDX-License-Identifier: BSD-3-Clause */
/* coll - what the collectives share, inside this room. */
#ifndef VEL_COMM_COLL_H
#define VEL_COMM_COLL_H

#include "comm/comm.h"

/* Send to one and receive from another at the same time. */
int vel_coll_swap(struct vel_comm *comm, uint32_t tag, int to, const void *out,
                  size_t out_len, int from, void *in, size_t in_len,
                  struct vel_err *err);

/* The root's `len` bytes to all, in place. */
int vel_coll_bcast_bytes(struct vel_comm *comm, int root, uint32_t tag, void *bytes,
                         size_t len, struct vel_err *err);

/* Fold n numbers over all members, the first of them its own way. */
int vel_coll_fold(struct vel_comm *comm, enum vel_comm_fold first,
                  enum vel_comm_fold rest, int64_t *values, size_t n,
                  struct vel_err *err);

/* Fails when the comm is broken; a collective of one member would not notice. */
int vel_coll_begin(struct vel_comm *comm, struct vel_err *err);

/* The end of a collective on this member: one that failed here breaks the comm, so that
 * the others do not wait for what will not come. Returns rc. */
int vel_coll_end(struct vel_comm *comm, int rc, const struct vel_err *cause,
                 struct vel_err *err);

#endif
