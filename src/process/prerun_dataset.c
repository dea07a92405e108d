/* SPDX-License-Identifier: BSD-3-Clause */
/* One dataset: what was owed rests, parts come to their nodes, and then it is owed what
 * is still due, for the parts as they lie now. As a session does it that recovers. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"
#include "engine/settle.h"
#include "process/prerun_in.h"

/* --- what was owed --- */

/* Tell the leader of this node. */
static int tell(struct vel_prerun_work *w, int rank, unsigned what,
                unsigned *ret_before, struct vel_err *err)
{
    struct vel_background *b = w->p->background;
    unsigned before = 0;
    int rc = b->ops->owe(b, w->d->about.id, rank, what, NULL, &before, err);

    *ret_before |= before;
    return rc;
}

static bool keeps(const struct vel_prerun_work *w, int rank)
{
    const struct vel_brought_part *p = w->kept.parts.items;

    for (size_t i = 0; i < w->kept.parts.n; i++)
        if (p[i].rank == rank)
            return true;
    return false;
}

/* Each part that is to be here, and each other that was here when it began; or these
 * others alone. *ret_before: what was owed of any. */
static int tell_all(struct vel_prerun_work *w, bool only_others, unsigned what,
                    unsigned *ret_before, struct vel_err *err)
{
    const struct vel_brought_part *p = w->kept.parts.items;
    const struct vel_part *was = w->p->parts.items;
    int rc = 0;

    *ret_before = 0;
    for (size_t i = 0; rc == 0 && !only_others && i < w->kept.parts.n; i++)
        rc = tell(w, p[i].rank, what, ret_before, err);
    for (size_t i = 0; rc == 0 && i < w->p->parts.n; i++)
        if (was[i].id == w->d->about.id && !keeps(w, was[i].rank))
            rc = tell(w, was[i].rank, what, ret_before, err);
    return rc;
}

static int rest(struct vel_prerun_work *w, struct vel_err *err)
{
    unsigned before;
    int rc = tell_all(w, false, VEL_OWE_REST, &before, err);

    w->owed[0] = !!(before & VEL_OWE_ENCODE);
    w->owed[1] = !!(before & VEL_OWE_FLUSH);
    if (rc == 0)
        w->has_entry =
            vel_entry_load(w->p->index, w->d->about.id, &w->entry, NULL) == 0;
    w->owed[2] = w->has_entry && w->entry.place == VEL_ON_PREFIX;
    return rc;
}

/* --- its parts --- */

static void say_ways(const struct vel_prerun_work *w)
{
    static const char *const words[] = {[VEL_PULL_HERE] = "is here",
                                        [VEL_PULL_OWNER] = "was copied",
                                        [VEL_PULL_REBUILT] = "was rebuilt",
                                        [VEL_PULL_NATIVE] = "is on the prefix",
                                        [VEL_PULL_FETCHED] = "came from the prefix"};
    const struct vel_brought_part *p = w->kept.parts.items;

    for (size_t i = 0; i < w->kept.parts.n && p[i].way >= 0; i++)
        vel_log(p[i].way == VEL_PULL_HERE ? VEL_LOG_DEBUG : VEL_LOG_INFO,
                "%s: the part of rank %d of dataset %" PRId64 " %s", w->p->node,
                p[i].rank, w->d->about.id, words[p[i].way]);
}

static int pull(struct vel_prerun_work *w, struct vel_err *err)
{
    int rc = vel_kept_choose(&w->kept, err);

    if (w->has_entry)
        w->kept.what.entry = &w->entry;
    if (rc == 0)
        rc = vel_kept_bring(&w->kept, w->p->source, err);
    say_ways(w);
    return rc;
}

/* Collective. What has come to all nodes together. */
static int sum_up(struct vel_prerun_work *w, struct vel_err *err)
{
    int64_t *came = w->kept.came;
    int rc = vel_comm_allreduce(w->p->world, VEL_COMM_SUM, came, VEL_PULL_WAYS, err);

    w->ret.here = came[VEL_PULL_HERE];
    w->ret.copied = came[VEL_PULL_OWNER];
    w->ret.rebuilt = came[VEL_PULL_REBUILT];
    w->ret.on_prefix = came[VEL_PULL_NATIVE] + came[VEL_PULL_FETCHED];
    w->ret.exposed = w->kept.exposed;
    return rc;
}

/* --- what it is owed now --- */

/* The checkpoint that the program restarts from may be due only now. */
static bool is_due(const struct vel_prerun_work *w)
{
    const struct vel_conf *conf = w->p->of->conf;
    bool is_on_restart =
        (conf->flush_on_restart || conf->global_restart) && w->is_newest;

    return (w->owed[1] || is_on_restart) && !w->owed[2];
}

