/* SPDX-License-Identifier: BSD-3-Clause */
/* One dataset: what was owed rests, parts come to their nodes, and then it is owed what
 * is still due, for the parts as they lie now. As a session does it that recovers. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "meta/cache.h"
#include "meta/filemap.h"
#include "process/prerun_in.h"
#include "topo/reddesc.h"
#include "view/inventory.h"
#include "view/view_in.h"

bool vel_prerun_has(const struct vel_vec *ranks, int rank)
{
    for (size_t i = 0; i < ranks->n; i++)
        if (vel_prerun_rank(ranks, i) == rank)
            return true;
    return false;
}

static int add_rank(struct vel_vec *ranks, int rank, struct vel_err *err)
{
    return vel_prerun_has(ranks, rank) || vel_vec_push(ranks, &rank)
               ? 0
               : vel_out_of_memory(err, "recovering");
}

/* --- what was owed --- */

static int find_ranks(struct vel_prerun_work *w, struct vel_err *err)
{
    const struct vel_prerun *p = w->p;
    int rc = 0;

    for (size_t s = 0; rc == 0 && s < w->d->sets.n; s++) {
        const struct vel_view_set *set = vel_vec_at(&w->d->sets, s);

        for (size_t i = 0; rc == 0 && i < set->places.n; i++) {
            const struct vel_view_place *part = vel_view_place_at(set, i);
            int tool = vel_prerun_place(p, w->d, part);

            if (tool < 0)
                return vel_out_of_memory(err, "recovering");
            if (tool != p->of->node)
                continue;
            rc = add_rank(&w->ranks, part->rank, err);
            if (rc == 0)
                rc = add_rank(&w->before, part->rank, err);
        }
    }
    for (size_t i = 0; rc == 0 && i < p->parts.n; i++) {
        const struct vel_part *part = vel_vec_at(&p->parts, i);

        if (part->id == w->d->about.id)
            rc = add_rank(&w->before, part->rank, err);
    }
    return rc;
}

int vel_prerun_tell(struct vel_prerun_work *w, int rank, unsigned what,
                    unsigned *ret_before, struct vel_err *err)
{
    struct vel_background *b = w->p->background;

    return b->ops->owe(b, w->d->about.id, rank, what, NULL, ret_before, err);
}

static int rest(struct vel_prerun_work *w, struct vel_err *err)
{
    int rc = find_ranks(w, err);

    for (size_t i = 0; rc == 0 && i < w->before.n; i++) {
        unsigned before = 0;

        rc = vel_prerun_tell(w, vel_prerun_rank(&w->before, i), VEL_OWE_REST, &before,
                             err);
        w->owed[0] |= !!(before & VEL_OWE_ENCODE);
        w->owed[1] |= !!(before & VEL_OWE_FLUSH);
    }
    if (rc == 0)
        w->has_entry =
            vel_entry_load(w->p->index, w->d->about.id, &w->entry, NULL) == 0;
    w->owed[2] = w->has_entry && w->entry.place == VEL_ON_PREFIX;
    return rc;
}

/* --- what it is --- */

static int choose_home(struct vel_prerun_work *w, struct vel_err *err)
{
    const struct vel_store *store;
    int rc = vel_reddesc_home(w->map.descriptor, w->p->stores, &store, err);

    if (rc < 0)
        return rc;
    w->home = w->p->homes[store->index];
    rc = vel_store_check(store, w->p->of->fs, err);
    return rc < 0 ? rc : vel_cache_make_dir(w->p->of->fs, w->home, err);
}

/* Collective. A dataset that came to the prefix may have left all caches since the view
 * was made. */
static int learn(struct vel_prerun_work *w, struct vel_err *err)
{
    const struct vel_prerun *p = w->p;
    int rc;

    w->has_map =
        vel_parts_map(p->of->fs, &p->parts, w->d->about.id, w->d->encoding, &w->map);
    rc = vel_filemap_share(p->world, &w->map, &w->has_map, err);
    if (rc == 0 && !w->has_map && !w->owed[2])
        rc = vel_fail(err, VEL_ECORRUPT, "none of its redundancy files can be read");
    if (rc == 0 && !w->has_map)
        w->ret.on_prefix = w->d->about.ranks;
    if (rc < 0 || !w->has_map)
        return rc;
    return vel_comm_agree(p->world, choose_home(w, err), err);
}

/* --- its parts --- */

static void count(struct vel_prerun_work *w, int rank, const struct vel_pulled *pulled)
{
    static const char *const words[] = {[VEL_PULL_HERE] = "is here",
                                        [VEL_PULL_OWNER] = "was copied",
                                        [VEL_PULL_REBUILT] = "was rebuilt",
                                        [VEL_PULL_NATIVE] = "is on the prefix",
                                        [VEL_PULL_FETCHED] = "came from the prefix"};
    struct vel_prerun_dataset *ret = &w->ret;

    vel_log(pulled->way == VEL_PULL_HERE ? VEL_LOG_DEBUG : VEL_LOG_INFO,
            "%s: the part of rank %d of dataset %" PRId64 " %s", w->p->node, rank,
            w->d->about.id, words[pulled->way]);
    ret->here += pulled->way == VEL_PULL_HERE;
    ret->copied += pulled->way == VEL_PULL_OWNER;
    ret->rebuilt += pulled->way == VEL_PULL_REBUILT;
    ret->on_prefix += pulled->way >= VEL_PULL_NATIVE;
    ret->bytes += pulled->bytes;
}

