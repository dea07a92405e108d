/* SPDX-License-Identifier: BSD-3-Clause */
/* A dataset comes to the ranks that wrote it, or stays for others on its nodes. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "meta/paths.h"
#include "recover/bring_in.h"
#include "recover/rounds.h"
#include "red/redfile.h"
#include "view/inventory.h"
#include "view/view_in.h"

enum { WINDOW = 16 << 20 }; /* of a pull: a round is worth its messages */

void vel_brought_fini(struct vel_brought *brought)
{
    struct vel_brought_part *p = brought->parts.items;

    for (size_t i = 0; i < brought->parts.n; i++)
        free(p[i].dir);
    vel_vec_fini(&brought->parts);
    vel_filemap_fini(&brought->map);
    free(brought->level);
    free(brought->rebuilt_ranks);
    memset(brought, 0, sizeof *brought);
}

/* --- where --- */

char *vel_bring_dir(const struct vel_bringing *b, size_t store, int rank)
{
    char *level = vel_path_level(b->r->homes[store], b->d->index);
    char *dir = level ? vel_cache_rank_dir(level, b->d->about.id, rank) : NULL;

    free(level);
    return dir;
}

/* Is it of that encoding? */
static bool look_into(const struct vel_bringing *b, const char *dir, int rank,
                      bool *ret_is_whole)
{
    struct vel_fs *fs = b->r->of.fs;
    struct vel_vec red = {0};
    const struct vel_redfile *file = NULL;

    if (vel_redfile_scan(fs, dir, VEL_CACHE_LABEL, (uint32_t)rank, &red, NULL) == 0)
        file = vel_redfile_find(&red, b->d->encoding);
    *ret_is_whole = file && vel_redfile_check_files(fs, dir, &file->header, NULL) == 0;
    vel_redfiles_fini(&red);
    return file != NULL;
}

char *vel_bring_where(const struct vel_bringing *b, int rank, size_t *ret_store,
                      bool *ret_is_whole)
{
    char *found = NULL;
    bool is_whole = false;

    for (size_t i = 0; !is_whole && i < b->r->of.stores->n; i++) {
        char *dir = vel_bring_dir(b, i, rank);

        if (dir && look_into(b, dir, rank, &is_whole) && (is_whole || !found)) {
            free(found);
            found = dir;
            *ret_store = i;
        } else {
            free(dir);
        }
    }
    *ret_is_whole = is_whole;
    return found;
}

bool vel_bring_has(const struct vel_bringing *b, int rank)
{
    bool has = false;

    for (size_t i = 0; !has && i < b->r->of.stores->n; i++) {
        char *dir = vel_bring_dir(b, i, rank);

        has = !dir || vel_fs_exists(b->r->of.fs, dir);
        free(dir);
    }
    return has;
}

int vel_bring_choose(struct vel_bringing *b)
{
    const struct vel_store *store;
    int rc = vel_reddesc_home(b->map.descriptor, b->r->of.stores, &store, b->err);

    if (rc == 0)
        b->store = store->index;
    return rc;
}

/* Collective. What it is. */
static int learn(struct vel_bringing *b)
{
    bool has = vel_parts_map(b->r->of.fs, &b->r->spoken, b->d->about.id, b->d->encoding,
                             &b->map);
    int rc = vel_filemap_share(b->world, &b->map, &has, b->err);

    if (rc == 0 && !has)
        rc = vel_fail(b->err, VEL_ECORRUPT, "none of its redundancy files can be read");
    return rc;
}

/* --- pulls --- */

int vel_bring_pull(struct vel_bringing *b, struct vel_pull_source *source, int rank,
                   bool no_rebuild, struct vel_pulled *ret, struct vel_err *err)
{
    const struct vel_recovery *r = b->r;
    const struct vel_pull_how how = {.fs = r->of.fs,
                                     .node = r->of.node,
                                     .homes = r->homes,
                                     .n_homes = r->of.stores->n,
                                     .source = source,
                                     .asks_itself = true,
                                     .window = WINDOW};
    const struct vel_pull what = {.dataset = b->d,
                                  .view = &r->view,
                                  .rank = rank,
                                  .home = r->homes[b->store],
                                  .no_rebuild = no_rebuild};

    return vel_pull(&how, &what, ret, err);
}

