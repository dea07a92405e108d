/* SPDX-License-Identifier: BSD-3-Clause */
/* prerun_in - what the files of a prerun share. */
#ifndef VEL_PROCESS_PRERUN_IN_H
#define VEL_PROCESS_PRERUN_IN_H

#include "base/vec.h"
#include "comm/comm.h"
#include "engine/background.h"
#include "meta/index.h"
#include "meta/launch.h"
#include "meta/prefix.h"
#include "process/prerun.h"
#include "recover/kept.h"
#include "topo/group.h"
#include "topo/store.h"
#include "view/view.h"

struct vel_prerun {
    const struct vel_prerun_of *of;
    char *dir; /* PREFIX/.veloc */
    struct vel_index *index;
    char prefix_id[VEL_PREFIX_ID];
    char *node;             /* this one's name */
    struct vel_host host;   /* the same, and the user */
    struct vel_comm *world; /* of the tools, by number */
    struct vel_groups *groups;
    struct vel_stores *stores;
    char **homes; /* of each store, "CACHE/USER/ID" */
    size_t n_homes;
    struct vel_background *background;
    char launch[VEL_LAUNCH_ROOM];
    bool is_met; /* by the leader of this node */
    struct vel_view view;
    bool has_view;
    struct vel_pull_source *source;
    struct vel_vec parts;   /* struct vel_part: that lay here when it began */
    struct vel_vec brought; /* int64_t: datasets that are in place */
    char **names, **lists;  /* of each tool: its node; "" or its ranks */
    bool has_lists;
    int *tools; /* by node of the view: the tool there, -1 when there is none */
};

static inline unsigned vel_prerun_limit(const struct vel_prerun *p)
{
    return (unsigned)(p->of->conf->peer_timeout * 1000);
}

/* --- prerun_meet.c: the name of the launch, and the world --- */

int vel_prerun_meet(struct vel_prerun *p, struct vel_err *err);

/* The launch of these tools will never be: nobody has to wait to see that it does not
 * live. */
void vel_prerun_forgo(const struct vel_prerun *p);

/* --- prerun_place.c: where parts are to be --- */

/* The number of the tool on whose node a part is to be; below 0: no memory. */
int vel_prerun_place(const void *prerun, const struct vel_view_dataset *d,
                     const struct vel_view_place *part);

/* --- prerun_roll.c: record "roll", who came --- */

/* By tool 0. In the directory of our launch, before any leader is there: its view waits
 * for all of us, and for nobody else. Then in that of the prefix: the datasets that
 * were brought may be on any of these nodes, and on no other. */
int vel_prerun_roll(const struct vel_prerun *p, bool is_ours, struct vel_err *err);

/* --- prerun_dataset.c --- */

struct vel_prerun_work {
    struct vel_prerun *p;
    const struct vel_view_dataset *d;
    struct vel_prerun_dataset ret;
    struct vel_err why;     /* it failed */
    struct vel_entry entry; /* of the prefix */
    bool has_entry;
    struct vel_kept kept; /* parts that are to be here */
    bool is_newest;
    int64_t owed[3]; /* of any part, until now: encode, flush; on the prefix already */
};

/* Collective. Its parts come to their nodes; and then it is owed what is still due. A
 * failure of the dataset is in its result alone: what is returned is a world that
 * broke. *ret is to be destroyed in any case. */
int vel_prerun_bring(struct vel_prerun *p, const struct vel_view_dataset *d,
                     struct vel_prerun_work **ret, struct vel_err *err);
int vel_prerun_owe(struct vel_prerun_work *w, struct vel_err *err);
void vel_prerun_work_destroy(struct vel_prerun_work *w); /* accepts NULL */

#endif
