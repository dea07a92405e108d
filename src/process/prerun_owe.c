/* SPDX-License-Identifier: BSD-3-Clause */
/* What a dataset is owed when its parts are in place: promised by each node, settled by
 * tool 0. */
#include "config.h"

#include "engine/settle.h"
#include "process/prerun_in.h"

/* The checkpoint that the program restarts from may be due only now. */
static bool is_due(const struct vel_prerun_work *w)
{
    const struct vel_conf *conf = w->p->of->conf;
    bool is_on_restart =
        (conf->flush_on_restart || conf->global_restart) && w->is_newest;

    return (w->owed[1] || is_on_restart) && !w->owed[2];
}

static int owe(struct vel_prerun_work *w, int64_t lacks, struct vel_err *err)
{
    struct vel_prerun *p = w->p;
    unsigned owed = (lacks ? VEL_OWE_ENCODE : 0) | (is_due(w) ? VEL_OWE_FLUSH : 0);
    struct vel_settle settle = {.comm = p->world,
                                .background = p->background,
                                .node = p->node,
                                .map = &w->kept.map,
                                .parts = w->kept.parts.items,
                                .n = w->kept.parts.n,
                                .owed = owed,
                                .is_plain = p->of->conf->global_restart};
    unsigned before;
    int rc;

    if (!owed && !w->owed[0] && !w->owed[1])
        return 0;
    /* what has moved away is owed nothing where it was */
    rc = vel_prerun_tell(w, owed, VEL_OWE_NOTHING, &before, err);
    rc = vel_comm_agree(p->world, rc, err);
    if (rc == 0 && owed)
        rc = vel_settle(&settle, err);
    w->ret.is_encoded = rc == 0 && owed & VEL_OWE_ENCODE;
    w->ret.is_flushed = rc == 0 && owed & VEL_OWE_FLUSH;
    return rc;
}

int vel_prerun_owe_again(struct vel_prerun_work *w, struct vel_err *err)
{
    struct vel_vec *parts = &w->kept.parts;
    int64_t lacks;
    int rc = vel_settle_look(w->p->of->fs, w->d->about.ranks, parts->items, parts->n,
                             &lacks, err);

    rc = vel_comm_agree_fold(w->p->world, rc, VEL_COMM_MAX, &lacks, 1, err);
    return rc < 0 ? rc : owe(w, lacks, err);
}
