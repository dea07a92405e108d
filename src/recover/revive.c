/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "meta/cache.h"
#include "meta/paths.h"
#include "recover/move.h"
#include "recover/ranks.h"
#include "recover/revive_in.h"
#include "red/redfile.h"

void vel_revived_fini(struct vel_revived *revived)
{
    struct vel_revived_part *p = revived->parts.items;

    for (size_t i = 0; i < revived->parts.n; i++)
        free(p[i].dir);
    vel_vec_fini(&revived->parts);
    vel_filemap_fini(&revived->map);
    free(revived->level);
    free(revived->rebuilt_ranks);
    memset(revived, 0, sizeof *revived);
}

/* --- what is known of the dataset --- */

/* The encoding is the last step of completing it: without a trace of one anywhere it
 * was never complete. */
static int was_complete(struct vel_revival *r, bool *ret)
{
    const struct vel_offer *o = r->c->offers.items;
    int64_t encoded = 0;
    int rc;

    for (size_t i = 0; i < r->c->offers.n; i++)
        encoded |= o[i].id == r->id && o[i].is_encoded;
    rc = vel_comm_allreduce(r->world, VEL_COMM_MAX, &encoded, 1, r->err);
    if (rc == 0)
        *ret = encoded;
    return rc;
}

int vel_revival_announce(struct vel_revival *r, const struct vel_offer *known,
                         size_t encoding, uint8_t ret_encoding[VEL_ENCODING_ID],
                         struct vel_filemap *ret_map)
{
    int64_t root = known ? r->world->rank : r->world->size;
    struct vel_buf bytes;
    int rc = vel_comm_allreduce(r->world, VEL_COMM_MIN, &root, 1, r->err);

    if (rc < 0)
        return rc;
    if (root == r->world->size)
        return VEL_ENOENT;
    vel_buf_init(&bytes);
    if (root == r->world->rank) {
        vel_buf_append(&bytes, known->encoding[encoding], VEL_ENCODING_ID);
        rc = vel_filemap_encode(&known->map, &bytes, r->err);
    }
    rc = vel_comm_agree(r->world, rc, r->err);
    if (rc == 0)
        rc = vel_comm_bcast(r->world, (int)root, &bytes, r->err);
    if (rc == 0) {
        memcpy(ret_encoding, bytes.data, VEL_ENCODING_ID);
        rc = vel_filemap_decode(bytes.data + VEL_ENCODING_ID,
                                bytes.len - VEL_ENCODING_ID, ret_map, r->err);
        rc = vel_comm_agree(r->world, rc, r->err);
    }
    vel_buf_fini(&bytes);
    return rc;
}

/* What the dataset is: a part that is whole knows better than one that was begun. */
static int learn(struct vel_revival *r)
{
    const struct vel_offer *o = r->c->offers.items, *whole = NULL, *begun = NULL;
    uint8_t ignored[VEL_ENCODING_ID];
    int rc;

    for (size_t i = 0; i < r->c->offers.n; i++) {
        if (o[i].id != r->id || !o[i].has_map)
            continue;
        begun = begun ? begun : &o[i];
        if (o[i].is_whole && !whole)
            whole = &o[i];
    }
    rc = vel_revival_announce(r, whole, 0, ignored, &r->map);
    if (rc == VEL_ENOENT)
        rc = vel_revival_announce(r, begun, 0, ignored, &r->map);
    return rc == VEL_ENOENT
               ? vel_fail(r->err, VEL_ECORRUPT, "none of its file maps can be read")
               : rc;
}

/* --- the same number of ranks --- */

static void look_at_offers(struct vel_revival *r)
{
    const struct vel_offer *o = r->c->offers.items;

    for (size_t i = 0; i < r->c->offers.n; i++) {
        bool is_here = vel_caches_is_here(r->c, &o[i]);

        if (o[i].id != r->id || o[i].rank != r->world->rank)
            continue;
        if (is_here && (!r->here || o[i].is_whole))
            r->here = &o[i];
        else if (!is_here && o[i].is_whole && !r->away)
            r->away = &o[i];
    }
    if (r->here && r->here->is_whole)
        r->away = NULL;
    if (!r->c->of.may_move)
        r->away = NULL;
}

