/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "meta/launch.h"
#include "meta/ids.h"
#include "meta/paths.h"
#include "view/evidence.h"
#include "view/seals.h"

struct gather {
    struct vel_index *index;
    struct vel_fs *fs; /* its */
    const char *dir;
    struct vel_evidence *all;
    size_t *left_out; /* NULL: who must know */
};

static int no_memory(struct vel_err *err)
{
    return vel_out_of_memory(err, "what a prefix says");
}

void vel_evidence_fini(struct vel_evidence *evidence)
{
    for (size_t i = 0; i < evidence->seals.n; i++)
        vel_seal_fini(&((struct vel_view_seal *)vel_vec_at(&evidence->seals, i))->seal);
    for (size_t i = 0; i < evidence->makers.n; i++)
        free((char *)((struct vel_view_maker *)vel_vec_at(&evidence->makers, i))
                 ->launch);
    vel_index_fini(&evidence->entries);
    vel_vec_fini(&evidence->seals);
    vel_vec_fini(&evidence->makers);
    vel_ranges_fini(&evidence->gone);
    vel_fs_names_fini(&evidence->over);
    vel_vec_fini(&evidence->dropped);
}

struct vel_view_of vel_evidence_view(const struct vel_evidence *evidence)
{
    return (struct vel_view_of){.entries = evidence->entries.items,
                                .n_entries = evidence->entries.n,
                                .seals = evidence->seals.items,
                                .n_seals = evidence->seals.n,
                                .makers = evidence->makers.items,
                                .n_makers = evidence->makers.n,
                                .over = (const char *const *)evidence->over.items,
                                .n_over = evidence->over.n,
                                .dropped = evidence->dropped.items,
                                .n_dropped = evidence->dropped.n,
                                .gone = &evidence->gone};
}

/* --- makers --- */

/* Of all datasets, also of those that no node holds: so that nobody takes them for
 * nobody's. */
static int add_makers(struct gather *g, struct vel_err *err)
{
    struct vel_vec blocks;
    int rc = vel_index_blocks(g->index, &blocks, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; rc == 0 && i < blocks.n; i++) {
        struct vel_ids_block *block = vel_vec_at(&blocks, i);
        const struct vel_view_maker maker = {.first = block->first,
                                             .last = block->last,
                                             .launch = block->launch,
                                             .is_session = !block->is_leaders};

        if (!block->launch)
            continue;
        if (vel_vec_push(&g->all->makers, &maker))
            block->launch = NULL;
        else
            rc = no_memory(err);
    }
    vel_ids_list_fini(&blocks);
    return rc;
}

/* --- seals --- */

static int is_absent(struct gather *g, const char *launch, bool *ret_is,
                     struct vel_err *err)
{
    return vel_launch_is_gone(g->fs, g->dir, launch, ret_is, err);
}

/* Whoever has made a view removes a launch that nobody needs any more, at any moment:
 * what is missing then is not missed. */
static bool is_removed(struct gather *g, const char *launch, int rc)
{
    bool is = false;

    return rc == VEL_ENOENT && is_absent(g, launch, &is, NULL) == 0 && is;
}

/* A dataset whose seal nobody can read does not count. */
static int add_seal(struct gather *g, const char *launch, const struct vel_seals *seals,
                    size_t i, struct vel_err *err)
{
    struct vel_view_seal seal = {.launch = launch};
    struct vel_err why = {0};
    int rc = vel_seals_at(seals, i, &seal.seal, &why);

    if (rc == 0 && !vel_vec_push(&g->all->seals, &seal)) {
        vel_seal_fini(&seal.seal);
        return no_memory(err);
    }
    if (rc == 0)
        return 0;
    if (!vel_status_is_final(rc))
        return vel_fail(err, (enum vel_status)rc, "%s", why.text);
    vel_log(VEL_LOG_WARN, "a seal of an earlier launch does not count: %s", why.text);
    return 0;
}

static int add_seals(struct gather *g, const char *launch, struct vel_err *err)
{
    struct vel_seals *seals;
    int rc = vel_seals_load_by(g->index, launch, &seals, err);

    for (size_t i = 0; rc == 0 && i < seals->items.n; i++)
        rc = add_seal(g, launch, seals, i, err);
    vel_seals_destroy(seals);
    return rc;
}

static int add_launches(struct gather *g, struct vel_err *err)
{
    for (size_t i = 0; i < g->all->over.n; i++) {
        const char *launch = *(char **)vel_vec_at(&g->all->over, i);
        struct vel_err why = {0};
        int rc = add_seals(g, launch, &why);

        if (rc < 0 && !vel_status_is_final(rc) && !g->left_out)
            return vel_launch_fail_unread(g->dir, launch, &why, err);
        if (rc < 0 && !is_removed(g, launch, rc))
            vel_log(VEL_LOG_WARN, "datasets of launch %s do not count: %s", launch,
                    why.text);
    }
    return 0;
}

/* Is a launch among those that are over, from place `from` on? */
static bool is_among(const struct vel_vec *over, size_t from, const char *launch)
{
    for (size_t i = from; i < over->n; i++)
        if (strcmp(*(char **)vel_vec_at(over, i), launch) == 0)
            return true;
    return false;
}

/* A launch without a directory was over, and its seals not needed any more, when that
 * was removed. */
static int add_gone(struct gather *g, struct vel_err *err)
{
    struct vel_vec *over = &g->all->over;
    size_t ended = over->n;

    for (size_t i = 0; i < g->all->makers.n; i++) {
        struct vel_view_maker *maker = vel_vec_at(&g->all->makers, i);
        char *launch;
        int rc;

        if (is_among(over, 0, maker->launch)) {
            maker->is_gone = is_among(over, ended, maker->launch);
            continue;
        }
        rc = is_absent(g, maker->launch, &maker->is_gone, err);
        if (rc < 0)
            return rc;
        if (!maker->is_gone)
            continue;
        launch = strdup(maker->launch);
        if (!launch || !vel_vec_push(over, &launch)) {
            free(launch);
            return no_memory(err);
        }
    }
    return 0;
}

/* --- all --- */

int vel_evidence_load(struct vel_index *index, struct vel_vec *over, size_t *left_out,
                      struct vel_evidence *ret, struct vel_err *err)
{
    struct vel_evidence all = {.over = *over};
    struct gather g = {.index = index,
                       .fs = vel_index_fs(index),
                       .dir = vel_index_dir(index),
                       .all = &all,
                       .left_out = left_out};
    int rc;

    vel_vec_init(over, sizeof(char *));
    vel_vec_init(&all.entries, sizeof(struct vel_entry));
    vel_vec_init(&all.seals, sizeof(struct vel_view_seal));
    vel_vec_init(&all.makers, sizeof(struct vel_view_maker));
    vel_ranges_init(&all.gone);
    vel_vec_init(&all.dropped, sizeof(int64_t));
    vel_index_stand_still(index);
    rc = add_launches(&g, err);
    /* after the seals: one is removed when the entry says that the prefix has it; and
     * before the makers: who has an entry without one was made without a leader */
    if (rc == 0)
        rc = vel_index_load(index, left_out, &all.entries, err);
    vel_index_go_on(index);
    if (rc == 0)
        rc = vel_index_load_gone(index, &all.gone, err);
    if (rc == 0)
        rc = vel_dropped_load(g.fs, g.dir, &all.dropped, err);
    if (rc == 0)
        rc = add_makers(&g, err);
    if (rc == 0)
        rc = add_gone(&g, err);
    if (rc < 0)
        vel_evidence_fini(&all);
    else
        *ret = all;
    return rc;
}
