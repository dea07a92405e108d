/* SPDX-License-Identifier: BSD-3-Clause */
/* evidence - what the records of a prefix say of its datasets: entries, seals, makers,
 * tombstones, launches. With the inventories of nodes it is all that a view is made of.
 *
 * Only read, and nothing is left behind: for leaders, and for tools that tell people.
 */
#ifndef VEL_VIEW_EVIDENCE_H
#define VEL_VIEW_EVIDENCE_H

#include "base/err.h"
#include "base/vec.h"
#include "brain/seal.h"
#include "sys/fs.h"
#include "view/view.h"

struct vel_evidence {
    struct vel_vec entries; /* struct vel_entry, newest first */
    struct vel_vec seals;   /* struct vel_view_seal: of the launches in `over` */
    struct vel_vec makers;  /* struct vel_view_maker, by the ids that they have */
    struct vel_ranges gone; /* of all launches */
    struct vel_vec over;    /* char * */
    struct vel_vec dropped; /* int64_t */
};

/* Of a prefix. Items of *over are char *, launches that are over, and are
 * the evidence's from now on, also on failure. One among them that has no end is taken
 * as if it ended now: its seals count as they are there. left_out: what counts launches
 * whose ledgers cannot be read, which are left out then; NULL: that fails (struct
 * vel_index_range). */
int vel_evidence_load(struct vel_index *index, struct vel_vec *over, size_t *left_out,
                      struct vel_evidence *ret, struct vel_err *err);
void vel_evidence_fini(struct vel_evidence *evidence);

/* The same for vel_view_make(), which borrows it: launch and nodes are to be added. */
struct vel_view_of vel_evidence_view(const struct vel_evidence *evidence);

#endif