/* The store that the level used, if it is one of ours now; else the first that may. */
static int choose_store(struct vel_revival *r)
{
    const struct vel_stores *stores = r->c->of.stores;
    struct vel_reddesc desc;
    const struct vel_store *store;
    int rc = vel_reddesc_from_node(r->map.descriptor, &desc, r->err);

    if (rc < 0)
        return rc;
    r->index = desc.index;
    store = vel_stores_find(stores, desc.store_name);
    vel_reddesc_fini(&desc);
    for (size_t i = 0; !store && i < stores->n; i++)
        if (stores->items[i].enabled && stores->items[i].type != VEL_STORE_PFS)
            store = &stores->items[i];
    if (!store)
        return vel_fail(r->err, VEL_ECONFIG, "there is no store to restore it into");
    r->store = store->index;
    return 0;
}

static int prepare(struct vel_revival *r)
{
    char *parent;
    int rc = 0;

    look_at_offers(r);
    if (r->here) {
        r->store = r->here->store;
        r->index = r->here->index;
    } else {
        rc = choose_store(r);
    }
    if (rc < 0)
        return rc;
    r->level = vel_caches_level(r->c, r->store, r->index);
    parent = r->level ? vel_cache_dataset_dir(r->level, r->id) : NULL;
    r->dir = r->level ? vel_cache_rank_dir(r->level, r->id, r->world->rank) : NULL;
    rc = parent && r->dir
             ? vel_store_check(&r->c->of.stores->items[r->store], r->c->of.fs, r->err)
             : vel_out_of_memory(r->err, "restoring a dataset");
    if (rc == 0)
        rc = vel_cache_make_dir(r->c->of.fs, parent, r->err);
    free(parent);
    return rc;
}

/* What the rebuilt redundancy file says is mine. */
static int settle(struct vel_revival *r)
{
    struct vel_vec red = {0};
    int rc = vel_redfile_scan(r->c->of.fs, r->dir, VEL_CACHE_LABEL,
                              (uint32_t)r->world->rank, &red, r->err);

    if (rc == 0 && !red.n)
        rc = vel_fail(r->err, VEL_ECORRUPT, "%s: no redundancy file after a rebuild",
                      r->dir);
    if (rc == 0) {
        const struct vel_buf *brief =
            &vel_redfile_at(&red, 0)->header.list[0].descriptor;

        rc = vel_filemap_decode(brief->data, brief->len, &r->out->map, r->err);
    }
    vel_redfiles_fini(&red);
    return rc;
}

/* Whose files were made again says why: it is news where there were any. */
static void tell_rebuilt(struct vel_revival *r, size_t place, struct vel_buf *sentences)
{
    const struct vel_dataset *d = &r->map.dataset;
    const char *line = vel_buf_text(sentences);
    char mine[32];
    size_t len = (size_t)snprintf(mine, sizeof mine, "member %zu: ", place);

    while (*line) {
        const char *end = strchr(line, '\n');
        size_t n = end ? (size_t)(end - line) : strlen(line);

        if (strncmp(line, mine, len) == 0) {
            r->is_rebuilt = true;
            vel_log(r->here || r->is_whole ? VEL_LOG_WARN : VEL_LOG_DEBUG,
                    "dataset %" PRId64 " (%s %" PRId64
                    "): the files of this rank were rebuilt: %.*s",
                    d->id, d->name, d->version, (int)(n - len), line + len);
        }
        line += end ? n + 1 : n;
    }
}

static int rebuild(struct vel_revival *r)
{
    struct vel_red_set set = {.all = r->world,
                              .fs = r->c->of.fs,
                              .dir = r->dir,
                              .label = VEL_CACHE_LABEL,
                              .memory = r->c->of.memory};
    struct vel_red_report report = {0};
    int rc = vel_fs_make_dirs(r->c->of.fs, r->dir, 0700, r->err);

    rc = vel_comm_agree(r->world, rc, r->err);
    if (rc == 0)
        rc = vel_red_recover_all(&set, &report, r->err);
    if (rc < 0)
        return rc;
    if (set.comm) {
        tell_rebuilt(r, (size_t)set.comm->rank, &report.sentences);
        r->out->rebuilt = set.comm->rank == 0 ? (int64_t)report.lost : 0;
    }
    vel_comm_destroy(set.comm);
    vel_red_report_fini(&report);
    return vel_comm_agree(r->world, settle(r), r->err);
}

static int take_part(struct vel_revival *r)
{
    struct vel_revived_part part = {.rank = r->world->rank, .dir = r->dir};

    if (!vel_vec_push(&r->out->parts, &part))
        return vel_out_of_memory(r->err, "restoring a dataset");
    r->dir = NULL;
    r->out->level = r->level;
    r->level = NULL;
    return 0;
}

