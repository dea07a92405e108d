/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files that make a view share. */
#ifndef VEL_VIEW_VIEW_IN_H
#define VEL_VIEW_VIEW_IN_H

#include "view/view.h"

/* What is said of parts without any encoding. */
#define VEL_VIEW_NEVER "it was never complete"

/* One encoding of a part that some node holds; NULL: the part has none. */
struct vel_view_ref {
    const struct vel_stock *held;
    const struct vel_stock_encoding *encoding;
    int node;        /* index in view->nodes */
    uint64_t newest; /* sequence of any part of the encoding: each set counts its own */
};

/* A name as one list of one dataset has it. */
struct vel_view_noted {
    const char *name;
    int64_t id;
    int rank;
    uint64_t size;
    bool is_restored;
};

struct vel_view_making {
    const struct vel_view_of *of;
    struct vel_view *view;
    struct vel_vec refs;  /* struct vel_view_ref: newest dataset first, newest encoding
                             first, then by set, place and node */
    struct vel_vec names; /* struct vel_view_noted */

    /* of the dataset at hand */
    int64_t id;
    const struct vel_seal *seal;
    const struct vel_view_ref *used; /* of the encoding that is restored */
    size_t n_used;
};

static inline const struct vel_view_place *
vel_view_place_at(const struct vel_view_set *set, size_t i)
{
    return (const struct vel_view_place *)set->places.items + i;
}

/* Empty ones, and what frees the content of a dataset. */
int vel_view_init(struct vel_view *view, const char *launch, struct vel_err *err);
void vel_view_dataset_init(struct vel_view_dataset *dataset);
void vel_view_dataset_fini(struct vel_view_dataset *dataset);

/* Where a rank's part was when the dataset at hand was sealed; NULL: not told. */
const char *vel_view_node_of(const struct vel_view_making *making, int rank);

/* --- view_weigh.c: can these give all of the dataset? --- */

/* d->is_cached, and what goes with it; else *why. */
int vel_view_weigh(struct vel_view_making *making, const struct vel_view_ref *refs,
                   size_t n, struct vel_view_dataset *d, struct vel_buf *why,
                   struct vel_err *err);

/* --- view_newer.c: of the dataset at hand, which has a seal --- */

/* Is a newer one of its template restored? Of a session's any of a session. */
bool vel_view_has_newer(const struct vel_view_making *making);

/* Was one that is restored written under its template and step while it could not be?
 * What that has not written would come from this one. *why: then. */
bool vel_view_is_written_anew(const struct vel_view_making *making,
                              struct vel_buf *why);

/* --- view_names.c: which names go with it --- */

/* Note the names that these refs list, of a dataset that is restored or lost. */
int vel_view_note_names(struct vel_view_making *making, const struct vel_view_ref *refs,
                        size_t n, bool is_restored, struct vel_err *err);

/* All are noted: make view->names of them. */
int vel_view_settle_names(struct vel_view_making *making, struct vel_err *err);

#endif
