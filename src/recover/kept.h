/* SPDX-License-Identifier: BSD-3-Clause */
/* kept - the parts of a dataset that each process of a communicator keeps on its node:
 * which they are, and how they come there. So do ranks of another number than wrote it,
 * and the tools before a program.
 */
#ifndef VEL_RECOVER_KEPT_H
#define VEL_RECOVER_KEPT_H

#include "comm/comm.h"
#include "meta/filemap.h"
#include "pull/pull.h"
#include "topo/split.h"
#include "topo/store.h"
#include "view/view.h"

/* A part that a process uses, and where. */
struct vel_brought_part {
    int rank;
    char *dir;              /* NULL: none yet, or its files stand on the prefix */
    int way;                /* enum vel_pull_way; below 0: it has not come */
    bool has_come;          /* nothing of it was there before */
    struct vel_place place; /* in the sets of its level; known when it is asked for */
};

void vel_brought_parts_fini(struct vel_vec *parts);

struct vel_kept {
    struct vel_comm *comm;
    const struct vel_stores *stores;
    struct vel_pull_how how; /* its homes are those of the stores */
    struct vel_pull what;    /* without rank and home */

    struct vel_filemap map; /* of any part: dataset and level */
    bool has_map;
    size_t store;                /* where parts come to lie here */
    struct vel_vec parts;        /* struct vel_brought_part: those of this process */
    int64_t exposed;             /* sets of which one process keeps several parts */
    int64_t came[VEL_PULL_WAYS]; /* parts here, by enum vel_pull_way */
};

void vel_kept_fini(struct vel_kept *kept);

/* Collective. What the dataset is, as any of `parts` (struct vel_part) of any process
 * tells. !is_needed: there may be none. */
int vel_kept_learn(struct vel_kept *kept, const struct vel_vec *parts, bool is_needed,
                   struct vel_err *err);

/* By the map: where parts of its level come to lie. */
int vel_kept_choose(struct vel_kept *kept, struct vel_err *err);

/* Which parts are those of this process. place: the number in the communicator of who
 * keeps a part; below 0: no memory. */
int vel_kept_list(struct vel_kept *kept,
                  int (*place)(const void *arg, const struct vel_view_dataset *dataset,
                               const struct vel_view_place *part),
                  const void *arg, struct vel_err *err);

/* Local. All of the list come; at a failure those that have stay. */
int vel_kept_bring(struct vel_kept *kept, struct vel_pull_source *source,
                   struct vel_err *err);

/* Where a rank's part would be in a store: a new string; NULL: no memory. And is
 * anything of it in any store here? */
char *vel_kept_dir(const struct vel_kept *kept, size_t store, int rank);
bool vel_kept_has(const struct vel_kept *kept, int rank);

#endif