/* Where a part lies does not change while others read it. */
static char *find_part(void *arg, int rank)
{
    struct vel_bringing *b = arg;
    struct vel_lent lent = {.rank = rank};
    bool is_whole;
    size_t store;

    for (size_t i = b->lent.n; i-- > 0;) {
        const struct vel_lent *known = vel_vec_at(&b->lent, i);

        if (known->rank == rank)
            return strdup(known->dir);
    }
    lent.dir = vel_bring_where(b, rank, &store, &is_whole);
    if (!lent.dir || !vel_vec_push(&b->lent, &lent))
        return lent.dir;
    return strdup(lent.dir);
}

int vel_bring_rounds(struct vel_bringing *b,
                     int (*work)(void *arg, struct vel_pull_source *source,
                                 struct vel_err *err))
{
    const struct vel_recovery *r = b->r;
    const struct vel_rounds_of rounds = {.comm = b->world,
                                         .fs = r->of.fs,
                                         .view = &r->view,
                                         .reader = r->reader,
                                         .find = find_part,
                                         .arg = b,
                                         .homes = r->homes,
                                         .n_homes = r->of.stores->n,
                                         .throttles = r->of.throttles,
                                         .into = b->store};

    return vel_rounds_run(&rounds, work, b, b->err);
}

/* --- the result --- */

int vel_bring_add(struct vel_bringing *b, int rank, bool has_come, char **dir)
{
    const struct vel_brought_part part = {
        .rank = rank, .dir = *dir, .has_come = has_come};

    if (!vel_vec_push(&b->out->parts, &part))
        return vel_bring_no_memory(b->err);
    *dir = NULL;
    return 0;
}

/* --- another number of ranks --- */

/* Members without files are nobody's part. */
static int name_keepers(struct vel_bringing *b)
{
    const struct vel_recovery *r = b->r;
    int ranks = b->d->about.ranks;

    b->keeper = malloc(((size_t)ranks + 1) * sizeof *b->keeper);
    if (!b->keeper)
        return vel_bring_no_memory(b->err);
    for (int rank = 0; rank < ranks; rank++)
        b->keeper[rank] = -1;
    for (size_t s = 0; s < b->d->sets.n; s++) {
        const struct vel_view_set *set = vel_vec_at(&b->d->sets, s);

        for (size_t i = 0; i < set->places.n; i++) {
            const struct vel_view_place *part = vel_view_place_at(set, i);
            int node;

            if (part->rank >= ranks)
                continue;
            node = vel_view_keeper(b->d, part, NULL, (int)r->view.nodes.n);
            if (node < 0)
                return vel_bring_no_memory(b->err);
            b->keeper[part->rank] = r->reader[node];
        }
    }
    return 0;
}

/* Its bytes are compared when it is flushed; one that is not whole is made again. */
static int keep_or_pull(struct vel_bringing *b, struct vel_pull_source *source,
                        int rank, struct vel_err *err)
{
    struct vel_pulled pulled;
    bool is_whole, was_here = vel_bring_has(b, rank);
    size_t store;
    char *dir = vel_bring_where(b, rank, &store, &is_whole);
    int rc;

    if (dir && is_whole) {
        rc = vel_bring_add(b, rank, false, &dir);
        free(dir);
        return rc;
    }
    free(dir);
    rc = vel_store_check(&b->r->of.stores->items[b->store], b->r->of.fs, err);
    if (rc == 0)
        rc = vel_bring_pull(b, source, rank, false, &pulled, err);
    if (rc < 0)
        return rc;
    b->out->rebuilt += pulled.way == VEL_PULL_REBUILT;
    rc = vel_bring_add(b, rank, !was_here, &pulled.dir);
    vel_pulled_fini(&pulled);
    return rc;
}

static int keep_all(void *arg, struct vel_pull_source *source, struct vel_err *err)
{
    struct vel_bringing *b = arg;
    int rc = 0;

    for (int rank = 0; rc == 0 && rank < b->d->about.ranks; rank++)
        if (b->keeper[rank] == b->world->rank)
            rc = keep_or_pull(b, source, rank, err);
    return rc;
}

static int bring_foreign(struct vel_bringing *b)
{
    int rc = name_keepers(b);

    if (rc == 0)
        rc = vel_bring_choose(b);
    rc = vel_comm_agree(b->world, rc, b->err);

    b->out->is_foreign = true;
    if (rc == 0)
        rc = vel_bring_rounds(b, keep_all);
    if (rc == 0)
        rc = vel_comm_allreduce(b->world, VEL_COMM_SUM, &b->out->rebuilt, 1, b->err);
    b->out->map = b->map;
    memset(&b->map, 0, sizeof b->map);
    return rc;
}

/* --- all of it --- */