static int pull(struct vel_prerun_work *w, struct vel_err *err)
{
    const struct vel_prerun *p = w->p;
    const struct vel_pull_how how = {.fs = p->of->fs,
                                     .may_fetch = p->of->conf->fetch,
                                     .node = p->node,
                                     .homes = p->homes,
                                     .n_homes = p->n_homes,
                                     .prefix = p->of->prefix,
                                     .index = p->index,
                                     .source = p->source};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < w->ranks.n; i++) {
        const struct vel_pull what = {.dataset = w->d,
                                      .view = &p->view,
                                      .entry = w->has_entry ? &w->entry : NULL,
                                      .rank = vel_prerun_rank(&w->ranks, i),
                                      .home = w->home};
        struct vel_pulled pulled;

        rc = vel_pull(&how, &what, &pulled, err);
        if (rc < 0)
            break;
        count(w, what.rank, &pulled);
        if (!vel_vec_push(&w->dirs, &pulled.dir)) {
            vel_pulled_fini(&pulled);
            rc = vel_out_of_memory(err, "recovering");
        }
    }
    return rc;
}

/* Collective. What has come to all nodes together. */
static int sum_up(struct vel_prerun_work *w, struct vel_err *err)
{
    struct vel_prerun_dataset *ret = &w->ret;
    int64_t sums[] = {ret->here, ret->copied, ret->rebuilt, ret->on_prefix,
                      (int64_t)ret->bytes};
    int rc = vel_comm_allreduce(w->p->world, VEL_COMM_SUM, sums, 5, err);

    if (rc < 0)
        return rc;
    ret->here = sums[0];
    ret->copied = sums[1];
    ret->rebuilt = sums[2];
    ret->on_prefix = sums[3];
    ret->bytes = (uint64_t)sums[4];
    return 0;
}

/* Sets whose members share a node bear the loss of fewer nodes than they did. */
static int64_t count_exposed(const struct vel_prerun_work *w)
{
    int64_t exposed = 0;

    for (size_t s = 0; s < w->d->sets.n; s++) {
        const struct vel_view_set *set = vel_vec_at(&w->d->sets, s);
        int tool[VEL_SET_MAX];
        bool shares = false;

        for (size_t i = 0; i < set->places.n; i++) {
            tool[i] = vel_prerun_place(w->p, w->d, vel_view_place_at(set, i));
            for (size_t k = 0; k < i; k++)
                shares |= tool[k] == tool[i];
        }
        exposed += shares;
    }
    return exposed;
}

/* --- all --- */

static int bring(struct vel_prerun_work *w, struct vel_err *err)
{
    struct vel_comm *world = w->p->world;
    int rc = rest(w, err);

    rc = vel_comm_agree_fold(world, rc, VEL_COMM_MAX, w->owed, 3, err);
    if (rc == 0)
        rc = learn(w, err);
    if (rc < 0 || w->ret.on_prefix > 0)
        return rc;
    rc = vel_comm_agree(world, pull(w, err), err);
    if (rc == 0)
        rc = sum_up(w, err);
    if (rc == 0 && world->rank == 0)
        w->ret.exposed = count_exposed(w);
    return rc;
}

void vel_prerun_work_destroy(struct vel_prerun_work *w)
{
    if (!w)
        return;
    for (size_t i = 0; i < w->dirs.n; i++)
        free(*(char **)vel_vec_at(&w->dirs, i));
    vel_vec_fini(&w->dirs);
    vel_vec_fini(&w->ranks);
    vel_vec_fini(&w->before);
    if (w->has_entry)
        vel_entry_fini(&w->entry);
    if (w->has_map)
        vel_filemap_fini(&w->map);
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
    w->p = p;
    w->d = d;
    w->ret.about = &d->about;
    vel_vec_init(&w->ranks, sizeof(int));
    vel_vec_init(&w->before, sizeof(int));
    vel_vec_init(&w->dirs, sizeof(char *));
    *ret = w;
    rc = go_on(w, bring(w, &w->why), err);
    w->ret.seconds =
        (double)(vel_clock_monotonic(p->of->clock) - begun) / (double)VEL_CLOCK_S;
    return rc;
}

/* What some have promised and nobody settles is not waited for. */
static void rest_again(struct vel_prerun_work *w)
{
    unsigned before;

    for (size_t i = 0; i < w->ranks.n; i++)
        vel_prerun_tell(w, vel_prerun_rank(&w->ranks, i), VEL_OWE_REST, &before, NULL);
}

int vel_prerun_owe(struct vel_prerun_work *w, struct vel_err *err)
{
    int rc;

    /* what is no cache's any more, its readers know where it stands */
    if (w->ret.failed || w->ret.on_prefix > 0)
        return 0;
    rc = vel_prerun_owe_again(w, &w->why);
    if (rc < 0)
        rest_again(w);
    return go_on(w, rc, err);
}
