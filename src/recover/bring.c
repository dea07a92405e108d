/* SPDX-License-Identifier: BSD-3-Clause */
/* A dataset comes to the ranks that wrote it, or stays for others on its nodes. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "recover/bring_in.h"
#include "recover/rounds.h"
#include "red/redfile.h"

enum { WINDOW = 16 << 20 }; /* of a pull: a round is worth its messages */

void vel_brought_fini(struct vel_brought *brought)
{
    vel_brought_parts_fini(&brought->parts);
    vel_filemap_fini(&brought->map);
    free(brought->level);
    free(brought->rebuilt_ranks);
    memset(brought, 0, sizeof *brought);
}

/* --- where --- */

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
        char *dir = vel_kept_dir(&b->kept, i, rank);

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

/* --- rounds --- */

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
                                         .homes = r->of.homes,
                                         .n_homes = r->of.stores->n,
                                         .throttles = r->of.throttles,
                                         .into = b->kept.store};

    return vel_rounds_run(&rounds, work, b, b->err);
}

/* --- another number of ranks --- */

/* The reader of the node that has it, or where it is made again. */
static int place_at_reader(const void *arg, const struct vel_view_dataset *dataset,
                           const struct vel_view_place *part)
{
    const struct vel_recovery *r = arg;
    int node = vel_view_keeper(dataset, part, NULL, (int)r->view.nodes.n);

    return node < 0 ? node : r->reader[node];
}

static int keep_all(void *arg, struct vel_pull_source *source, struct vel_err *err)
{
    struct vel_bringing *b = arg;

    return vel_kept_bring(&b->kept, source, err);
}

static int bring_foreign(struct vel_bringing *b)
{
    struct vel_kept *kept = &b->kept;
    int rc = vel_kept_list(kept, place_at_reader, b->r, b->err);

    if (rc == 0)
        rc = vel_kept_choose(kept, b->err);
    rc = vel_comm_agree(b->world, rc, b->err);
    if (rc == 0)
        rc = vel_bring_rounds(b, keep_all);
    if (rc == 0)
        rc = vel_comm_allreduce(b->world, VEL_COMM_SUM, kept->came, VEL_PULL_WAYS,
                                b->err);
    b->out->is_foreign = true;
    b->out->rebuilt = kept->came[VEL_PULL_REBUILT];
    b->out->map = kept->map;
    memset(&kept->map, 0, sizeof kept->map);
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
    const struct vel_brought_part *p = b->kept.parts.items;

    if (vel_comm_barrier(b->world, NULL) < 0)
        return;
    for (size_t i = 0; i < b->kept.parts.n; i++)
        if (p[i].has_come)
            take_back(b, p[i].dir, p[i].rank);
    if (b->dir && !b->was_here)
        take_back(b, b->dir, b->world->rank);
    vel_recovery_set_aside(b->r, b->d->about.id, true);
}

static int bring(struct vel_bringing *b)
{
    int64_t id = b->d->about.id;
    int rc = vel_kept_learn(&b->kept, &b->r->spoken, true, b->err);

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
    b->out->parts = b->kept.parts;
    vel_filemap_fini(&b->kept.map);
    free(b->dir);
    return rc < 0 ? vel_wrap(b->err, rc, "dataset %" PRId64 " (%s %" PRId64 ")", id,
                             b->d->about.name, b->d->about.version)
                  : 0;
}

/* What nobody can restore, as all have seen. */
static int fail_lost(struct vel_recovery *r, int64_t id, struct vel_err *err)
{
    const struct vel_view_lost *lost = vel_view_find_lost(&r->view, id);
    const struct vel_recovery_id *known = vel_recovery_find(r, id);

    if (known && !known->is_past) {
        if (!r->of.keeps)
            vel_recovery_remove(r, id);
        return vel_fail(err, VEL_ENOENT, "it was never complete");
    }
    vel_recovery_set_aside(r, id, true);
    if (vel_view_is_unread(&r->view, id)) /* a name of a file says that it was */
        return vel_fail(err, VEL_EINVAL,
                        "dataset %" PRId64 ": none of its redundancy files can be read",
                        id);
    return lost ? vel_fail(err, VEL_EINVAL, "%s", lost->why)
                : vel_fail(err, VEL_EINVAL,
                           "dataset %" PRId64 ": nothing of it can be read", id);
}

/* One encoding. */
static int try_once(struct vel_recovery *r, int64_t id, struct vel_brought *ret,
                    struct vel_err *err)
{
    const struct vel_view_dataset *d = vel_view_find_dataset(&r->view, id);
    struct vel_brought out = {0};
    struct vel_bringing b = {.r = r,
                             .world = r->of.world,
                             .d = d,
                             .kept = {.comm = r->of.world,
                                      .stores = r->of.stores,
                                      .how = {.fs = r->of.fs,
                                              .node = r->of.node,
                                              .homes = r->of.homes,
                                              .n_homes = r->of.stores->n,
                                              .asks_itself = true,
                                              .trusts_sizes = true,
                                              .window = WINDOW},
                                      .what = {.dataset = d, .view = &r->view}},
                             .out = &out,
                             .err = err};
    int rc;

    if (!d)
        return fail_lost(r, id, err);
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
