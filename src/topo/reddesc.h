/* SPDX-License-Identifier: BSD-3-Clause */
/* reddesc - redundancy descriptors: how a level protects a dataset, and with whom.
 *
 * A level is a CKPT line: store, scheme, failure group, interval. Its descriptor goes
 * with every dataset that used it (doc/format-descriptor.txt), so that a later run
 * finds the same sets again whatever its own configuration says.
 */
#ifndef VEL_TOPO_REDDESC_H
#define VEL_TOPO_REDDESC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/scheme.h"
#include "comm/comm.h"
#include "conf/conf.h"
#include "record/node.h"
#include "topo/check.h"
#include "topo/group.h"
#include "topo/split.h"
#include "topo/store.h"

/* The one before or after this rank in the ring that its set is. */
struct vel_neighbour {
    uint32_t place; /* in the set */
    int rank;       /* in world */
    char *node;     /* where it runs; post-run scavenging asks there */
};

struct vel_reddesc {
    bool enabled;
    uint32_t index;   /* in the list: the place of its id among those of all levels */
    int64_t interval; /* a count; below 0: minus the seconds */
    char *store_name;
    char *group_name;
    const struct vel_store *store; /* of that name now, else NULL */
    const struct vel_group *group; /* of that name now, else NULL */
    char *base;                    /* the store's, here */
    char *directory; /* <base>/<user>/<prefix id>/index.<i>, or what stands for <user>
                        there (sys/user_dir.h): a dataset's name follows */
    enum vel_scheme scheme;
    size_t m;            /* losses it bears: parity blocks, replicas, 0 for SINGLE */
    size_t set_size;     /* least members of a set, as it was asked for */
    size_t hop_distance; /* members are so many failure groups apart */
    bool is_output;      /* the level for outputs */
    bool is_bypass;      /* straight to the prefix */
    bool is_exposed; /* of this run: it is SINGLE since there are too few groups for its
                        scheme */
    struct vel_place place;
    struct vel_neighbour lhs, rhs; /* one place less, one more */

    /* The set, by place, in this run only; NULL in a descriptor that is not enabled or
     * not joined. */
    struct vel_comm *comm;
};

struct vel_reddescs {
    struct vel_reddesc *items;
    size_t n;
};

/* What the directories of a run have in common. */
struct vel_reddesc_owner {
    struct vel_fs *fs; /* where they are looked for */
    const char *user;
    const char *prefix_id;
};

/* Collective over world; the same failure on all ranks. The levels of the CKPT lines by
 * id, else the one that the settings imply. Where all ranks are in one failure group
 * nothing protects: such a level is SINGLE, with one line in the log. So is one whose
 * scheme needs more failure groups than there are, with a warning. VEL_ECONFIG: a group
 * or store that is not there, a scheme that does not fit its store (topo/check.h),
 * ranks that were told different levels, or RS without SET_FAILURES in sets that are no
 * multiple of 4; then *ret_fault (may be NULL) is its code. Stores and groups must live
 * as long as the descriptors. */
int vel_reddescs_create(struct vel_comm *world, const struct vel_conf *conf,
                        const struct vel_stores *stores,
                        const struct vel_groups *groups,
                        const struct vel_reddesc_owner *owner,
                        struct vel_reddescs **ret_descs, enum vel_topo_fault *ret_fault,
                        struct vel_err *err);

/* Collective, as vel_comm_destroy() may be. NULL is nothing. */
void vel_reddescs_destroy(struct vel_reddescs *descs);

/* Which level a dataset uses. */
struct vel_reddesc_use {
    int64_t id;                  /* of the dataset, from 1 */
    bool is_output;              /* takes the level with OUTPUT=1 if there is one */
    const double *seconds_since; /* since a level was used last, one per descriptor;
                                    INFINITY: never. NULL: levels by time are not due */
};

/* The enabled one with the longest seconds that have passed, else with the largest
 * interval that divides the id; NULL when none does. */
const struct vel_reddesc *vel_reddesc_choose(const struct vel_reddescs *descs,
                                             const struct vel_reddesc_use *use);

/* An empty descriptor, and what frees the content of any; collective for one that was
 * joined. */
void vel_reddesc_init(struct vel_reddesc *desc);
void vel_reddesc_fini(struct vel_reddesc *desc);

/* The persisted form, an object. NULL when out of memory. */
struct vel_node *vel_reddesc_to_node(const struct vel_reddesc *desc);

/* And back: all but what is of this run. `node` is input; VEL_ECORRUPT names the key
 * that is wrong. *ret_desc is to be freed with vel_reddesc_fini(). */
int vel_reddesc_from_node(const struct vel_node *node, struct vel_reddesc *ret_desc,
                          struct vel_err *err);

/* Where parts of a dataset come to lie whose level has this persisted form: the store
 * that it used, if it is one of ours now; else the first that may. VEL_ECONFIG: none.
 */
int vel_reddesc_home(const struct vel_node *node, const struct vel_stores *stores,
                     const struct vel_store **ret, struct vel_err *err);

#endif