/* What came, or was made, for nothing. */
static void take_back(struct vel_bringing *b, const char *dir, int rank)
{
    char *above = vel_path_dir(dir), *level = above ? vel_path_dir(above) : NULL;

    if (level)
        vel_cache_remove_part(b->r->of.fs, level, b->d->about.id, rank, NULL);
    free(level);
    free(above);
}

/* It cannot be restored: everything stays as it was. When the communicator broke some
 * may have taken it for restored: nobody removes anything then. */
static void leave(struct vel_bringing *b)
{
    const struct vel_brought_part *p = b->out->parts.items;

    if (vel_comm_barrier(b->world, NULL) < 0)
        return;
    for (size_t i = 0; i < b->out->parts.n; i++)
        if (p[i].has_come)
            take_back(b, p[i].dir, p[i].rank);
    if (b->dir && !b->was_here)
        take_back(b, b->dir, b->world->rank);
    vel_recovery_set_aside(b->r, b->d->about.id, true);
}

static int bring(struct vel_bringing *b)
{
    int64_t id = b->d->about.id;
    int rc = learn(b);

    if (rc == 0)
        rc = b->d->about.ranks == b->world->size ? vel_bring_own(b) : bring_foreign(b);
    if (rc == VEL_ENOENT)
        rc = VEL_EINVAL; /* what vanished was not never there */
    if (rc == 0)
        rc = vel_bring_remove_copies(b);
    if (rc == 0)
        vel_recovery_set_aside(b->r, id, false);
    else
        leave(b);
    for (size_t i = 0; i < b->lent.n; i++)
        free(((struct vel_lent *)vel_vec_at(&b->lent, i))->dir);
    vel_vec_fini(&b->lent);
    vel_filemap_fini(&b->map);
    free(b->keeper);
    free(b->dir);
    return rc < 0 ? vel_wrap(b->err, rc, "dataset %" PRId64 " (%s %" PRId64 ")", id,
                             b->d->about.name, b->d->about.version)
                  : 0;
}

/* What nobody can restore, as all have seen. */
static int fail_lost(struct vel_recovery *r, int64_t id, struct vel_err *err)
{
    const struct vel_view_lost *lost = vel_view_find_lost(&r->view, id);
    bool is_past = true;

    for (size_t i = 0; i < r->ids.n; i++) {
        const struct vel_recovery_id *known = vel_vec_at(&r->ids, i);

        if (known->id == id)
            is_past = known->is_past;
    }
    if (!is_past) {
        if (!r->of.keeps)
            vel_recovery_remove(r, id);
        return vel_fail(err, VEL_ENOENT, "it was never complete");
    }
    vel_recovery_set_aside(r, id, true);
    return lost ? vel_fail(err, VEL_EINVAL, "%s", lost->why)
                : vel_fail(err, VEL_EINVAL,
                           "dataset %" PRId64 ": nothing of it can be read", id);
}

/* One encoding. */
static int try_once(struct vel_recovery *r, int64_t id, struct vel_brought *ret,
                    struct vel_err *err)
{
    struct vel_brought out = {0};
    struct vel_bringing b = {.r = r,
                             .world = r->of.world,
                             .d = vel_view_find_dataset(&r->view, id),
                             .out = &out,
                             .err = err};
    int rc;

    if (!b.d)
        return fail_lost(r, id, err);
    vel_vec_init(&out.parts, sizeof(struct vel_brought_part));
    vel_vec_init(&b.lent, sizeof(struct vel_lent));
    rc = bring(&b);
    if (rc < 0)
        vel_brought_fini(&out);
    else
        *ret = out;
    return rc;
}

/* Collective. Can an older encoding be made whole? */
static bool has_older(struct vel_recovery *r, int64_t id)
{
    const struct vel_view_dataset *d = vel_view_find_dataset(&r->view, id);
    int rc = d && vel_vec_push(&r->spoilt, d->encoding) ? 0 : VEL_ENOENT;

    rc = vel_comm_agree(r->of.world, rc, NULL);
    if (rc == 0)
        rc = vel_recovery_look(r, NULL);
    return rc == 0 && vel_view_find_dataset(&r->view, id);
}

int vel_recovery_bring(struct vel_recovery *recovery, int64_t id,
                       struct vel_brought *ret, struct vel_err *err)
{
    int rc = try_once(recovery, id, ret, err);

    while (rc < 0 && rc != VEL_ENOENT && has_older(recovery, id)) {
        vel_log_shared(VEL_LOG_WARN, "%s: the encoding before it is tried", err->text);
        rc = try_once(recovery, id, ret, err);
    }
    return rc;
}
