/* SPDX-License-Identifier: BSD-3-Clause */
/* takeover - what services were moving for launches that are over: adopted when a flush
 * still wants it and it arrives, stopped when not, and left alone when its node has no
 * part in this launch. Nothing is forgotten before it is known to have ended.
 */
#ifndef VEL_XFER_TAKEOVER_H
#define VEL_XFER_TAKEOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "meta/entry.h"
#include "xfer/crew.h"

struct vel_takeover;

struct vel_takeover_how {
    /* The transport with that service. Local; an error when it is not to be had. */
    int (*find)(void *arg, const char *service, struct vel_transport **ret,
                struct vel_err *err);
    void *arg;
    uint64_t patience; /* ns: one that tells no progress for so long is stopped */
};

/* Collective, before anything else is done with the prefix. Every rank finds out about
 * the transfers of its node: it waits for those of a flush that is under way by its
 * entry (items struct vel_entry), and stops the others. What is not known to have ended
 * is told in one warning. */
int vel_takeover_begin(const struct vel_crew *crew, const struct vel_takeover_how *how,
                       const struct vel_vec *entries, struct vel_takeover **ret,
                       struct vel_err *err);

/* The same on all ranks. Were there transfers of this flush, and has each arrived? */
bool vel_takeover_has_arrived(const struct vel_takeover *takeover,
                              const struct vel_entry *entry);

/* The same on all ranks: the first attempt of this dataset's flush whose temporary
 * names nobody else may still write to. */
int vel_takeover_attempt(const struct vel_takeover *takeover, int64_t id);

/* The same on all ranks: the highest id of a dataset of which there was a transfer. */
int64_t vel_takeover_last_id(const struct vel_takeover *takeover);

/* Local. The entries tell the rest now: records of what has ended go. */
void vel_takeover_settle(struct vel_takeover *takeover);

/* Local. NULL is nothing. */
void vel_takeover_destroy(struct vel_takeover *takeover);

#endif
