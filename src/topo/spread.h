/* SPDX-License-Identifier: BSD-3-Clause */
/* spread - records of which every rank holds one: handed on, sent where they belong,
 * scanned, sorted.
 *
 * Every function is collective, and the length of a record is the same on all ranks. A
 * failure leaves the communicator in the middle of something: whoever called breaks it
 * with vel_comm_fail().
 */
#ifndef VEL_TOPO_SPREAD_H
#define VEL_TOPO_SPREAD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "comm/comm.h"

enum { VEL_SPREAD_SCAN = 64 }; /* bytes of a record that is scanned, at most */

/* `out` goes to rank `to`, `in` comes from rank `from`; a rank that does not exist is
 * nobody, and `in` stays as it is. */
int vel_spread_swap(struct vel_comm *comm, int to, const void *out, int from, void *in,
                    size_t len, struct vel_err *err);

/* Send `out` to a rank that does not expect it (-1: to nobody). At most one comes for
 * each: *ret_came tells whether `in` was filled. */
int vel_spread_post(struct vel_comm *comm, int to, const void *out, void *in,
                    size_t len, bool *ret_came, struct vel_err *err);

/* The same where the receiver knows whether a record must come. */
int vel_spread_deliver(struct vel_comm *comm, int to, const void *out, void *in,
                       size_t len, bool is_expected, struct vel_err *err);

/* Put what the ranks nearer to the beginning know into `record`, which knows what comes
 * behind them. */
typedef void vel_spread_fold_f(void *record, const void *before);

enum vel_spread_way { VEL_SPREAD_UP, VEL_SPREAD_DOWN };

/* Fold over all ranks from the beginning up to and with this one; the beginning is rank
 * 0 (UP) or the last rank (DOWN). */
int vel_spread_scan(struct vel_comm *comm, enum vel_spread_way way, void *record,
                    size_t len, vel_spread_fold_f *fold, struct vel_err *err);

/* Sort by memcmp: rank 0 gets the least. `spare` has room for a record. */
int vel_spread_sort(struct vel_comm *comm, void *record, void *spare, size_t len,
                    struct vel_err *err);

#endif
