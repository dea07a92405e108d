/* SPDX-License-Identifier: BSD-3-Clause */
/* Which datasets there are, and whose. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "recover/recovery.h"

/* --- what lies in the stores that this rank speaks for --- */

/* Two stores may be one directory, by whatever names. */
static bool is_same(const struct vel_recovery *r, const char *a, const char *b)
{
    struct stat x, y;

    return strcmp(a, b) == 0 || (r->of.fs->ops->lstat(r->of.fs, a, &x) == 0 &&
                                 r->of.fs->ops->lstat(r->of.fs, b, &y) == 0 &&
                                 x.st_dev == y.st_dev && x.st_ino == y.st_ino);
}

/* The first of those that are one directory speaks. */
static bool speaks_for(const struct vel_recovery *r, size_t store)
{
    for (size_t i = 0; i < store; i++)
        if (is_same(r, r->of.homes[i], r->of.homes[store]))
            return false;
    return r->of.stores->items[store].comm->rank == 0;
}

static int add_spoken(struct vel_recovery *r, const char *home, struct vel_err *err)
{
    struct vel_vec parts;
    int rc;

    vel_vec_init(&parts, sizeof(struct vel_part));
    rc = vel_cache_scan(r->of.fs, home, &parts, err);
    while (rc == 0 && parts.n > 0) {
        const struct vel_part *last = vel_vec_at(&parts, parts.n - 1);
        const struct vel_spoken spoken = {.part = *last};

        if (!vel_vec_push(&r->spoken, &spoken))
            rc = vel_recovery_no_memory(err);
        else
            parts.n--;
    }
    vel_parts_fini(&parts);
    return rc;
}

static int scan(struct vel_recovery *r, struct vel_err *err)
{
    int rc = 0;

    r->spoken_homes = calloc(r->of.stores->n + 1, sizeof *r->spoken_homes);
    if (!r->spoken_homes)
        rc = vel_recovery_no_memory(err);
    for (size_t i = 0; rc == 0 && i < r->of.stores->n; i++) {
        if (!speaks_for(r, i))
            continue;
        r->spoken_homes[r->n_spoken_homes++] = r->of.homes[i];
        if (!r->of.keeps)
            vel_cache_sweep(r->of.fs, r->of.homes[i], &r->of.others);
        rc = add_spoken(r, r->of.homes[i], err);
    }
    return rc;
}

/* Collective. The highest id of any part below `below`; 0: none. */
static int next_id(const struct vel_recovery *r, int64_t below, int64_t *ret,
                   struct vel_err *err)
{
    *ret = 0;
    for (size_t i = 0; i < r->spoken.n; i++) {
        int64_t id = vel_spoken_at(r, i)->part.id;

        if (id < below && id > *ret)
            *ret = id;
    }
    return vel_comm_allreduce(r->of.world, VEL_COMM_MAX, ret, 1, err);
}

/* By rank 0's look, for launches may end meanwhile. */
static int judge(struct vel_recovery *r, struct vel_err *err)
{
    size_t n = r->ids.n;
    int64_t *is = calloc(3 * n + 1, sizeof *is);
    int rc = vel_comm_agree(r->of.world, is ? 0 : vel_recovery_no_memory(err), err);

    if (rc < 0) {
        free(is);
        return rc;
    }
    for (size_t i = 0; rc == 0 && r->of.world->rank == 0 && i < n; i++) {
        int64_t id = vel_recovery_id_at(r, i)->id;
        bool is_anothers;

        rc = r->of.find_whose(r->of.others.arg, id, &is_anothers, err);
        is[i] = is_anothers;
        is[n + i] = vel_vec_has_number(r->of.dropped, id);
        is[2 * n + i] = vel_vec_has_number(r->of.refused, id);
    }
    rc = vel_comm_agree_fold(r->of.world, rc, VEL_COMM_MAX, is, 3 * n, err);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        vel_recovery_id_at(r, i)->is_theirs = is[i];
        vel_recovery_id_at(r, i)->is_dropped = is[n + i];
        vel_recovery_id_at(r, i)->is_refused = is[2 * n + i];
    }
    free(is);
    return rc;
}

int vel_recovery_open(const struct vel_recovery_of *of, struct vel_recovery *ret,
                      struct vel_err *err)
{
    struct vel_recovery r = {.of = *of};
    struct vel_recovery_id id = {.id = INT64_MAX};
    int rc;

    vel_vec_init(&r.spoken, sizeof(struct vel_spoken));
    vel_vec_init(&r.ids, sizeof id);
    vel_vec_init(&r.spoilt, VEL_ENCODING_ID);
    rc = vel_comm_agree(of->world, scan(&r, err), err);
    while (rc == 0 && id.id > 0) {
        rc = next_id(&r, id.id, &id.id, err);
        if (rc == 0 && id.id > 0 && !vel_vec_push(&r.ids, &id)) {
            rc = vel_recovery_no_memory(err);
            vel_comm_fail(of->world, err);
        }
    }
    if (rc == 0)
        rc = judge(&r, err);
    if (rc < 0)
        vel_recovery_fini(&r);
    else
        *ret = r;
    return rc;
}

void vel_recovery_fini(struct vel_recovery *recovery)
{
    for (size_t i = 0; i < recovery->spoken.n; i++)
        free(vel_spoken_at(recovery, i)->part.level);
    vel_vec_fini(&recovery->spoken);
    free(recovery->spoken_homes);
    if (recovery->has_view)
        vel_view_fini(&recovery->view);
    free(recovery->reader);
    vel_vec_fini(&recovery->ids);
    vel_vec_fini(&recovery->spoilt);
    *recovery = (struct vel_recovery){0};
}

const struct vel_recovery_id *vel_recovery_find(const struct vel_recovery *r,
                                                int64_t id)
{
    for (size_t i = 0; i < r->ids.n; i++)
        if (vel_recovery_id_at(r, i)->id == id)
            return vel_recovery_id_at(r, i);
    return NULL;
}

/* --- parts that this rank speaks for --- */

void vel_recovery_remove(struct vel_recovery *recovery, int64_t id)
{
    for (size_t i = 0; i < recovery->spoken.n; i++) {
        const struct vel_spoken *s = vel_spoken_at(recovery, i);
        struct vel_err why = {0};

        if (s->part.id == id && !s->is_theirs &&
            vel_cache_remove_part(recovery->of.fs, s->part.level, id, s->part.rank,
                                  &why) < 0)
            vel_log(VEL_LOG_WARN, "cannot remove a part of dataset %" PRId64 ": %s", id,
                    why.text);
    }
}

void vel_recovery_set_aside(struct vel_recovery *recovery, int64_t id, bool aside)
{
    const char *last = ""; /* parts of a level lie together */

    for (size_t i = 0; i < recovery->spoken.n; i++) {
        const struct vel_spoken *s = vel_spoken_at(recovery, i);
        struct vel_err why = {0};

        if (s->part.id != id || s->is_theirs || strcmp(s->part.level, last) == 0)
            continue;
        last = s->part.level;
        if (vel_cache_set_aside(recovery->of.fs, last, id, aside, &why) < 0)
            vel_log(VEL_LOG_WARN, "cannot mark dataset %" PRId64 ": %s", id, why.text);
    }
}