static int owe(struct vel_prerun_work *w, struct vel_err *err)
{
    const struct vel_prerun *p = w->p;
    struct vel_vec *parts = &w->kept.parts;
    struct vel_settle settle = {.comm = p->world,
                                .background = p->background,
                                .node = p->node,
                                .map = &w->kept.map,
                                .parts = parts->items,
                                .n = parts->n,
                                .is_plain = p->of->conf->global_restart};
    int64_t lacks;
    unsigned before;
    int rc = vel_settle_look(p->of->fs, w->d->about.ranks, parts->items, parts->n,
                             &lacks, err);

    rc = vel_comm_agree_fold(p->world, rc, VEL_COMM_MAX, &lacks, 1, err);
    settle.owed = (lacks ? VEL_OWE_ENCODE : 0) | (is_due(w) ? VEL_OWE_FLUSH : 0);
    if (rc < 0 || (!settle.owed && !w->owed[0] && !w->owed[1]))
        return rc;
    /* what has moved away is owed nothing where it was */
    rc = tell_all(w, settle.owed, VEL_OWE_NOTHING, &before, err);
    rc = vel_comm_agree(p->world, rc, err);
    if (rc == 0 && settle.owed)
        rc = vel_settle(&settle, err);
    w->ret.is_encoded = rc == 0 && settle.owed & VEL_OWE_ENCODE;
    w->ret.is_flushed = rc == 0 && settle.owed & VEL_OWE_FLUSH;
    return rc;
}

/* --- all --- */

static int bring(struct vel_prerun_work *w, struct vel_err *err)
{
    struct vel_comm *world = w->p->world;
    int rc = vel_kept_list(&w->kept, vel_prerun_place, w->p, err);

    if (rc == 0)
        rc = rest(w, err);
    rc = vel_comm_agree_fold(world, rc, VEL_COMM_MAX, w->owed, 3, err);
    if (rc == 0)
        rc = vel_kept_learn(&w->kept, &w->p->parts, !w->owed[2], err);
    if (rc < 0)
        return rc;
    if (!w->kept.has_map) { /* it has left all caches since the view was made */
        w->ret.on_prefix = w->d->about.ranks;
        return 0;
    }
    rc = vel_comm_agree(world, pull(w, err), err);
    return rc < 0 ? rc : sum_up(w, err);
}

void vel_prerun_work_destroy(struct vel_prerun_work *w)
{
    if (!w)
        return;
    vel_kept_fini(&w->kept);
    if (w->has_entry)
        vel_entry_fini(&w->entry);
    free(w);
}

/* What was owed of one that failed rests, and stays on record. */
static int go_on(struct vel_prerun_work *w, int rc, struct vel_err *err)
{
    if (rc < 0)
        w->ret.failed = &w->why;
    return vel_comm_barrier(w->p->world, err);
}

int vel_prerun_bring(struct vel_prerun *p, const struct vel_view_dataset *d,
                     struct vel_prerun_work **ret, struct vel_err *err)
{
    struct vel_prerun_work *w = calloc(1, sizeof *w);
    uint64_t begun = vel_clock_monotonic(p->of->clock);
    int rc =
        vel_comm_agree(p->world, w ? 0 : vel_out_of_memory(err, "recovering"), err);

    if (rc < 0) {
        free(w);
        return rc;
    }
    *w = (struct vel_prerun_work){.p = p,
                                  .d = d,
                                  .ret.about = &d->about,
                                  .kept = {.comm = p->world,
                                           .stores = p->stores,
                                           .how = {.fs = p->of->fs,
                                                   .may_fetch = p->of->conf->fetch,
                                                   .node = p->node,
                                                   .homes = p->homes,
                                                   .n_homes = p->n_homes,
                                                   .prefix = p->of->prefix,
                                                   .index = p->index},
                                           .what = {.dataset = d, .view = &p->view}}};
    *ret = w;
    rc = go_on(w, bring(w, &w->why), err);
    w->ret.seconds =
        (double)(vel_clock_monotonic(p->of->clock) - begun) / (double)VEL_CLOCK_S;
    return rc;
}

/* What some have promised and nobody settles is not waited for. */
static void rest_again(struct vel_prerun_work *w)
{
    const struct vel_brought_part *p = w->kept.parts.items;
    unsigned before = 0;

    for (size_t i = 0; i < w->kept.parts.n; i++)
        tell(w, p[i].rank, VEL_OWE_REST, &before, NULL);
}

int vel_prerun_owe(struct vel_prerun_work *w, struct vel_err *err)
{
    int rc;

    /* what is no cache's any more, its readers know where it stands */
    if (w->ret.failed || w->ret.on_prefix > 0)
        return 0;
    rc = owe(w, &w->why);
    if (rc < 0)
        rest_again(w);
    return go_on(w, rc, err);
}
