/* SPDX-License-Identifier: BSD-3-Clause */
/* view - what a launch can restore, decided once from what all nodes hold
 * (doc/life.txt, 13; doc/format-view.txt, 2).
 *
 * vel_view_make() is a pure function: the same inventories, seals, entries and names in
 * any order give the same record. Whoever has the record answers from it alone; a node
 * that comes later changes nothing.
 */
#ifndef VEL_VIEW_VIEW_H
#define VEL_VIEW_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ranges.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "meta/dataset.h"
#include "meta/index.h"
#include "record/node.h"
#include "view/inventory.h"

/* The launch that made datasets, and has claimed their ids (meta/ids.h). Those of
 * sessions that could not be claimed have none. */
struct vel_view_maker {
    int64_t first, last;
    const char *launch;
    bool is_gone;    /* that was over, and its seals are removed: none was needed any
                        more */
    bool is_session; /* a session, not leaders: its redundancy files are its seal */
};

/* All that a view is made of. Everything is borrowed. */
struct vel_view_of {
    const char *launch; /* whose view it is */
    const struct vel_inventory *nodes;
    size_t n_nodes;
    const struct vel_entry *entries; /* the highest K of each dataset */
    size_t n_entries;
    const struct vel_view_seal *seals;
    size_t n_seals;
    const struct vel_view_maker *makers;
    size_t n_makers;
    const char *const *over; /* launches that are over */
    size_t n_over;
    const int64_t *dropped; /* ids with a tombstone */
    size_t n_dropped;
    const struct vel_ranges *gone; /* ids of which nothing counts any more; or NULL */
};

/* A member of a set of the encoding that is restored. */
struct vel_view_place {
    int rank; /* from about.ranks on: a member without files */
    int node; /* index in nodes; below 0: nobody has it, it is rebuilt */
};

struct vel_view_set {
    uint32_t m;
    struct vel_vec places; /* struct vel_view_place, by place in the set */
};

struct vel_view_dataset {
    struct vel_dataset about;
    bool is_cached;    /* its parts in the caches give all of it; then: */
    bool is_published; /* the prefix has it */
    int64_t index;     /* of the level */
    uint8_t encoding[VEL_ENCODING_ID];
    enum vel_scheme scheme;
    struct vel_vec sets; /* struct vel_view_set, by number */
};

enum vel_view_reason {
    VEL_VIEW_DROPPED = 1, /* a person or a program wanted that */
    VEL_VIEW_UNSEALED,    /* its launch ended without a seal that counts */
    VEL_VIEW_VOID,        /* sealed as one that will never be complete */
    VEL_VIEW_PARTIAL,     /* sealed as no checkpoint: it is still to be flushed */
    VEL_VIEW_INCOMPLETE,  /* too much of it is lost */
    VEL_VIEW_UNSEEN,      /* too little of it was seen, or nothing, and the rest may lie
                             in other caches, or on nodes that did not tell */
};

/* A dataset of which something is left and that cannot be restored. */
struct vel_view_lost {
    int64_t id;
    enum vel_view_reason reason;
    char *why; /* a sentence without its end */
};

/* A name, and the newest dataset that can be restored with it. Of a name without one
 * the view knows that it is lost from the caches; what a user has put there is his. */
struct vel_view_name {
    char *name; /* cached name */
    int64_t id; /* 0: none can */
    int rank;   /* whose part has it */
    uint64_t size;
    int64_t lost; /* a newer one that is lost with it; 0: none */
};

struct vel_view {
    char *launch;
    int64_t highest;         /* id of any dataset that was seen */
    struct vel_vec nodes;    /* char *, sorted: who told what it holds */
    struct vel_vec alive;    /* int64_t, ascending: the first id of each maker that is
                                not over */
    struct vel_vec datasets; /* struct vel_view_dataset, newest first */
    struct vel_vec lost;     /* struct vel_view_lost, newest first */
    struct vel_vec names;    /* struct vel_view_name, sorted */
};

int vel_view_make(const struct vel_view_of *of, struct vel_view *ret,
                  struct vel_err *err);
void vel_view_fini(struct vel_view *view);

/* The record view.L. Made once (ident/once.h); whoever finds one that is damaged or
 * newer has no view. */
#define VEL_VIEW_TYPE "view"
enum { VEL_VIEW_FORMAT = 1 };
struct vel_node *vel_view_to_node(const struct vel_view *view, struct vel_err *err);
int vel_view_encode(const struct vel_view *view, struct vel_buf *ret,
                    struct vel_err *err);
int vel_view_decode(const void *bytes, size_t len, struct vel_view *ret,
                    struct vel_err *err);
int vel_view_load(struct vel_fs *fs, const char *path, struct vel_view *ret,
                  struct vel_err *err);

/* "DIR/view.L", DIR being PREFIX/.veloc; NULL when out of memory. */
char *vel_view_path(const char *dir, const char *launch);

/* --- answers --- */

/* NULL: no dataset has it, the file is whatever stands at its path. */
const struct vel_view_name *vel_view_find_name(const struct vel_view *view,
                                               const char *name);
const struct vel_view_dataset *vel_view_find_dataset(const struct vel_view *view,
                                                     int64_t id);
const struct vel_view_lost *vel_view_find_lost(const struct vel_view *view, int64_t id);
/* May the rest of it lie in caches that nobody looked at? Then what is left of it on
 * the prefix stays. */
bool vel_view_is_unseen(const struct vel_view *view, int64_t id);
/* Is it lost because no encoding of it can be read? The view says that it was never
 * complete; who sees its files may know better. */
bool vel_view_is_unread(const struct vel_view *view, int64_t id);
/* Has it told what it holds? */
bool vel_view_has_node(const struct vel_view *view, const char *node);

/* The set and place of a rank's part; false when the caches do not give it. */
bool vel_view_find_place(const struct vel_view_dataset *dataset, int rank,
                         size_t *ret_set, size_t *ret_place);

/* Who keeps a part, a number below `places`: whoever has it; or else where it is made
 * again so that it does its set least harm, one after the other. place_of tells the
 * place of each node of the view, below 0: it is none; NULL: nodes are the places.
 * Returns below 0 when out of memory. */
int vel_view_keeper(const struct vel_view_dataset *dataset,
                    const struct vel_view_place *part, const int *place_of, int places);

/* The sentence for a name that is lost: which dataset, why, and what can be restored
 * instead. Appended to *ret. */
void vel_view_tell_lost(const struct vel_view *view, const struct vel_view_name *name,
                        struct vel_buf *ret);

#endif
