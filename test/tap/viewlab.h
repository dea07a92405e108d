/* SPDX-License-Identifier: BSD-3-Clause */
/* viewlab - a made-up past: datasets of several launches on several nodes, of which
 * some have come; and what can be restored of it, worked out from how it was made and
 * not from what the nodes tell. */
#ifndef TEST_TAP_VIEWLAB_H
#define TEST_TAP_VIEWLAB_H

#include "tap/rng.h"
#include "view/view.h"

enum {
    VIEWLAB_NODES = 6,
    VIEWLAB_DATASETS = 6,
    VIEWLAB_RANKS = 12,
    VIEWLAB_ENCODINGS = 2,
    VIEWLAB_NAMES = 4, /* of a rank; datasets share some */
};

struct viewlab_encoding {
    enum vel_scheme scheme;       /* SINGLE or XOR */
    bool is_there[VIEWLAB_RANKS]; /* the rank's part has it, whole, on its node */
};

struct viewlab_dataset {
    int64_t id;
    int ranks, encodings;
    unsigned names; /* which of the names each rank has, bits */
    struct viewlab_encoding encoding[VIEWLAB_ENCODINGS];
    bool is_copied[VIEWLAB_RANKS]; /* the part was moved, and lies on the next node too
                                    */
    const char *maker;             /* NULL: none */
    bool is_over, is_dropped;
    int verdict;     /* 0: no seal */
    bool is_short;   /* the seal expects one rank more */
    bool is_session; /* it needs no seal */
    bool has_entry;
    enum vel_place_on_prefix place;
};

struct viewlab {
    size_t nodes, n;
    bool is_away[VIEWLAB_NODES];
    struct viewlab_dataset dataset[VIEWLAB_DATASETS];

    /* what is told of it */
    struct vel_inventory told[VIEWLAB_NODES]; /* those that came first */
    size_t n_came;
    struct vel_entry entries[VIEWLAB_DATASETS];
    struct vel_view_seal seals[VIEWLAB_DATASETS];
    struct vel_view_maker makers[VIEWLAB_DATASETS];
    const char *over[VIEWLAB_DATASETS];
    int64_t dropped[VIEWLAB_DATASETS];
    struct vel_view_of of;
};

void viewlab_make(struct viewlab *lab, uint64_t seed);
/* Two nodes, and a dataset of two ranks with a file each. */
void viewlab_plain(struct viewlab *lab);
void viewlab_fini(struct viewlab *lab);

/* The same facts in another order. */
void viewlab_shuffle(struct viewlab *lab, struct vel_rng *rng);

/* Has this node the part of a rank? */
bool viewlab_holds(const struct viewlab *lab, const struct viewlab_dataset *d,
                   size_t node, int rank);

/* By how it was made: do the caches, or the prefix, give all of it; is it to be left
 * alone; is anything of it known? */
bool viewlab_is_cached(const struct viewlab *lab, const struct viewlab_dataset *d);
bool viewlab_is_restored(const struct viewlab *lab, const struct viewlab_dataset *d);
/* It is partial, and no file of it is to come to the prefix. */
bool viewlab_gives_way(const struct viewlab_dataset *d);
bool viewlab_is_alive(const struct viewlab_dataset *d);
bool viewlab_is_known(const struct viewlab *lab, const struct viewlab_dataset *d);

/* The name i of a rank; the last 8 results stay good. */
const char *viewlab_name(int rank, size_t i);

#endif