/* Whose parts were made again; or when too many are lost, whose are. */
static int tell_ranks(struct vel_revival *r, int rc)
{
    struct vel_buf ranks;

    vel_buf_init(&ranks);
    if (rc == 0) {
        rc = vel_ranks_tell(r->world, r->is_rebuilt, &ranks, r->err);
        if (rc == 0 && ranks.len) {
            r->out->rebuilt_ranks = vel_buf_take(&ranks, NULL);
            if (!r->out->rebuilt_ranks)
                rc = vel_out_of_memory(r->err, "restoring a dataset");
        }
        rc = vel_comm_agree(r->world, rc, r->err);
    } else if (rc == VEL_EINVAL &&
               vel_ranks_tell(r->world, !r->is_whole, &ranks, NULL) == 0 && ranks.len) {
        vel_wrap(r->err, rc, "the files of %s are lost", vel_buf_text(&ranks));
    }
    vel_buf_fini(&ranks);
    return rc;
}

static int revive_same(struct vel_revival *r)
{
    struct vel_wanted wanted = {0};
    struct vel_keep mine;
    struct vel_vec keep, others;
    int64_t sums[2];
    bool came;
    int rc = vel_comm_agree(r->world, prepare(r), r->err);

    if (rc < 0)
        return rc;
    wanted.offer = r->away;
    wanted.dir = r->dir;
    rc = vel_move(r->c, &wanted, &came, r->err);
    r->is_whole = came || (r->here && r->here->is_whole);
    if (rc == 0)
        rc = rebuild(r);
    rc = tell_ranks(r, rc);
    if (rc < 0)
        return rc;
    sums[0] = came;
    sums[1] = r->out->rebuilt; /* of each set one member knows */
    mine = (struct vel_keep){.rank = r->world->rank,
                             .holder = r->c->leaders[r->store],
                             .store = r->store,
                             .index = r->index};
    vel_vec_init(&keep, sizeof mine);
    vel_vec_init(&others, sizeof mine);
    rc = vel_vec_push(&keep, &mine) ? take_part(r)
                                    : vel_out_of_memory(r->err, "restoring a dataset");
    rc = vel_comm_agree(r->world, rc, r->err);
    if (rc == 0)
        rc = vel_caches_keep(r->c, r->id, &keep, &others, r->err);
    if (rc == 0)
        rc = vel_comm_allreduce(r->world, VEL_COMM_SUM, sums, 2, r->err);
    r->out->moved = sums[0];
    r->out->rebuilt = sums[1];
    vel_vec_fini(&others);
    vel_vec_fini(&keep);
    return rc;
}

/* It cannot be restored: everything stays, but for what came to this rank in vain. */
static void leave(struct vel_revival *r)
{
    if (r->dir && !r->here)
        vel_cache_remove_part(r->c->of.fs, r->level, r->id, r->world->rank, NULL);
    vel_caches_set_aside(r->c, r->id, true);
}

int vel_revive(struct vel_caches *caches, int64_t id, struct vel_revived *ret,
               struct vel_err *err)
{
    struct vel_revived out = {0};
    struct vel_revival r = {
        .c = caches, .world = caches->of.world, .id = id, .out = &out, .err = err};
    bool complete = true;
    int rc;

    vel_vec_init(&out.parts, sizeof(struct vel_revived_part));
    rc = was_complete(&r, &complete);
    if (rc == 0 && !complete)
        rc = vel_fail(err, VEL_ENOENT, "it was never complete");
    if (rc == 0)
        rc = learn(&r);
    if (rc == 0)
        rc = r.map.dataset.ranks == r.world->size ? revive_same(&r)
                                                  : vel_revive_foreign(&r);
    if (rc == 0 && out.is_foreign) {
        out.map = r.map;
        memset(&r.map, 0, sizeof r.map);
    }
    if (rc == VEL_ENOENT && complete)
        rc = VEL_EINVAL; /* what vanished was not never there */
    if (rc == 0 || (!complete && !caches->of.keeps))
        vel_caches_remove(caches, id);
    else if (complete)
        leave(&r);
    if (rc == 0)
        vel_caches_set_aside(caches, id, false);
    if (rc < 0)
        vel_revived_fini(&out);
    else
        *ret = out;
    if (rc < 0 && r.map.dataset.name)
        vel_wrap(err, rc, "dataset %" PRId64 " (%s %" PRId64 ")", id,
                 r.map.dataset.name, r.map.dataset.version);
    else if (rc < 0)
        vel_wrap(err, rc, "dataset %" PRId64, id);
    vel_filemap_fini(&r.map);
    free(r.level);
    free(r.dir);
    return rc;
}
